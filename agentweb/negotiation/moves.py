"""The moves of a negotiation: begin, offer, accept, reject (AGENT_ACTIONS section 6).

A move changes the row by one conditional UPDATE and is over; the site's negotiator is asked between two of them, with
no transaction open. So of two moves at once one counts, and whatever ends in the middle is taken up again by sending
the same offer once more.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from agentweb import conf
from agentweb.access import limits, rows, site_keys
from agentweb.access.callers import Caller
from agentweb.access.database import first_write, patiently, write_patiently
from agentweb.access.limits import Allowance
from agentweb.ledger import agreements
from agentweb.ledger.models import Agreement
from agentweb.negotiation import negotiator
from agentweb.negotiation.answers import Accept, Answer, Counter, Offer, Reject
from agentweb.negotiation.models import Negotiation
from agentweb.negotiation.negotiator import Context
from agentweb.wire import canonical
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AgentError, Code, ConflictError, MoneyError, RequestError
from agentweb.wire.json_types import Json
from agentweb.wire.money import format_amount, parse_amount
from agentweb.wire.strict_json import loads

logger = logging.getLogger("agentweb.negotiation")

State = Negotiation.State
RUNNING: Final = (State.OPEN, State.COUNTERED)


def take_turn(caller: Caller) -> Allowance:
    """Take one offer out of the buyer's limit, whoever the grant was handed on to; raises ``rate_limited``."""
    return limits.take(f"offer:{caller.rate_key}", conf.get("NEGOTIATION_RATE"), limits.OFFERS)


def begin(
    context: Context, *, site: str, terms: Mapping[str, Any], price: int, currency: str, note: str
) -> dict[str, Any]:
    """Make the first offer, in minor units, for normal terms; the negotiation with the site's answer.

    Raises ``conflict`` with the ``negotiation`` when another one is open for these terms, ``rate_limited`` when too
    many are open, and what the negotiator refuses.
    """
    caller = context.caller
    text = canonical.canonicalize(dict(terms))
    at = now_datetime()
    row = Negotiation(
        id=random_id("ng_"),
        site=site,
        **_buyer(caller),
        terms=text.decode(),
        terms_digest=canonical.digest(dict(terms)),
        currency=currency,
        rounds=conf.get("NEGOTIATION_ROUNDS"),
        first=price,
        offered=price,
        offer_note=note,
        created_at=at,
        changed_at=at,
        expires_at=at + timedelta(minutes=conf.get("NEGOTIATION_MINUTES")),
    )
    of_buyer = _rows().filter(site=site, **_buyer(caller))
    expire(of_buyer, at)
    if of_buyer.filter(state__in=RUNNING).count() >= conf.get("OPEN_NEGOTIATIONS"):
        raise RequestError(
            Code.RATE_LIMITED,
            "You have too many open negotiations. Accept or reject some, or come again after retry_after seconds.",
            retry_after=60,
        )
    if rows.insert_if_absent([row]):
        return _ask(row, context)
    running = of_buyer.filter(state__in=RUNNING, terms_digest=row.terms_digest).first()
    if running is None:
        raise ConflictError(Code.CONFLICT, "The negotiation about these terms has just ended; begin again.")
    is_repeated = (running.first, running.currency, running.round) == (price, currency, 1)
    if not is_repeated:
        raise ConflictError(
            Code.CONFLICT,
            "You are negotiating about these terms already: go on with the negotiation, or reject it first.",
            negotiation=shown(running),
        )
    return _ask(running, context) if running.state == State.OPEN else shown(running)


def offer(context: Context, ident: str, *, site: str, price: Any, note: str) -> dict[str, Any]:
    """Offer another price (as it was sent); the negotiation with the site's answer."""
    row = _running(find(context.caller, ident, site=site))
    minor = read_price(price, row.currency, field="offer")
    if minor == row.offered:
        # Sent again: it takes no round, and is how an offer that got no answer is answered in the end.
        return _ask(row, context) if row.state == State.OPEN else shown(row)
    if row.state == State.OPEN:
        raise _changed(row, "The site has not answered your last offer yet: send that one again.")
    if minor < row.offered:
        least = format_amount(row.offered, row.currency)
        raise _invalid("fell", f"Offers may not fall: offer more than {least} {row.currency}.")
    asked = row.asked if row.asked is not None else minor + 1
    if minor >= asked:
        return _agree(row, context.caller, asked, State.COUNTERED)
    if row.round >= row.rounds:
        raise _invalid("rounds", f"This was the last round: accept round {row.round}, or reject.")
    made = row.round + 1
    if not _move(row, State.COUNTERED, state=State.OPEN, round=made, offered=minor, offer_note=note):
        raise _overtaken(row)
    row.refresh_from_db()
    return _ask(row, context) if (row.state, row.round) == (State.OPEN, made) else shown(row)


