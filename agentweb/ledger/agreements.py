"""Agreements on a price: concluded for one buyer, looked up by handlers, used up by one charge (AGENT_ACTIONS 6).

The buyer is an agent's key, or a session, under the first grant of its chain: what one agent bargained for is nobody
else's, and not the same agent's for another person.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q, QuerySet

from agentweb.access import rows
from agentweb.access.callers import Caller
from agentweb.ledger.models import Agreement
from agentweb.wire import canonical
from agentweb.wire.agreements import build_agreement, normal_terms, terms_hold
from agentweb.wire.clock import from_unix, now, now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import Code, MoneyError
from agentweb.wire.json_types import Json
from agentweb.wire.money import parse_amount
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import loads

MAX_TRIED: Final = 1_000
"""Open agreements of one buyer among which one is looked for; how many there can be, the limits of negotiation say."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """An agreement that was open when it was looked up. ``price`` is minor units; ``document`` is what was signed."""

    id: str
    price: int
    currency: str
    document: dict[str, Any]

    def fits(self, minor: int, currency: str, item: str) -> bool:
        """Whether a charge is what was agreed: this sum, for an item that is one of the values of the terms."""
        named = (value for value in self.document["terms"].values() if not isinstance(value, bool))
        return (self.price, self.currency) == (minor, currency) and any(
            isinstance(value, (str, int)) and str(value) == item for value in named
        )


def conclude(
    caller: Caller,
    *,
    key: SigningKey,
    site: str,
    terms: Mapping[str, Any],
    price: int,
    currency: str,
    lasts: timedelta,
) -> dict[str, Any]:
    """Promise a price to the caller, in the open transaction: the signed document.

    ``price`` is minor units; ``key`` is read before the transaction begins. Raises ValueError for terms that are none.
    """
    agent, root = _buyer(caller) or _no_buyer()
    issued = int(now())
    normal = normal_terms(terms)
    document = build_agreement(
        key=key,
        id=random_id("ag_"),
        site=site,
        agent=agent,
        root=root,
        terms=normal,
        price=price,
        currency=currency,
        issued_at=issued,
        expires=issued + int(lasts.total_seconds()),
    )
    row = Agreement(
        id=document["id"],
        site=site,
        agent=agent,
        root=root,
        terms=canonical.canonicalize(normal).decode(),
        price=price,
        currency=currency,
        created_at=now_datetime(),
        expires_at=from_unix(document["expires"]),
        document=canonical.canonicalize(document).decode(),
    )
    rows.insert([row])
    return document


def find(caller: Caller, pairs: Mapping[str, Any], *, held: Collection[str] = ()) -> Agreed | None:
    """The caller's newest open agreement whose terms have every one of these members; see ``terms_hold``.

    First those that charges of this very call hold (``held``, their ids): they are open to it, also later.
    """
    buyer = _buyer(caller)
    if buyer is None:
        return None
    agent, root = buyer
    is_open = Q(receipt=None, expires_at__gt=now_datetime())
    for wanted in (Q(receipt__in=held), is_open) if held else (is_open,):
        newest = _rows().filter(wanted, agent=agent, root=root).order_by("-created_at", "-pk")
        for text in newest.values_list("document", flat=True)[:MAX_TRIED]:
            document = read(text)
            if terms_hold(document["terms"], pairs):
                return _agreed(document)
    return None


def named(caller: Caller, ident: str) -> Agreed:
    """The caller's agreement with this id, open or not; raises agreement_not_found for any other."""
    buyer = _buyer(caller)
    row = _rows().filter(pk=ident[:64]).first() if buyer is not None else None
    if row is None or (row.agent, row.root) != buyer:
        raise _not_found(ident)
    return _agreed(read(row.document))


def use_up(ident: str, receipt_id: str) -> None:
    """The conditional UPDATE of a charge: of any number of charges, one gets this agreement, and in time.

    A charge that has it already may come again, also later.
    Raises agreement_used or agreement_expired; or agreement_not_found, when it was deleted meanwhile.
    """
    at = now_datetime()
    is_free = Q(receipt=None, expires_at__gt=at) | Q(receipt=receipt_id)
    if _rows().filter(is_free, pk=ident).update(receipt=receipt_id) == 1:
        return
    row = _rows().filter(pk=ident).first()
    if row is None:
        raise _not_found(ident)
    if row.receipt is not None:
        raise MoneyError(
            Code.AGREEMENT_USED,
            "This agreement was good for one purchase and has been used. Nothing was charged; negotiate anew, or buy "
            "at the list price.",
            agreement=ident,
        )
    raise MoneyError(
        Code.AGREEMENT_EXPIRED,
        "This agreement has expired. Nothing was charged; negotiate anew, or buy at the list price.",
        agreement=ident,
    )


def read(text: str) -> dict[str, Any]:
    """The signed document of a row."""
    document: Json = loads(text.encode())
    assert isinstance(document, dict)  # noqa: S101 - tells the type
    return document


def clear(before: datetime) -> int:
    """Delete the agreements that were over before then; how many."""
    return rows.delete_in_batches(_rows().filter(expires_at__lt=before))


def _agreed(document: dict[str, Any]) -> Agreed:
    currency = document["currency"]
    return Agreed(document["id"], parse_amount(document["price"], currency), currency, document)


def _buyer(caller: Caller) -> tuple[str, str] | None:
    return None if caller.root is None else (caller.subject, caller.root.id)


def _no_buyer() -> tuple[str, str]:
    raise ValueError("An agreement is concluded with a caller who has a grant.")


def _rows() -> QuerySet[Agreement]:
    # On the connection of the charge, or its commit would not be the agreement's.
    return Agreement.objects.using(rows.database())


def _not_found(ident: str) -> MoneyError:
    return MoneyError(Code.AGREEMENT_NOT_FOUND, "You have no agreement with this id.", agreement=ident[:64])
