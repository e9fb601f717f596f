"""Bringing to an end what a payment provider had not answered, or nobody came back for.

A worker, a task of Celery and a command call ``sweep``; a webhook calls ``settle`` for one. Each may run in several
processes at once, beside retries of the very calls, and be killed at any moment: the conditional updates of
``payments`` and ``refunds`` decide who does what.

Nothing is given up because nobody answers. A reservation is released when the provider says that it declined, or, after
PAYMENT_ABANDONED_MINUTES, when it says that it has cancelled the charge and takes no money for it any more. A captured
charge whose call has not come back by then is refunded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.db.models import F, QuerySet

from agentweb import conf
from agentweb.access import rows, site_keys
from agentweb.access.database import begun, patiently, write_patiently
from agentweb.ledger import payments, providers, refunds
from agentweb.ledger.payment_models import Payment, Refund
from agentweb.ledger.providers import State as Outcome
from agentweb.wire.clock import now_datetime
from agentweb.wire.signing import SigningKey

logger = logging.getLogger("agentweb.payments")

MOST: Final = 200
"""Payments, and refunds, that one sweep looks at."""
_FIRST_PAUSE_SECONDS: Final = 30
_LONGEST_PAUSE_SECONDS: Final = 3_600

State = Payment.State
_UNSETTLED: Final = (State.PENDING, State.CAPTURED)


@dataclass(slots=True)
class Swept:
    """``ended``: how many payments and refunds came to an end, by what they are now; ``left``: how many did not."""

    ended: dict[str, int] = field(default_factory=dict)
    left: int = 0

    def count(self, what: str) -> None:
        self.ended[what] = self.ended.get(what, 0) + 1


@dataclass(frozen=True, slots=True)
class Unsettled:
    """What is not at its end: payments and refunds, and since when the oldest of them that should be."""

    payments: int
    refunds: int
    late_since: datetime | None


def sweep(stopping: Callable[[], bool] = lambda: False) -> Swept:
    """Look at everything that is due, once each; several at once share the work."""
    swept = Swept()
    at = now_datetime()
    untold = _payments().filter(state=State.DECLINED, is_wanted=True, created_at__lt=at - _abandoned_after())
    if untold.exists():
        write_patiently(lambda: untold.update(is_wanted=False))
    due = _payments().filter(state__in=_UNSETTLED, next_at__lte=at).order_by("next_at")
    for payment in due[:MOST]:
        if stopping():
            return swept
        if _is_mine(_payments(), payment):
            _count(swept, payment.pk, partial(_settle, payment))
    waiting = _refunds().filter(state=Refund.State.PROCESSING, next_at__lte=at).order_by("next_at")
    for refund in waiting[:MOST]:
        if stopping():
            return swept
        if _is_mine(_refunds(), refund):
            _count(swept, refund.pk, partial(_carry_out, refund.pk))
    return swept


def settle(ident: str) -> None:
    """Look at one payment or refund now; nothing, for an id that is none.

    Also at one that took no money: a provider that has taken it all the same is told to people.
    """
    if ident.startswith("rf_"):
        if _refunds().filter(pk=ident[:64]).exists():
            refunds.carry_out(ident)
        return
    payment = _payments().filter(pk=ident[:64]).first()
    if payment is not None and payment.state in _UNSETTLED:
        _settle(payment)
    elif payment is not None and payment.state in payments.OVER:
        answer = providers.find(providers.remembered(payment.provider), payment.pk)
        if answer.state is Outcome.CAPTURED:
            payments.capture(payment, answer)  # which says aloud that it is too late


def unsettled() -> Unsettled:
    """How it stands now, for whoever watches."""
    open_payments = _payments().filter(state__in=_UNSETTLED)
    processing = _refunds().filter(state=Refund.State.PROCESSING)
    late = now_datetime() - 2 * _abandoned_after()
    oldest = [
        since
        for found in (open_payments, processing)
        if (
            since := found.filter(created_at__lt=late)
            .order_by("created_at")
            .values_list("created_at", flat=True)
            .first()
        )
    ]
    return Unsettled(open_payments.count(), processing.count(), min(oldest, default=None))


def _count(swept: Swept, ident: str, work: Callable[[], str]) -> None:
    """One that fails keeps nobody from the others."""
    try:
        what = work()
    except Exception:
        logger.exception("%s could not be settled; it is looked at again later", ident)
        what = ""
    if what:
        swept.count(what)
    else:
        swept.left += 1


def _is_mine(found: QuerySet[Payment] | QuerySet[Refund], row: Payment | Refund) -> bool:
    """Of several sweeps one looks at a row, and the next one later: after longer and longer."""
    pause = min(_FIRST_PAUSE_SECONDS * 2 ** min(row.asked, 10), _LONGEST_PAUSE_SECONDS)
    later = {"next_at": now_datetime() + timedelta(seconds=pause), "asked": F("asked") + 1}
    return bool(write_patiently(lambda: found.filter(pk=row.pk, next_at=row.next_at).update(**later)))


def _carry_out(refund_id: str) -> str:
    refund = refunds.carry_out(refund_id)
    return "" if refund.state == Refund.State.PROCESSING else f"refund_{refund.state}"


def _settle(payment: Payment) -> str:
    """What has become of it; "" when it is open still."""
    if payment.state == State.PENDING:
        is_sure = _ask(payment)
        payment.refresh_from_db()
        if not is_sure or payment.state != State.CAPTURED:
            return "" if payment.state in _UNSETTLED else f"payment_{payment.state}"
    if not _is_over(payment):
        return ""
    key = site_keys.active_key()
    for refund in patiently(partial(_give_back, payment, key)):
        refunds.carry_out(refund.pk)
    payment.refresh_from_db()
    return f"payment_{payment.state}"


def _ask(payment: Payment) -> bool:
    """Ask the provider how a pending payment stands, and note it; whether it knew."""
    by = providers.remembered(payment.provider)
    answer, end = providers.find(by, payment.pk), State.DECLINED
    if answer.state in {Outcome.ABSENT, Outcome.PENDING} and _is_over(payment):
        # What was never heard of may be on its way yet: only the provider can see to it that it does not come.
        answer, end = providers.cancel(by, payment.pk), State.CANCELLED
    if answer.state is Outcome.CAPTURED:
        payments.capture(payment, answer)
        return True
    if answer.state is Outcome.DECLINED:
        patiently(partial(_release, payment, end, answer.reason))
        return True
    return False


def _release(payment: Payment, end: State, reason: str) -> None:
    with begun():
        payments.release(payment, end, reason, is_told=end == State.CANCELLED)


def _give_back(payment: Payment, key: SigningKey) -> list[Refund]:
    with begun():
        return payments.give_back([payment], key)


def _is_over(payment: Payment) -> bool:
    return not payment.is_wanted or payment.created_at <= now_datetime() - _abandoned_after()


def _abandoned_after() -> timedelta:
    return timedelta(minutes=conf.get("PAYMENT_ABANDONED_MINUTES"))


def _payments() -> QuerySet[Payment]:
    return Payment.objects.using(rows.database())


def _refunds() -> QuerySet[Refund]:
    return Refund.objects.using(rows.database())
