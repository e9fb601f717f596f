"""A spend through a payment provider: the handler runs until everything that it charges was captured, and commits then.

See ``ledger.payments`` for what is committed in between. What ends the call otherwise:

========================= ====================================================================================
the provider declined     402 ``payment_declined``, kept as the answer; what was reserved is given back
it is not known           503 ``payment_unknown``; the same call with the same key goes on with the same charge
the handler refused       its refusal, kept as the answer; what was captured is refunded in full
the handler crashed       500, and the key is free; what was captured is refunded in full
its charge kept changing  409 ``conflict``, and the key is free; what was captured is refunded in full
the database was busy     503 ``unavailable``; the same call goes on with what was captured
the process died          nothing; the same call goes on with what it finds
========================= ====================================================================================

Where money was taken and goes back, the error has ``payments``: ``[{"charge": "rc_…", "refund": "rf_…"}]``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from django.db import DatabaseError, InterfaceError

from agentweb import conf
from agentweb.access import site_keys
from agentweb.access.database import begun, is_passing, patiently, write_patiently
from agentweb.invoke import audit, consent, costs, failures, idempotency, transacted
from agentweb.invoke.calls import Call, Outcome
from agentweb.ledger import payments, providers, refunds
from agentweb.ledger.charges import MAX_CHARGES, Till
from agentweb.ledger.payment_models import Payment, Refund
from agentweb.ledger.payments import Moved, Purse, Unpaid
from agentweb.ledger.providers import State as Outside
from agentweb.ledger.receipts import Occasion
from agentweb.wire.errors import AgentError, Code, ConflictError, MoneyError, ServerError
from agentweb.wire.json_types import Json
from agentweb.wire.signing import SigningKey

logger = logging.getLogger("agentweb.payments")

POLL_SECONDS: Final = 5
"""When to ask again for a payment whose end is not known."""
_ROUNDS: Final = 3 * MAX_CHARGES
_MOST_FOR_NOTHING: Final = 1
"""How often a call may take money that its next run does not want. A price may change once in between; a handler that
charges something else in every run, or a cart that others fill meanwhile, would take and give back without end."""


def act(call: Call, entry: audit.Audit, value: Json, lease: idempotency.Lease) -> Outcome:
    """The outcome of the call; raises an AgentError for every other end."""
    done = transacted.Done()
    try:
        purchase = Purchase(call, entry, value, lease, site_keys.active_key(), idempotency.intent_of(lease))
    except Exception as error:
        failure = failures.failure_of(call, error)
        failures.undo(entry, lease, failure)
        raise failure from error
    try:
        done = purchase.run()
    except Exception as error:
        raise purchase.fail(error) from error
    if done.refusal is not None:
        raise done.refusal
    return Outcome(body=done.body, receipts=done.receipts)


class Declined(Exception):
    """The provider takes no money for this payment."""

    def __init__(self, payment: Payment, reason: str) -> None:
        super().__init__(reason)
        self.payment = payment
        self.reason = reason


@dataclass(slots=True)
class Purchase:
    """One such call. ``intent`` names it in the rows of its payments."""

    call: Call
    entry: audit.Audit
    value: Json
    lease: idempotency.Lease
    key: SigningKey
    intent: str
    purse: Purse | None = field(default=None)
    taken: set[str] = field(default_factory=set)
    """Ids of the payments that were captured by this very run of the call."""
    for_nothing: int = 0

    def run(self) -> transacted.Done:
        """Run the handler, and pay, until a run commits. Raises what ended it."""
        by = providers.configured()
        if by is None:
            raise RuntimeError("AGENTWEB['PAYMENTS'] was taken out of the settings meanwhile.")
        ceiling = costs.ceiling_of(self.call.action, self.value)
        for _ in range(_ROUNDS):
            if self.purse is not None:
                # A provider was asked, which may have taken longer than a key that was replaced still counts.
                self.key = site_keys.active_key()
            self.purse = payments.open_purse(self.intent, by, self.call.caller)
            if self.purse.others:
                _carry_out(patiently(partial(self._end, self.purse.others)))
                continue
            if self.purse.declined is not None:
                raise Declined(self.purse.declined, self.purse.declined.reason)
            done = transacted.Done()
            till = Till(self.call.caller, ceiling, purse=self.purse)
            try:
                patiently(partial(self._handle, till, done))
            except Unpaid as unpaid:
                self._pay(self.purse, unpaid)
                continue
            except Moved:
                continue
            except Exception as error:
                if not done.is_committed:
                    raise
                # A callback that the handler left for after the commit: what was done is done, and so is answered.
                logger.error("A callback of %s failed", self.call.label, exc_info=error)
            _carry_out(done.refunds)
            return done
        raise self._unsteady()

    def _handle(self, till: Till, done: transacted.Done) -> None:
        transacted.run(self.call, self.entry, self.value, self.lease, till, self.key, done)

    # -- paying

    def _pay(self, purse: Purse, unpaid: Unpaid) -> None:
        """Bring one charge forward, so that the next run comes further. Raises Declined, and payment_unknown."""
        if unpaid.is_other:
            if unpaid.found is not None and unpaid.found.id in self.taken:
                self.for_nothing += 1
                if self.for_nothing > _MOST_FOR_NOTHING:
                    raise self._unsteady()
            behind = [each for at, each in purse.payments.items() if at >= unpaid.wanted.ordinal]
            _carry_out(patiently(partial(self._end, behind)))
            return
        timeout: int = conf.get("PAYMENT_TIMEOUT_SECONDS")
        seconds = timeout + refunds.SPARE_SECONDS
        payment = unpaid.found
        if payment is None:
            try:
                payment = patiently(partial(self._reserve, purse, unpaid, seconds))
            except (Moved, consent.Missing):
                return
        else:
            write_patiently(partial(idempotency.enter, self.lease, seconds))
        answer = payments.charge(payment)
        if answer.state is Outside.CAPTURED:
            payments.capture(payment, answer)
            self.taken.add(payment.id)
        elif answer.state is Outside.DECLINED:
            raise Declined(payment, answer.reason)
        else:
            raise ServerError(
                Code.PAYMENT_UNKNOWN,
                "It is not known yet whether the payment went through. Repeat the same call with the same "
                "Idempotency-Key: nothing is paid twice.",
                retry_after=POLL_SECONDS,
                payments=[{"charge": payment.id, "refund": None}],
            )

    def _unsteady(self) -> ConflictError:
        """Either what is bought changes at this moment, or the handler is wrong; the log learns of both."""
        logger.warning(
            "%s charged for something else each time that it ran. Where nothing changed in between, its handler is "
            "wrong: with a payment provider a handler that runs again has to charge the same. An item that names the "
            "key of a row which the handler has just made is such a thing: in each run the row has another.",
            self.call.label,
        )
        return ConflictError(
            Code.CONFLICT,
            "What this call would pay for changed more than once while it was being paid. Nothing was done, and what "
            "was taken goes back in full. Look again at what it would cost, then decide.",
        )

    def _reserve(self, purse: Purse, unpaid: Unpaid, seconds: float) -> Payment:
        call = self.call
        asking = consent.Consent(call, self.value, costs.ceiling_of(call.action, self.value))
        with begun(partial(idempotency.enter, self.lease, seconds)):
            return payments.reserve(
                purse,
                unpaid.wanted,
                Occasion(call.site, call.action.name, call.request_id, call.caller),
                asking.take if asking.is_needed else None,
            )

    def _end(self, found: list[Payment]) -> list[Refund]:
        with begun(partial(idempotency.enter, self.lease)):
            return payments.end(found, self.key)

    # -- coming to nothing

    def fail(self, error: Exception) -> AgentError:
        """Put everything in order that this call has begun; what its caller learns."""
        if isinstance(error, Declined):
            said = (
                f"The payment was declined: {error.reason}" if error.reason else "The payment was declined."
            )
            failure: AgentError = MoneyError(
                Code.PAYMENT_DECLINED,
                f"{said.rstrip('.')}. Nothing was charged; tell the person, and use a new Idempotency-Key when they "
                "want to try again.",
            )
            return self._give_up(failure, error)
        if isinstance(error, AgentError) and error.code == Code.PAYMENT_UNKNOWN:
            logger.warning("%s: it is not known whether its payment went through", self.call.label)
            self._let_go(error)
            return error
        failure = failures.failure_of(self.call, error)
        is_busy = isinstance(error, (DatabaseError, InterfaceError)) and is_passing(error)
        if failure.code == Code.IDEMPOTENCY_IN_PROGRESS:
            self.entry.close(status=failure.status, outcome=failure.code)
        elif is_busy:
            self._let_go(failure)
        else:
            return self._give_up(failure)
        return failure

    def _let_go(self, failure: AgentError) -> None:
        """The same call may come back, and goes on where this one stopped."""
        try:
            write_patiently(partial(idempotency.let_go, self.lease))
            self.entry.close(status=failure.status, outcome=failure.code)
        except (DatabaseError, InterfaceError):
            logger.warning("Could not record the failure of %s", self.call.request_id, exc_info=True)

    def _give_up(self, failure: AgentError, declined: Declined | None = None) -> AgentError:
        try:
            orders = patiently(partial(self._undo, failure, declined))
        except (DatabaseError, InterfaceError):
            # The sweep does it later, or the next call with this key.
            logger.warning("Could not record the failure of %s", self.call.request_id, exc_info=True)
            return failure
        except AgentError as overtaken:
            self.entry.close(status=overtaken.status, outcome=overtaken.code)
            return overtaken
        _carry_out(orders)
        return failure

    def _undo(self, failure: AgentError, declined: Declined | None) -> list[Refund]:
        """Give everything back, keep the answer of a payment that was declined, free the key of anything else."""
        failure.extra.pop("payments", None)
        with suppress(AgentError):  # without a new one, what it had signs what was taken and goes back
            self.key = site_keys.active_key()
        with begun(partial(idempotency.enter, self.lease)):
            if declined is not None:
                payments.release(declined.payment, Payment.State.DECLINED, declined.reason, is_told=True)
            found = payments.wanted(self.intent)
            orders = payments.end(found, self.key)
            if told := payments.as_told(found, orders):
                failure.extra["payments"] = told
            if declined is not None:
                body = failures.error_text(failure, self.call)
                idempotency.finish(self.lease, status=failure.status, body=body)
            else:
                idempotency.free(self.lease)
            self.entry.close(status=failure.status, outcome=failure.code)
            return orders


def _carry_out(orders: Iterable[Refund]) -> None:
    """Have the provider give back what goes back; what does not work now is done by the sweep."""
    for order in orders:
        try:
            refunds.carry_out(order.pk)
        except Exception:
            logger.exception("The refund %s could not be carried out; it is tried again later", order.pk)
