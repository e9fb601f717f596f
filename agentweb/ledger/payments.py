"""Charges that a payment provider carries out (AGENT_ACTIONS section 3.3, adapter mode).

No transaction may wait for a provider, and no process may be trusted to live until it has answered. So a charge is
reserved, and committed, before the provider is asked; the answer is committed next; and the handler runs once more, in
the one transaction in which all that it does commits together with its receipt::

    run 1 ── ctx.charge: not paid yet ──> rolled back
             reserve    mandates debited, row ``pending``            committed
             ask        the provider, with the charge's id           no transaction
             capture    row ``captured``                             committed
    run 2 ── ctx.charge: finds its captured charge and goes on ──>   committed: writes, receipt, kept answer

Whoever comes next, after a crash at any of these places, finds by the row how far it came: a retry of the call goes on
there, and ``settle`` brings to an end what nobody comes back for. Every arrow between states is one conditional UPDATE,
so of all who try, one does it.

Lock order: idempotency record, mandates from leaf to root, approval, agreement, payment, refund, receipt, head.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from agentweb import conf
from agentweb.access import approvals, rows
from agentweb.access.callers import Caller
from agentweb.access.database import begun, patiently
from agentweb.ledger import agreements, charges, entries, providers, refunds
from agentweb.ledger.charges import Charge
from agentweb.ledger.entries import Entry
from agentweb.ledger.models import Agreement
from agentweb.ledger.payment_models import Payment, Refund
from agentweb.ledger.providers import Answer, ChargeOrder, Named
from agentweb.ledger.receipts import Occasion
from agentweb.ledger.refunds import SPARE_SECONDS
from agentweb.ledger.restoring import restore, return_use
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import b64url
from agentweb.wire.money import format_amount
from agentweb.wire.signing import SigningKey

logger = logging.getLogger("agentweb.payments")

State = Payment.State
OVER: Final = (State.DECLINED, State.CANCELLED)
"""The ends of payments that took no money."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One ``ctx.charge``: the ``ordinal``-th of its call."""

    ordinal: int
    amount: int
    currency: str
    item: str
    agreement: str | None
    metadata: dict[str, Any]


class Unpaid(BaseException):
    """Ends a run of the handler at a charge that the provider has not captured. No ``except Exception`` holds it."""

    def __init__(self, wanted: Wanted, found: Payment | None) -> None:
        super().__init__("The payment provider is asked first; then the handler runs again.")
        self.wanted = wanted
        self.found = found

    @property
    def is_other(self) -> bool:
        """Whether there is a payment in this place for something else than is charged now."""
        return self.found is not None and not _is_for(self.found, self.wanted)


class Moved(Exception):
    """Somebody else has brought a payment of this call to its end meanwhile: look again."""


@dataclass(slots=True)
class Purse:
    """What was paid, or begun, for one call. ``asked`` is the signal that ended its run.

    ``others`` were begun for the same call under other grants. They are no money of this one: another mandate paid
    them, perhaps another person's, and another person may have approved them.
    """

    intent: str
    by: Named
    payments: dict[int, Payment] = field(default_factory=dict)
    others: list[Payment] = field(default_factory=list)
    asked: Unpaid | None = None
    wanted: Wanted | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(payment.id for payment in self.payments.values())

    @property
    def holds_use(self) -> bool:
        """Whether the call's use of its grants is counted already."""
        return any(payment.counts_use for payment in self.payments.values())

    @property
    def holds_approval(self) -> bool:
        return any(payment.approval for payment in self.payments.values())

    @property
    def declined(self) -> Payment | None:
        """A payment of which the call has not been told yet that it was declined."""
        return next((each for each in self.payments.values() if each.state == State.DECLINED), None)

    @property
    def reserved(self) -> int:
        """What the mandates have paid already, in minor units."""
        return sum(each.amount for each in self.payments.values() if each.state != State.DECLINED)

    def paid(
        self,
        ordinal: int,
        amount: int,
        currency: str,
        item: str,
        agreement: str | None,
        metadata: dict[str, Any],
    ) -> Payment | None:
        """The captured charge that this is; None when nothing was begun. Raises Unpaid for all between.

        Its ``metadata`` is what the provider was told, whatever this run of the handler would say.
        """
        self.wanted = Wanted(
            ordinal=ordinal,
            amount=amount,
            currency=currency,
            item=item,
            agreement=agreement,
            metadata=metadata,
        )
        found = self.payments.get(ordinal)
        if found is None:
            return None
        if found.state != State.CAPTURED or not _is_for(found, self.wanted):
            raise self.ask()
        return found

    def ask(self) -> Unpaid:
        """The signal to raise for the charge that was looked for last.

        It is kept: a handler that swallows it has still not been paid.
        """
        wanted = self.wanted
        if wanted is None:
            raise RuntimeError("Nothing was looked for.")
        self.asked = Unpaid(wanted, self.payments.get(wanted.ordinal))
        return self.asked