def accept(caller: Caller, ident: str, made: int, *, site: str) -> dict[str, Any]:
    """Agree to what the site asked for in round ``made``; the negotiation with its agreement."""
    row = find(caller, ident, site=site)
    if row.state == State.ACCEPTED and row.round == made:
        return shown(row)
    _running(row)
    if row.round != made or row.state == State.OPEN or row.asked is None:
        said = "The site has not answered your last offer yet." if row.state == State.OPEN else ""
        raise _changed(
            row, said or f"The negotiation is in round {row.round}: accept or answer what stands now."
        )
    return _agree(row, caller, row.asked, State.COUNTERED)


def reject(caller: Caller, ident: str, *, site: str) -> dict[str, Any]:
    """End it without an agreement."""
    row = find(caller, ident, site=site)
    if row.state == State.REJECTED:
        return shown(row)
    _running(row)
    if not _move(row, *RUNNING, state=State.REJECTED, asked_note=""):
        raise _overtaken(row)
    row.refresh_from_db()
    return shown(row)


def find(caller: Caller, ident: str, *, site: str) -> Negotiation:
    """The caller's own; somebody else's does not exist for this caller."""
    row = _rows().filter(pk=ident[:64], site=site, **_buyer(caller)).first()
    if row is None:
        raise RequestError(Code.NOT_FOUND, "You have no negotiation with this id.")
    return row


def shown(row: Negotiation) -> dict[str, Any]:
    """The negotiation as its buyer sees it (docs/reference/wire.md)."""
    is_over_time = row.state in RUNNING and row.expires_at <= now_datetime()
    by_site = row.state != State.OPEN and row.asked is not None and row.asked != row.offered
    minor, note = (row.asked, row.asked_note) if by_site else (row.offered, row.offer_note)
    stands: dict[str, Json] = {
        "by": "site" if by_site else "buyer",
        "price": format_amount(minor or 0, row.currency),
    }
    if note and row.state != State.REJECTED:
        stands["note"] = note
    agreement = (
        Agreement.objects.using(rows.database()).filter(pk=row.agreement).first() if row.agreement else None
    )
    document = {
        "id": row.id,
        "state": State.EXPIRED.value if is_over_time else row.state,
        "terms": loads(row.terms.encode()),
        "currency": row.currency,
        "offer": stands,
        "round": row.round,
        "rounds_left": max(0, row.rounds - row.round),
        "expires": int(row.expires_at.timestamp()),
        "agreement": None if agreement is None else agreements.read(agreement.document),
    }
    return (
        {**document, "note": row.asked_note} if row.state == State.REJECTED and row.asked_note else document
    )


def expire(negotiations: QuerySet[Negotiation], at: datetime) -> int:
    """Close those of them that are running and over at ``at``; how many."""
    over = negotiations.filter(state__in=RUNNING, expires_at__lte=at)
    return over.update(state=State.EXPIRED, changed_at=at)


def clear(at: datetime, before: datetime) -> int:
    """Close what is over at ``at``, and delete what was over before ``before``; how many rows were deleted."""
    expire(_rows(), at)
    return rows.delete_in_batches(_rows().filter(expires_at__lt=before))


def read_price(value: Any, currency: str, *, field: str) -> int:
    """A buyer's price in minor units; raises ``offer_invalid``, naming the field, for what is no amount."""
    try:
        return parse_amount(value, currency, field=field)
    except MoneyError as error:
        reason = error.extra["reason"]
        raise _invalid(reason, error.message, "currency" if reason == "currency" else field) from None


# -- the site's answer


