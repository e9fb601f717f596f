"""Refunds: money given back of one charge, each with a receipt of its own (AGENT_ACTIONS section 4).

One conditional UPDATE of the charge's receipt decides how much may go back, so two refunds of 60 never both go through
against a charge of 100. In the site's own ledger a refund is done in the transaction that decides it. Of a charge that
a payment provider carried out, the amount is reserved first; then the provider is asked, in no transaction, with the
refund's id; then it is done, or what was reserved is taken back.

Lock order: idempotency record, mandates from leaf to root, refund, receipt, head.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction
from django.db.models import F, QuerySet

from agentweb import conf
from agentweb.access import rows, site_keys
from agentweb.access.database import begun, patiently
from agentweb.ledger import entries, providers
from agentweb.ledger.entries import Entry
from agentweb.ledger.models import Receipt, ReceiptParty
from agentweb.ledger.payment_models import Payment, Refund
from agentweb.ledger.providers import Answer, RefundOrder
from agentweb.ledger.providers import State as Outcome
from agentweb.ledger.restoring import restore
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import Code, ConflictError, MoneyError
from agentweb.wire.money import format_amount
from agentweb.wire.signing import SigningKey

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

logger = logging.getLogger("agentweb.payments")

State = Refund.State

MAX_REASON: Final = 200
AUTOMATIC: Final = "The action failed after the payment was taken."
SPARE_SECONDS: Final = 30
"""How long after the time-out of a provider a payment or refund is left to the call that made it."""


def new(
    receipt: Receipt,
    amount: int,
    *,
    reason: str,
    request_id: str,
    asked_by: str = "",
    intent: str = "",
    ident: str = "",
    decided_by: AbstractBaseUser | None = None,
) -> Refund:
    """A refund that is not written yet; ``wait`` or ``approve`` does that."""
    at = now_datetime()
    return Refund(
        id=ident or random_id("rf_"),
        receipt_id=receipt.pk,
        refund_receipt=random_id("rc_"),
        amount=amount,
        currency=receipt.currency,
        reason=reason,
        request_id=request_id,
        asked_by=asked_by[:64],
        intent=intent,
        decided_by_id=None if decided_by is None else decided_by.pk,
        created_at=at,
        next_at=at + _pause(),
    )


def remaining(receipt: Receipt) -> int:
    """What of a charge was not given back, in minor units."""
    return receipt.amount - receipt.refunded


def wait(refund: Refund) -> None:
    """Let it wait for the site's staff, in the open transaction. Of each charge one refund waits at a time."""
    refund.state = State.PENDING
    if not rows.insert_if_absent([refund]):
        raise ConflictError(
            Code.CONFLICT,
            "A refund of this receipt waits for the site's staff already. Wait for their answer.",
        )


def approve(refund: Refund, key: SigningKey) -> None:
    """Give it, in the open transaction: a new one, or one that waited. Afterwards ``carry_out`` is called, outside.

    Raises refund_exceeds_charge, and conflict when somebody else has decided meanwhile.
    """
    receipt = _receipts().get(pk=refund.receipt_id)
    is_outside = _payments().filter(pk=receipt.pk).exists()
    if not is_outside:
        _restore(refund, receipt)
    state = State.PROCESSING if is_outside else State.DONE
    settled = None if is_outside else now_datetime()
    if refund.state == State.PENDING:
        waiting = _refunds().filter(pk=refund.pk, state=State.PENDING)
        noted = waiting.update(
            state=state,
            amount=refund.amount,
            decided_by=refund.decided_by_id,
            settled_at=settled,
            next_at=now_datetime() + _pause(),
        )
        refund.state, refund.settled_at = state, settled
    else:
        refund.state, refund.settled_at = state, settled
        noted = rows.insert_if_absent([refund])
    if not noted:
        raise ConflictError(Code.CONFLICT, "This refund has been decided about already.")
    _reserve(receipt, refund.amount)
    if not is_outside:
        _write_receipt(refund, receipt, key)