def _is_for(payment: Payment, wanted: Wanted) -> bool:
    return (payment.amount, payment.currency, payment.item, payment.agreement) == (
        wanted.amount,
        wanted.currency,
        wanted.item,
        wanted.agreement or "",
    )


def open_purse(intent: str, by: Named, caller: Caller) -> Purse:
    """The payments that this call may still come back for."""
    purse, grants = Purse(intent, by), entries.grants_of(caller)
    for payment in wanted(intent):
        if payment.grants == grants:
            purse.payments[payment.ordinal] = payment
        else:
            purse.others.append(payment)
    return purse


def wanted(intent: str) -> list[Payment]:
    """The payments of a call that nobody has ended yet, under whatever grants."""
    return list(_payments().filter(intent=intent, is_wanted=True).order_by("ordinal"))


# -- one payment, from its reservation to the provider's answer


def reserve(purse: Purse, wanted: Wanted, occasion: Occasion, consent: Callable[[], str] | None) -> Payment:
    """Debit the mandates and note the payment, in the open transaction, after its fence.

    ``consent`` uses the person's approval up and returns its id. Raises what ``ctx.charge`` raises, and Moved.
    """
    caller = occasion.caller
    counts_use = not purse.holds_use
    if counts_use:
        charges.enter(caller, spends=True)
    else:
        charges.hold(caller)
    charges.debit(caller, wanted.amount, wanted.currency)
    approval = consent() if consent is not None and not purse.holds_approval else ""
    attempt = _payments().filter(intent=purse.intent, ordinal=wanted.ordinal).count()
    at = now_datetime()
    payment = Payment(
        id=_ident(purse.intent, wanted.ordinal, attempt),
        intent=purse.intent,
        ordinal=wanted.ordinal,
        attempt=attempt,
        provider=purse.by.path,
        amount=wanted.amount,
        currency=wanted.currency,
        item=wanted.item,
        agreement=wanted.agreement or "",
        metadata=wanted.metadata,
        site=occasion.site,
        action=occasion.action,
        request_id=occasion.request_id,
        agent=caller.subject,
        grants=entries.grants_of(caller),
        parties=entries.parties_of(caller),
        user_key="" if caller.user_id is None else str(caller.user_id)[:100],
        counts_use=counts_use,
        approval=approval,
        created_at=at,
        next_at=at + timedelta(seconds=conf.get("PAYMENT_TIMEOUT_SECONDS") + SPARE_SECONDS),
    )
    if wanted.agreement is not None:
        agreements.use_up(wanted.agreement, payment.id)
    if not rows.insert_if_absent([payment]):
        raise Moved
    purse.payments[wanted.ordinal] = payment
    return payment


def _ident(intent: str, ordinal: int, attempt: int) -> str:
    """The charge's id, which every process that comes to this place works out alike."""
    seed = f"agentweb-payment/1 {intent} {ordinal} {attempt}"
    return "rc_" + b64url(hashlib.sha256(seed.encode()).digest()[:16])


def charge(payment: Payment) -> Answer:
    """Ask the provider to take the money, again too. In no transaction."""
    return providers.charge(
        providers.remembered(payment.provider),
        ChargeOrder(
            id=payment.id,
            amount=payment.amount,
            currency=payment.currency,
            item=payment.item,
            site=payment.site,
            action=payment.action,
            request_id=payment.request_id,
            agent=payment.agent,
            grant=payment.grants[0],
            user_id=payment.user_key,
            metadata=payment.metadata,
        ),
    )


def capture(payment: Payment, answer: Answer) -> bool:
    """Note that the money was taken; False when the payment is not pending any more.

    What a provider takes after it has said that it never will, nothing here gives back: what was reserved is free, and
    may be spent. The log tells it to people.
    """
    until = payment.created_at + timedelta(minutes=conf.get("PAYMENT_ABANDONED_MINUTES"))

    def note() -> bool:
        with begun():
            pending = _payments().filter(pk=payment.pk, state=State.PENDING)
            noted = pending.update(state=State.CAPTURED, reference=answer.reference, next_at=until)
        return bool(noted)

    is_noted = patiently(note)
    if not is_noted and _payments().filter(pk=payment.pk, state__in=OVER).exists():
        logger.error(
            "The payment provider %s has taken the money of %s (%s %s), after it had said that it takes none: give it "
            "back there by hand.",
            payment.provider,
            payment.pk,
            format_amount(payment.amount, payment.currency),
            payment.currency,
        )
    return is_noted


# -- what comes to nothing


def release(payment: Payment, state: State, reason: str = "", *, is_told: bool) -> bool:
    """Give back what was reserved for a payment of which it is sure that it takes no money; in the open transaction.

    ``state`` is DECLINED or CANCELLED; ``is_told`` says that its call knows, or need not. False, and nothing done, when
    the payment is not pending any more.
    """
    changed: dict[str, Any] = {"state": state, "reason": reason}
    if is_told:
        changed["is_wanted"] = False

    def end() -> int:
        restore(payment.grants, payment.amount)
        _undo_holds(payment)
        return _payments().filter(pk=payment.pk, state=State.PENDING).update(**changed)

    return _all_or_nothing(end)


