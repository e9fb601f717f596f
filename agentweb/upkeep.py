"""What keeps a running site in order: settling payments, and deleting what is over.

Whoever has time for it calls these: a command, a task of Celery, cron. Each of them may be called by several processes
at once, and killed at any moment.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from agentweb import conf, rooms
from agentweb.access import retention
from agentweb.access.rows import delete_in_batches
from agentweb.aim import consumers
from agentweb.aim.periods import RETENTION_SECONDS
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.ledger import settling
from agentweb.ledger.payment_models import Payment
from agentweb.ledger.periods import PAYMENTS_SECONDS
from agentweb.ledger.settling import Swept
from agentweb.wire.clock import now_datetime

_RETENTION: Final = "retention"
_PAYMENTS: Final = "payments"
_TO_NOTHING: Final = (Payment.State.DECLINED, Payment.State.CANCELLED)


def clear_expired() -> dict[str, int]:
    """Delete what is over, of all floors and of every room that is on; rows deleted of each kind."""
    at = now_datetime()
    audited_before = at - timedelta(days=conf.get("AUDIT_DAYS"))
    return {
        **retention.clear_expired(at),
        **rooms.clear_expired(at),
        "idempotency_records": delete_in_batches(IdempotencyRecord.objects.filter(expires_at__lt=at)),
        "payments": delete_in_batches(
            Payment.objects.filter(state__in=_TO_NOTHING, is_wanted=False, created_at__lt=audited_before)
        ),
        "audit_entries": delete_in_batches(AuditEntry.objects.filter(at__lt=audited_before)),
    }


def clear_expired_if_due(stopping: Callable[[], bool]) -> dict[str, int] | None:
    """``clear_expired``, unless somebody did within the last ``RETENTION_SECONDS``, or is at it; None then."""
    if stopping() or not consumers.take_turn(_RETENTION, RETENTION_SECONDS):
        return None
    return clear_expired()


def settle_payments_if_due(stopping: Callable[[], bool]) -> Swept | None:
    """Look at the payments and refunds that are not at their end; None when somebody did within the last
    ``PAYMENTS_SECONDS``, or is at it."""
    if stopping() or not consumers.take_turn(_PAYMENTS, PAYMENTS_SECONDS):
        return None
    return settling.sweep(stopping)
