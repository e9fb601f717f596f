"""Pairing: a program asks for a session, a person agrees in their browser (the shape of RFC 8628; AIP 5).

::

    pending ──approve──> approved, and there is a session
       │ ├────deny─────> denied
       │ └───cancel────> cancelled, by the program itself
       └── too late ───> expired

The program has its token from the beginning; it opens nothing until the person, who typed the code, agreed. Every
arrow is one conditional UPDATE whose row count is the verdict: of any number of decisions exactly one counts.

What a person gives is never more than what was asked for, and no function here takes a ``Caller``: nobody decides by
a token or a signature.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from agentweb import conf
from agentweb.access import limits, revocations, sessions, tokens
from agentweb.access.database import first_write
from agentweb.access.issuing import problem
from agentweb.access.models import Pairing, Session
from agentweb.access.rows import database, delete_in_batches, insert_if_absent
from agentweb.wire import strict_json
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import Code, InputError, RequestError, ServerError
from agentweb.wire.grants import Mandate
from agentweb.wire.scopes import pattern_covers_pattern

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

State = Pairing.State

ALPHABET: Final = "BCDFGHJKMNPQRSTVWXZ"
"""No vowels, so no words; no letter that looks like a digit or like another letter (RFC 8628 6.1)."""
CODE_LENGTH: Final = 8
NO_SCOPE: Final = "agentweb:no-scope"
"""Stands in the grant of a program that gets no scope: a grant has one at least, and this one opens nothing."""

_SALT: Final = "agentweb.access.pairing.code"
_ADDRESS_SALT: Final = "agentweb.access.pairing.address"
_NOT_A_LETTER: Final = re.compile(r"[^A-Z]")
_LONGEST_TYPED: Final = 40
_TRIES: Final = 5
_KEPT: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a program asks for. ``scopes`` is None when it leaves them to the person; ``pages`` are paths of the pages
    that it wants to use."""

    scopes: tuple[str, ...] | None = None
    mandate: Mandate | None = None
    pages: tuple[str, ...] = ()

    def as_text(self) -> str:
        mandate = self.mandate
        limits_of_money = (
            None if mandate is None else [mandate.currency, str(mandate.per_tx), str(mandate.total)]
        )
        return strict_json.dumps(
            {
                "scopes": None if self.scopes is None else list(self.scopes),
                "mandate": limits_of_money,  # type: ignore[dict-item]
                "pages": list(self.pages),
            }
        ).decode()


@dataclass(frozen=True, slots=True)
class Started:
    """``token`` and ``code`` (``WDJB-MJHT``) exist here and with the program only."""

    id: str
    token: str
    code: str
    expires_at: datetime


def wanted_by(pairing: Pairing) -> Wanted:
    """What a waiting program asks for."""
    stored: Any = strict_json.loads(pairing.wanted.encode(), max_bytes=len(pairing.wanted.encode()))
    scopes, mandate = stored["scopes"], stored["mandate"]
    return Wanted(
        scopes=None if scopes is None else tuple(scopes),
        mandate=None if mandate is None else Mandate(mandate[0], int(mandate[1]), int(mandate[2])),
        pages=tuple(stored["pages"]),
    )


def start(*, client_name: str, wanted: Wanted, address: str) -> Started:
    """Let a program wait for a person's word. ``wanted`` has been checked; ``address`` is the client's.

    Raises ``rate_limited``: too many from this address, or too many wait already, of this address or in all.
    """
    limits.take(f"pair:{limits.address_key(address)}", conf.get("PAIRING_RATE"), limits.PAIRINGS)
    at = now_datetime()
    digest = _digest_of_address(address)
    _check_room(at, digest)
    token = tokens.new()
    row = Pairing(
        id=random_id("ss_"),
        token_digest=tokens.digest_of(token),
        address=digest,
        client_name=client_name,
        wanted=wanted.as_text(),
        created_at=at,
        expires_at=at + timedelta(minutes=conf.get("PAIRING_MINUTES")),
    )
    for _ in range(_TRIES):
        letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
        row.code_digest = _digest_of_code(letters)
        # Two programs with one code at the same time: the unique constraint says no, and another code is drawn.
        if insert_if_absent([row]):
            return Started(row.id, token, f"{letters[:4]}-{letters[4:]}", row.expires_at)
    raise ServerError(Code.UNAVAILABLE, "No code could be made; send the same request again.", retry_after=1)


def find(code: str, *, by: AbstractBaseUser, address: str) -> Pairing | None:
    """The program that waits with this code, however a person writes it; None for every other text alike.

    Counts as one try of the person and of their address. Raises ``rate_limited`` after too many.
    """
    rate = conf.get("CODE_RATE")
    limits.take(f"code:user:{by.pk}", rate, limits.CODES)
    limits.take(f"code:{limits.address_key(address)}", rate, limits.CODES)
    letters = _letters_of(code)
    waiting = Pairing.objects.filter(state=State.PENDING, expires_at__gt=now_datetime())
    return waiting.filter(code_digest=_digest_of_code(letters)).first()


