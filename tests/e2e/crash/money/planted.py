"""Bugs in what moves money, which the harness has to catch. See ``tests.e2e.crash.planted``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

from tests.e2e.crash.money.oracle import Rule
from tests.e2e.crash.plan import MONEY
from tests.e2e.crash.planted import Bug, replace

_A_MOMENT: Final = 0.1


def _after_the_commit(module: Any, name: str, answer: Callable[..., Any] = lambda *_: None) -> None:
    """What belongs into the transaction is done in one of its own behind it."""
    from django.db import transaction

    truly = getattr(module, name)

    def later(*args: Any, **kwargs: Any) -> Any:
        def do() -> None:
            time.sleep(_A_MOMENT)
            with transaction.atomic():
                truly(*args, **kwargs)

        transaction.on_commit(do)
        return answer(*args)

    replace(module, name, later)


def _charge_before_reservation() -> None:
    """The provider is asked for a charge before anything of it is written down."""
    from agentweb.invoke.paying import Purchase
    from agentweb.ledger import payments, providers
    from agentweb.ledger.providers import ChargeOrder
    from agentweb.wire.encoding import random_id

    mine = threading.local()
    truly = Purchase._reserve
    ident_of = payments._ident

    def reserve(self: Any, purse: Any, unpaid: Any, seconds: float) -> Any:
        mine.ident = random_id("rc_")
        wanted, call = unpaid.wanted, self.call
        order = ChargeOrder(
            id=mine.ident,
            amount=wanted.amount,
            currency=wanted.currency,
            item=wanted.item,
            site=call.site,
            action=call.action.name,
            request_id=call.request_id,
            agent=call.caller.subject,
            grant=call.caller.grant.id,
            user_id="",
            metadata=wanted.metadata,
        )
        providers.charge(purse.by, order)
        try:
            return truly(self, purse, unpaid, seconds)
        finally:
            mine.ident = None

    def ident(*args: Any) -> str:
        return getattr(mine, "ident", None) or ident_of(*args)

    replace(Purchase, "_reserve", reserve)
    replace(payments, "_ident", ident)


def _silence_is_no() -> None:
    """A provider that does not answer in time is taken for one that declined."""
    from agentweb.ledger import payments
    from agentweb.ledger.providers import Answer, State

    truly = payments.charge

    def charge(payment: Any) -> Answer:
        answer = truly(payment)
        return Answer(State.DECLINED) if answer.state is State.UNKNOWN else answer

    replace(payments, "charge", charge)


def _receipt_outside() -> None:
    """The receipt of a charge is written when the charge has committed."""
    from agentweb.ledger import receipts

    _after_the_commit(receipts, "append", lambda *_: [])


def _answer_outside() -> None:
    """The answer is kept when what it tells of has committed."""
    from agentweb.invoke import idempotency

    _after_the_commit(idempotency, "finish")


def _agreement_outside() -> None:
    """An agreement is looked at before the charge, and marked as used behind it."""
    from django.db import transaction

    from agentweb.ledger import agreements
    from agentweb.models import Agreement
    from agentweb.wire.errors import Code, MoneyError

    def use_up(ident: str, receipt_id: str) -> None:
        if not Agreement.objects.filter(pk=ident, receipt=None).exists():
            raise MoneyError(Code.AGREEMENT_USED, "Used.", agreement=ident)

        def mark() -> None:
            time.sleep(_A_MOMENT)
            Agreement.objects.filter(pk=ident).update(receipt=receipt_id)

        transaction.on_commit(mark)

    replace(agreements, "use_up", use_up)


def _refund_check_then_act() -> None:
    """What is left of a charge is read, compared, and written back."""
    from agentweb.ledger import refunds

    def reserve(receipt: Any, amount: int) -> None:
        if amount > refunds.remaining(receipt):
            raise refunds.exceeds(refunds.remaining(receipt), receipt.currency)
        receipt.refunded += amount
        receipt.save(update_fields=["refunded"])

    replace(refunds, "_reserve", reserve)


def _use_check_then_act() -> None:
    """How often a grant was used is read, compared, and counted up, and the row is locked only then."""
    from django.db.models import F

    from agentweb.ledger import charges
    from agentweb.models import Mandate

    def count_use(grant_id: str, now: Any) -> bool:
        row = Mandate.objects.filter(pk=grant_id, revoked_at=None, expires_at__gt=now).first()
        if row is None or (row.max_uses is not None and row.uses >= row.max_uses):
            return False
        time.sleep(_A_MOMENT / 5)
        return bool(Mandate.objects.filter(pk=grant_id).update(uses=F("uses") + 1))

    replace(charges, "_count_use", count_use)


BUGS: Final[dict[str, Bug]] = {
    "charge-before-reservation": Bug(Rule.TAKEN, _charge_before_reservation, scenario=MONEY),
    "silence-is-no": Bug(Rule.TAKEN, _silence_is_no, scenario=MONEY),
    "receipt-outside": Bug(Rule.LOST, _receipt_outside, scenario=MONEY),
    "answer-outside": Bug(Rule.DONE_TWICE, _answer_outside, scenario=MONEY),
    "agreement-outside": Bug(Rule.AGREEMENT_TWICE, _agreement_outside, scenario=MONEY),
    "refund-check-then-act": Bug(Rule.OVER_REFUNDED, _refund_check_then_act, scenario=MONEY),
    "use-check-then-act": Bug(Rule.USED_TWICE, _use_check_then_act, scenario=MONEY),
}
