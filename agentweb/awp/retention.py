"""Deleting what is over of the room's rows."""

from __future__ import annotations

from datetime import datetime

from agentweb.awp.analytics import retention as analytics
from agentweb.awp.content import retention as content


def clear_expired(at: datetime) -> dict[str, int]:
    """Delete runs and counts of long ago; rows deleted of each kind."""
    return {**content.clear_expired(at), "agent_requests": analytics.clear(at)}
