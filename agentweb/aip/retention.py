"""Deleting rows of the browser bridge that nobody waits for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from agentweb.access.rows import delete_in_batches
from agentweb.aip.models import BrowserCall, OpenPage

FORGOTTEN: Final = timedelta(minutes=10)
"""How long after its end a page or call is kept at most: longer than anybody waits for one."""


def clear_expired(at: datetime) -> dict[str, int]:
    """Delete calls and pages that ended some minutes ago, with all that the pages published; rows deleted of each."""
    long_ago = at - FORGOTTEN
    return {
        "browser_calls": delete_in_batches(BrowserCall.objects.filter(deadline__lt=long_ago)),
        "open_pages": delete_in_batches(OpenPage.objects.filter(connected_until__lt=long_ago)),
    }
