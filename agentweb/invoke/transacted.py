"""One run of a handler in its transaction: afterwards everything of it holds, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction

from agentweb.access.database import begun
from agentweb.catalog.actions import Effect
from agentweb.invoke import audit, consent, failures, handlers, idempotency, results, transactions
from agentweb.invoke.calls import Call
from agentweb.invoke.later import Later
from agentweb.ledger import charges, payments, receipts
from agentweb.ledger.payment_models import Refund
from agentweb.signals import receipt_issued
from agentweb.wire.errors import AgentError
from agentweb.wire.json_types import Json
from agentweb.wire.signing import SigningKey

Receipts = tuple[dict[str, Any], ...]


@dataclass(slots=True)
class Done:
    """What a transaction comes to; it holds once ``is_committed``. ``refunds`` are to be carried out afterwards."""

    refusal: AgentError | None = None
    body: bytes = b""
    receipts: Receipts = ()
    later: Later | None = None
    refunds: tuple[Refund, ...] = ()
    is_committed: bool = False


def run(
    call: Call,
    entry: audit.Audit,
    value: Json,
    lease: idempotency.Lease | None,
    till: charges.Till | None,
    signing_key: SigningKey | None,
    done: Done,
) -> None:
    """Begins with the right to write and the fence of the key, and ends with the last lock, the receipt head.

    Raises Unpaid, with everything rolled back, at a charge that a payment provider has to be asked for first.
    """
    asking = consent.Consent(call, value, till.ceiling if till is not None else None)
    purse = None if till is None else till.purse
    is_final = True
    with begun(None if lease is None else partial(idempotency.enter, lease)):
        # Before any callback of the handler's, so that one that fails cannot keep it from being told.
        transaction.on_commit(partial(_committed, call, done), robust=True)
        try:
            with transactions.inner(call.action.name):
                if purse is not None and purse.holds_use:
                    charges.hold(call.caller)
                else:
                    charges.enter(call.caller, spends=till is not None)
                if till is not None:
                    reserved = 0 if purse is None else purse.reserved
                    till.open(charges.check_declared(call.caller, till.ceiling, reserved))
                is_asked = asking.is_needed and not (purse is not None and purse.holds_approval)
                with transactions.undivided(call.action.name):
                    result = handlers.run(call, value, till=till, consent=asking.use if is_asked else None)
                if isinstance(result, Later):
                    done.later = _without_money(call, result)
                else:
                    done.body = results.encode(result, call.label, call.action.output)
                _check_whole(call, till)
        except handlers.Refusal as refusal:
            if purse is not None and purse.asked is not None:
                # It swallowed the signal and refused: what it would say if it was paid, nobody knows yet.
                raise purse.asked from None
            done.refusal = refusal.error
            # "Come again" is no final answer: the same key is to get another one.
            is_final = refusal.error.retry_after is None and refusal.error.status != 429
        except consent.Missing:
            # What was taken before (a use, a lock) is given back; the question alone stays.
            done.refusal, is_final = asking.ask(), False
        if till is not None and signing_key is not None:
            _settle(call, till, signing_key, done)
        if done.later is not None:
            if lease is not None:
                idempotency.hold(lease, done.later.seconds, done.later.reference)
            entry.close(status=202, outcome=audit.WAITING)
            return
        status = done.refusal.status if done.refusal is not None else 200
        if lease is not None:
            if done.refusal is None:
                idempotency.finish(lease, status=status, body=done.body.decode())
            elif is_final:
                idempotency.finish(lease, status=status, body=failures.error_text(done.refusal, call))
            else:
                idempotency.free(lease)
        entry.close(status=status, outcome=done.refusal.code if done.refusal is not None else audit.OK)


def _settle(call: Call, till: charges.Till, key: SigningKey, done: Done) -> None:
    """The receipts of what was charged; what a provider has taken and the handler did not charge is given back."""
    used = till.charges if done.refusal is None else []
    if till.purse is not None:
        found = list(till.purse.payments.values())
        refunds = payments.finish(till.purse, used, key, is_done=done.refusal is None)
        done.refunds = tuple(refunds)
        if done.refusal is not None and found:
            done.refusal.extra["payments"] = payments.as_told(found, refunds)
    if used:
        occasion = receipts.Occasion(call.site, call.action.name, call.request_id, call.caller)
        done.receipts = tuple(receipts.append(used, occasion, key))


def _check_whole(call: Call, till: charges.Till | None) -> None:
    """Refuse to commit half of a handler's work: what it swallowed may have undone a part of it."""
    if transaction.get_rollback():
        raise RuntimeError(
            f"{call.action.name} swallowed a database error, so its transaction cannot commit. "
            "Put the statement that may fail into its own transaction.atomic()."
        )
    if till is not None:
        till.close()


def _without_money(call: Call, later: Later) -> Later:
    if call.action.effect is Effect.SPEND:
        raise RuntimeError(
            f"{call.action.name} spends, so its answer and its receipt commit together, not later."
        )
    return later


def _committed(call: Call, done: Done) -> None:
    done.is_committed = True
    for document in done.receipts:
        receipt_issued.send_robust(sender=call.action.name, receipt=document)
