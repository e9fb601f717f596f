"""Deleting the counts of days that nobody looks at any more."""

from __future__ import annotations

from datetime import datetime, timedelta

from agentweb import conf
from agentweb.access.rows import delete_in_batches
from agentweb.awp.analytics.models import AgentRequests


def clear(at: datetime) -> int:
    """Delete the counts that are older than ANALYTICS_DAYS; how many rows."""
    before = at.date() - timedelta(days=conf.get_in("AWP", "ANALYTICS_DAYS"))
    return delete_in_batches(AgentRequests.objects.filter(day__lt=before))