def decided_before(code: str, *, by: AbstractBaseUser) -> Pairing | None:
    """What this very person approved or denied under this code a moment ago: they sent the form twice."""
    decided = Pairing.objects.filter(decided_by_id=by.pk, expires_at__gt=now_datetime())
    return decided.filter(code_digest=_digest_of_code(_letters_of(code))).order_by("-decided_at").first()


def spelt(code: str) -> str:
    """A code as programs show it, whatever a person typed."""
    letters = _letters_of(code)
    return f"{letters[:4]}-{letters[4:]}"


def approve(
    pairing: Pairing,
    *,
    by: AbstractBaseUser,
    scopes: Sequence[str],
    mandate: Mandate | None,
    expires_in: int,
    site: str,
    login: str = "",
) -> Session | None:
    """Begin the session that was asked for, with these terms; None when it is too late.

    ``login`` is the person's login in their browser, whose end ends the session. Raises ``invalid_input`` with every
    problem, also for terms that are wider than what was asked for, and ``unavailable`` when the site has no key.
    """
    if problems := _wider(wanted_by(pairing), scopes, mandate):
        raise InputError(problems)
    session, chain = sessions.draw_up(
        ident=pairing.pk,
        token_digest=pairing.token_digest,
        user=by,
        scopes=scopes,
        expires_in=expires_in,
        site=site,
        mandate=mandate,
        client_name=pairing.client_name,
        login=login,
    )

    def work() -> Session | None:
        with transaction.atomic(using=database()):
            with first_write():
                is_mine = _decide(pairing.pk, State.APPROVED, by=by)
            if not is_mine:
                return None
            sessions.store(session, chain)
            return session

    return revocations.in_turn(work)


def deny(pairing: Pairing, *, by: AbstractBaseUser) -> bool:
    """Refuse what a program asks for; False when it is too late."""
    return _decide(pairing.pk, State.DENIED, by=by)


def cancel(token: str) -> bool:
    """Take the request back that has this token; False when nothing waits with it."""
    waiting = Pairing.objects.filter(token_digest=tokens.digest_of(token), state=State.PENDING)
    return waiting.update(state=State.CANCELLED, decided_at=now_datetime()) == 1


def clear(at: datetime) -> int:
    """Delete what was over an hour before ``at``; how many rows. Until then its token is told what happened."""
    return delete_in_batches(Pairing.objects.filter(expires_at__lt=at - _KEPT))


def _decide(ident: str, state: State, *, by: AbstractBaseUser) -> bool:
    at = now_datetime()
    waiting = Pairing.objects.filter(pk=ident, state=State.PENDING, expires_at__gt=at)
    return waiting.update(state=state, decided_at=at, decided_by_id=by.pk) == 1


def _wider(wanted: Wanted, scopes: Sequence[str], mandate: Mandate | None) -> list[dict[str, Any]]:
    # What the actions of a page ask for is the catalog's, which this floor does not know.
    asked = None if wanted.pages else wanted.scopes
    problems = [
        problem(f"scopes.{place}", "wider", f"{scope} was not asked for.")
        for place, scope in enumerate(scopes)
        if asked is not None
        and scope != NO_SCOPE
        and not any(pattern_covers_pattern(pattern, scope) for pattern in asked)
    ]
    if mandate is None:
        return problems
    if wanted.mandate is None or wanted.mandate.currency != mandate.currency:
        return [
            *problems,
            problem("mandate.currency", "wider", "Spending in this currency was not asked for."),
        ]
    return problems + [
        problem(f"mandate.{name}", "wider", "This is more than what was asked for.")
        for name in ("per_tx", "total")
        if getattr(mandate, name) > getattr(wanted.mandate, name)
    ]


def _check_room(at: datetime, address: str) -> None:
    waiting = Pairing.objects.filter(state=State.PENDING, expires_at__gt=at)
    # Of one address first: whoever has only that cannot close the door for all.
    if _are_as_many(waiting.filter(address=address), conf.get("OPEN_PAIRINGS_PER_ADDRESS")):
        raise RequestError(
            Code.RATE_LIMITED,
            "Too many programs at your address wait for a person. Come again after retry_after seconds, or take a "
            "request back that nobody needs.",
            retry_after=60,
        )
    if _are_as_many(waiting, conf.get("OPEN_PAIRINGS")):
        raise RequestError(
            Code.RATE_LIMITED,
            "Too many programs wait for a person at this site at the moment. Come again after retry_after seconds.",
            retry_after=60,
        )


def _are_as_many(waiting: QuerySet[Pairing], most: int) -> bool:
    return waiting.order_by("expires_at").values_list("pk", flat=True)[most - 1 : most].exists()


def _digest_of_address(address: str) -> str:
    # Addresses are few, and nobody else's business.
    return salted_hmac(_ADDRESS_SALT, limits.address_key(address), algorithm="sha256").hexdigest()


def _letters_of(code: str) -> str:
    return _NOT_A_LETTER.sub("", code[:_LONGEST_TYPED].upper())


def _digest_of_code(letters: str) -> str:
    # There are few codes: without the site's secret the database must not give them away.
    return salted_hmac(_SALT, letters, algorithm="sha256").hexdigest()