def refuse(refund: Refund, answer: str = "") -> None:
    """Do not give one that waits. Raises conflict when somebody else has decided meanwhile."""
    waiting = _refunds().filter(pk=refund.pk, state=State.PENDING)
    changed = {"answer": answer[:MAX_REASON], "decided_by": refund.decided_by_id}
    if not waiting.update(state=State.REFUSED, settled_at=now_datetime(), **changed):
        raise ConflictError(Code.CONFLICT, "This refund has been decided about already.")


def order_automatic(payment: Payment) -> Refund:
    """Write the refund of a whole charge that came to nothing, in the transaction that wrote its receipt."""
    _receipts().filter(pk=payment.id).update(refunded=payment.amount)
    refund = new(
        Receipt(pk=payment.id, currency=payment.currency),
        payment.amount,
        reason=AUTOMATIC,
        request_id=payment.request_id,
    )
    refund.is_automatic, refund.state = True, State.PROCESSING
    refund.next_at = refund.created_at + _pause()
    rows.insert([refund])
    return refund


def carry_out(refund_id: str) -> Refund:
    """Ask the provider to give the money back and note what came of it; nothing, for a refund that is over.

    In no transaction. Any number of processes may do it at once.
    """
    refund = _refunds().select_related("receipt").get(pk=refund_id)
    if refund.state != State.PROCESSING:
        return refund
    payment = _payments().get(pk=refund.receipt_id)
    answer = providers.refund(
        providers.remembered(payment.provider),
        RefundOrder(
            id=refund.id,
            charge_id=payment.id,
            charge_reference=payment.reference,
            amount=refund.amount,
            currency=refund.currency,
            reason=refund.reason,
        ),
    )
    if answer.state is Outcome.REFUNDED:
        key = site_keys.active_key()
        patiently(partial(_in_transaction, lambda: _complete(refund, answer, key)))
    elif answer.state is Outcome.DECLINED:
        if refund.is_automatic:
            logger.error(
                "The refund %s of the charge %s, whose action failed, was declined: %s. The money is still with "
                "the site: give it back by hand.",
                refund.id,
                payment.id,
                answer.reason,
            )
        patiently(partial(_in_transaction, lambda: _undo(refund, answer)))
    return _refunds().get(pk=refund_id)


def give(
    receipt_id: str, amount: int, *, reason: str, by: AbstractBaseUser | AnonymousUser, ident: str
) -> Refund:
    """A refund by the site's staff. ``ident`` is a new id, ``rf_…``: given again, it gives nothing again.

    Raises refund_exceeds_charge. The state says what came of it: done, declined, or processing while the provider has
    not answered.
    """
    receipt = _receipts().get(pk=receipt_id)
    refund = new(
        receipt, amount, reason=reason, request_id=random_id("rq_"), ident=ident, decided_by=_known(by)
    )
    key = site_keys.active_key()
    if not _refunds().filter(pk=ident).exists():
        patiently(partial(_in_transaction, lambda: approve(refund, key)))
    return carry_out(ident)


def decide(
    refund_id: str, *, is_given: bool, by: AbstractBaseUser | AnonymousUser, answer: str = ""
) -> Refund:
    """Give a refund that waits, or do not; ``answer`` tells the agent why. Raises as ``approve`` and ``refuse``."""
    refund = _refunds().get(pk=refund_id)
    refund.decided_by_id = by.pk
    if not is_given:
        patiently(partial(_in_transaction, lambda: refuse(refund, answer)))
        return _refunds().get(pk=refund_id)
    key = site_keys.active_key()
    if refund.state != State.PENDING:
        raise ConflictError(Code.CONFLICT, "This refund has been decided about already.")
    patiently(partial(_in_transaction, lambda: approve(refund, key)))
    return carry_out(refund_id)


def _known(by: AbstractBaseUser | AnonymousUser) -> AbstractBaseUser | None:
    return by if by.is_authenticated else None


def of_intent(intent: str) -> Refund | None:
    """The refund that this call has begun, whatever has become of it."""
    return _refunds().filter(intent=intent).order_by("-created_at").first()


