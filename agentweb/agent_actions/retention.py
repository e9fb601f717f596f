"""Closing negotiations that are over, and deleting what is as old as the audit log."""

from __future__ import annotations

from datetime import datetime, timedelta

from agentweb import conf
from agentweb.ledger import agreements
from agentweb.negotiation import moves


def clear_expired(at: datetime) -> dict[str, int]:
    """Rows deleted of each kind. Receipts keep the ids of the agreements that they were paid under."""
    logged_before = at - timedelta(days=conf.get("AUDIT_DAYS"))
    return {
        "negotiations": moves.clear(at, logged_before),
        "agreements": agreements.clear(logged_before),
    }
