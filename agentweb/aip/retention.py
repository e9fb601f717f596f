"""Deleting rows of the browser bridge that nobody waits for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from agentweb.access.rows import delete_in_batches
from agentweb.aip.models import BrowserCall, OpenPage

_HOUR: Final = timedelta(hours=1)


def clear_expired(at: datetime) -> dict[str, int]:
    """Delete calls that were over an hour ago, and pages that were closed before these; rows deleted of each kind."""
    return {
        "browser_calls": delete_in_batches(BrowserCall.objects.filter(deadline__lt=at - _HOUR)),
        "open_pages": delete_in_batches(OpenPage.objects.filter(connected_until__lt=at - 2 * _HOUR)),
    }