def _ask(row: Negotiation, context: Context) -> dict[str, Any]:
    """Have the negotiator answer the buyer's offer that stands, and hold the answer to the rules."""
    made = Offer(
        terms=loads(row.terms.encode()),  # type: ignore[arg-type]
        price=_major(row.offered, row.currency),
        currency=row.currency,
        round=row.round,
        rounds_left=max(0, row.rounds - row.round),
        first=_major(row.first, row.currency),
        asked=None if row.asked is None else _major(row.asked, row.currency),
        note=row.offer_note,
    )
    try:
        answer: Answer = negotiator.ask(made, context)
    except negotiator.Refusal as refusal:
        if refusal.error.retry_after is None:
            _move(row, State.OPEN, state=State.REJECTED)
        raise refusal.error from None
    if isinstance(answer, Accept):
        return _agree(row, context.caller, row.offered, State.OPEN)
    if isinstance(answer, Reject):
        _move(row, State.OPEN, state=State.REJECTED, asked_note=answer.note)
    else:
        asked = _held_back(row, answer)
        if asked <= row.offered:
            return _agree(row, context.caller, asked, State.OPEN)
        _move(row, State.OPEN, state=State.COUNTERED, asked=asked, asked_note=answer.note)
    # When somebody else got there first with the same offer, their answer stands.
    row.refresh_from_db()
    return shown(row)


def _held_back(row: Negotiation, answer: Counter) -> int:
    asked = parse_amount(answer.price, row.currency)
    if row.asked is None or asked <= row.asked:
        return asked
    logger.warning("The negotiator asked for more than before in %s; its former price stays.", row.id)
    return row.asked


def _agree(row: Negotiation, caller: Caller, price: int, state: State) -> dict[str, Any]:
    """Close the negotiation in this state and round with an agreement, both or neither."""
    key = site_keys.active_key()
    lasts = timedelta(minutes=conf.get("AGREEMENT_MINUTES"))

    def work() -> bool:
        with transaction.atomic(using=rows.database()):
            with first_write():
                is_ours = _change(row, (state,), state=State.ACCEPTED, asked=price, asked_note="")
            if not is_ours:
                return False
            document = agreements.conclude(
                caller,
                key=key,
                site=row.site,
                terms=loads(row.terms.encode()),  # type: ignore[arg-type]
                price=price,
                currency=row.currency,
                lasts=lasts,
            )
            _rows().filter(pk=row.pk).update(agreement=document["id"])
            return True

    is_ours = patiently(work)
    if not is_ours and state == State.COUNTERED:
        raise _overtaken(row)
    row.refresh_from_db()
    return shown(row)


def _move(row: Negotiation, *states: State, **changes: Any) -> bool:
    """A move that is one statement."""
    return write_patiently(partial(_change, row, states, **changes))


def _change(row: Negotiation, states: Sequence[State], **changes: Any) -> bool:
    """The conditional UPDATE: whether the row was still in one of these states, in its round and in time."""
    at = now_datetime()
    still = _rows().filter(pk=row.pk, state__in=states, round=row.round, expires_at__gt=at)
    return still.update(changed_at=at, **changes) == 1


def _running(row: Negotiation) -> Negotiation:
    if row.state in RUNNING and row.expires_at > now_datetime():
        return row
    state = State.EXPIRED.value if row.state in RUNNING else row.state
    raise ConflictError(
        Code.NEGOTIATION_CLOSED,
        f"This negotiation is {state}; begin another one."
        if state != State.ACCEPTED
        else "This negotiation is accepted: buy under its agreement.",
        state=state,
    )


def _overtaken(row: Negotiation) -> AgentError:
    """Why a move changed nothing: read the row and say how it stands."""
    row.refresh_from_db()
    _running(row)
    return _changed(row, f"The negotiation is in round {row.round} meanwhile: answer what stands now.")


def _changed(row: Negotiation, message: str) -> AgentError:
    return ConflictError(Code.NEGOTIATION_CHANGED, message, round=row.round, negotiation=shown(row))


def _invalid(reason: str, message: str, field: str = "offer") -> AgentError:
    return MoneyError(Code.OFFER_INVALID, message, field=field, reason=reason)


def _buyer(caller: Caller) -> dict[str, str]:
    return {"agent": caller.subject, "root": caller.root.id if caller.root is not None else ""}


def _major(minor: int, currency: str) -> Decimal:
    return Decimal(format_amount(minor, currency))


def _rows() -> QuerySet[Negotiation]:
    return Negotiation.objects.using(rows.database())