def as_document(refund: Refund) -> dict[str, Any]:
    """What agents are told: ``id, state, receipt, amount, currency``, ``refund_receipt`` when it is done, ``reason``
    when it was not given."""
    document = {
        "id": refund.id,
        "state": refund.state,
        "receipt": refund.receipt_id,
        "amount": format_amount(refund.amount, refund.currency),
        "currency": refund.currency,
    }
    if refund.state == State.DONE:
        document["refund_receipt"] = refund.refund_receipt
    if refund.state in {State.REFUSED, State.DECLINED} and refund.answer:
        document["reason"] = refund.answer
    return document


def exceeds(left: int, currency: str) -> MoneyError:
    """422: more than what of the charge was not given back."""
    text = format_amount(left, currency)
    said = (
        f"only {text} {currency} of this charge is left to give back" if left else "all of it was given back"
    )
    return MoneyError(
        Code.REFUND_EXCEEDS_CHARGE,
        f"Nothing was refunded: {said}.",
        remaining=text,
        currency=currency,
    )


# -- the statements


def _reserve(receipt: Receipt, amount: int) -> None:
    """The statement that decides: at most the charge goes back, whoever else gives back at the same moment."""
    charge = _receipts().filter(
        pk=receipt.pk, kind=Receipt.Kind.CHARGE, refunded__lte=F("amount") - amount, amount__gte=amount
    )
    if amount <= 0 or not charge.update(refunded=F("refunded") + amount):
        raise exceeds(remaining(_receipts().get(pk=receipt.pk)), receipt.currency)


def _complete(refund: Refund, answer: Answer, key: SigningKey) -> None:
    receipt = refund.receipt
    _restore(refund, receipt)
    processing = _refunds().filter(pk=refund.pk, state=State.PROCESSING)
    if not processing.update(state=State.DONE, reference=answer.reference, settled_at=now_datetime()):
        transaction.set_rollback(True, using=rows.database())
        return
    _write_receipt(refund, receipt, key)


def _undo(refund: Refund, answer: Answer) -> None:
    processing = _refunds().filter(pk=refund.pk, state=State.PROCESSING)
    changed = {"answer": answer.reason, "reference": answer.reference, "settled_at": now_datetime()}
    if processing.update(state=State.DECLINED, **changed):
        charge = _receipts().filter(pk=refund.receipt_id, refunded__gte=refund.amount)
        charge.update(refunded=F("refunded") - refund.amount)


def _restore(refund: Refund, receipt: Receipt) -> None:
    if refund.is_automatic or conf.get("REFUND_RESTORES_MANDATE"):
        restore(receipt.grants, refund.amount)


def _write_receipt(refund: Refund, receipt: Receipt, key: SigningKey) -> None:
    parties = ReceiptParty.objects.using(rows.database()).filter(receipt=receipt.pk)
    entry = Entry(
        id=refund.refund_receipt,
        kind=Receipt.Kind.REFUND,
        action=receipt.action,
        request_id=refund.request_id,
        agent=receipt.agent,
        grants=receipt.grants,
        parties=sorted(parties.values_list("party", flat=True)),
        item=receipt.item,
        amount=refund.amount,
        currency=refund.currency,
        refund_of=receipt.pk,
        reason=refund.reason or None,
    )
    entries.write([entry], receipt.site, key)


def _in_transaction(work: Callable[[], Any]) -> None:
    with begun():
        work()


def _pause() -> timedelta:
    """When the sweep asks, if nobody did before: the provider has its time first."""
    return timedelta(seconds=conf.get("PAYMENT_TIMEOUT_SECONDS") + SPARE_SECONDS)


def _receipts() -> QuerySet[Receipt]:
    return Receipt.objects.using(rows.database())


def _refunds() -> QuerySet[Refund]:
    return Refund.objects.using(rows.database())


def _payments() -> QuerySet[Payment]:
    return Payment.objects.using(rows.database())