def give_back(found: Iterable[Payment], key: SigningKey) -> list[Refund]:
    """Begin to refund payments that were captured for nothing, in the open transaction; the refunds to carry out.

    Each gets the receipt of a charge, for the money was taken, and its refund; it counts neither as a use of the grant
    nor of an approval or agreement. A payment that is not captured any more is left out.
    """
    taken = [each for each in sorted(found, key=lambda each: not each.counts_use) if _take_over(each)]
    if not taken:
        return []
    entries.write([_entry(each) for each in taken], taken[0].site, key)
    return [refunds.order_automatic(each) for each in taken]


def _take_over(payment: Payment) -> bool:
    def end() -> int:
        _undo_holds(payment)
        captured = _payments().filter(pk=payment.pk, state=State.CAPTURED)
        return captured.update(state=State.DONE, is_wanted=False)

    return _all_or_nothing(end)


def _undo_holds(payment: Payment) -> None:
    """The use, the approval and the agreement of a call that came to nothing are there for the next one."""
    if payment.counts_use:
        return_use(payment.grants)
    if payment.approval:
        approvals.give_back(payment.approval)
    if payment.agreement:
        held = Agreement.objects.using(rows.database()).filter(pk=payment.agreement, receipt=payment.id)
        held.update(receipt=None)


def _all_or_nothing(end: Callable[[], int]) -> bool:
    """Run it in a savepoint that holds only when it changed a row."""
    try:
        with transaction.atomic(using=rows.database()):
            if not end():
                raise Moved
    except Moved:
        return False
    return True


def forsake(found: Sequence[Payment]) -> None:
    """Nobody comes back for these: as soon as it is known how they stand, they are ended."""
    if found:
        _payments().filter(pk__in=[each.pk for each in found]).update(is_wanted=False, next_at=now_datetime())


# -- the end of a call


def finish(purse: Purse, used: Sequence[Charge], key: SigningKey, *, is_done: bool) -> list[Refund]:
    """Let the captured payments be the charges of a call that commits; what it did not use is given back.

    ``is_done`` says that the call has done its work, and was not refused: then it has used its grants and its approval,
    whatever it charged. In the open transaction, before the receipts are written. Raises Moved when one of them is not
    there any more.
    """
    ids = {each.id for each in used}
    done = _payments().filter(pk__in=ids, state=State.CAPTURED, is_wanted=True)
    if ids and done.update(state=State.DONE, is_wanted=False) != len(ids):
        raise Moved
    rest = [each for each in purse.payments.values() if each.id not in ids]
    if is_done:
        _keep_holds(rest)
    return end(rest, key)


def _keep_holds(found: Sequence[Payment]) -> None:
    """Whatever becomes of these payments, now or later: they give neither the use back that they count, nor the
    approval that they took."""
    held = [payment for payment in found if payment.counts_use or payment.approval]
    if held:
        ids = [payment.pk for payment in held]
        _payments().filter(pk__in=ids).update(counts_use=False, approval="")
    for payment in held:
        payment.counts_use, payment.approval = False, ""


def end(found: Sequence[Payment], key: SigningKey) -> list[Refund]:
    """End the payments of a call that came to nothing, in the open transaction; the refunds to carry out."""
    if not found:
        return []
    orders = give_back([each for each in found if each.state == State.CAPTURED], key)
    forsake([each for each in found if each.state in {State.PENDING, State.DECLINED}])
    return orders


def as_told(found: Iterable[Payment], orders: Sequence[Refund]) -> list[dict[str, Any]]:
    """What the caller of a failed call learns of its money: ``id`` of each charge and of its refund."""
    by_charge = {order.receipt_id: order.id for order in orders}
    told: list[dict[str, Any]] = []
    for each in found:
        if each.id in by_charge:
            told.append({"charge": each.id, "refund": by_charge[each.id]})
        elif each.state in {State.PENDING, State.CAPTURED}:
            told.append({"charge": each.id, "refund": None})
    return told


def _entry(payment: Payment) -> Entry:
    return Entry(
        id=payment.id,
        action=payment.action,
        request_id=payment.request_id,
        agent=payment.agent,
        grants=payment.grants,
        parties=payment.parties,
        item=payment.item,
        amount=payment.amount,
        currency=payment.currency,
        metadata=payment.metadata,
    )


def of_caller(caller: Caller, payment_id: str) -> Payment | None:
    """A payment of the caller's own."""
    return _payments().filter(pk=payment_id[:64], agent=caller.subject).first()


def _payments() -> QuerySet[Payment]:
    return Payment.objects.using(rows.database())
