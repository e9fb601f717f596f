"""Deleting what no check will ask for again. Nothing is deleted early to save room: limits bound the room."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from agentweb import conf
from agentweb.access import approvals, pairing, revocation_log
from agentweb.access.models import Approval, Bucket, Grant, Mandate, Nonce, Session
from agentweb.access.rows import delete_in_batches

_HOUR_US: Final = 3_600_000_000


def clear_expired(at: datetime) -> dict[str, int]:
    """Delete what is over: nonces, full buckets, revocations of expired grants, requests for sessions, old approvals,
    grants, mandates and sessions; rows deleted of each kind.

    A bucket whose time is past equals one that was never touched. An hour is left, for clocks that differ. Approvals,
    grants and sessions are part of the log: they go with the audit rows of their time, an approval's exact input as
    soon as it is over.
    """
    approvals.close_overdue(at)
    logged_before = at - timedelta(days=conf.get("AUDIT_DAYS"))
    return {
        "nonces": delete_in_batches(Nonce.objects.filter(expires_at__lt=at)),
        "buckets": delete_in_batches(Bucket.objects.filter(tat__lt=int(at.timestamp() * 1e6) - _HOUR_US)),
        "revocations": revocation_log.prune(at),
        "sessions": delete_in_batches(Session.objects.filter(expires_at__lt=logged_before)),
        "pairings": pairing.clear(at),
        # Nothing is booked on an ended grant any more, and receipts hold the texts of what they tell of.
        "mandates": delete_in_batches(Mandate.objects.filter(expires_at__lt=logged_before)),
        "grants": delete_in_batches(Grant.objects.filter(expires_at__lt=logged_before)),
        "approvals": delete_in_batches(Approval.objects.filter(expires_at__lt=logged_before)),
    }
