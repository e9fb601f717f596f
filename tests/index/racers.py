"""What the processes of the index's races do; see tests/support/races.py."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from typing import Any

from django.test import override_settings

from agentweb.index import crawl, store
from agentweb.index.models import IndexedEntry, IndexedSite
from agentweb.wire.clock import now_datetime
from tests.index.sites import is_sound

_HERE = override_settings(
    AGENTWEB={
        "ORIGIN": "https://index.example",
        "ROOMS": ["index", "agent_actions"],
        "INDEX": {"ALLOW_HOSTS": ["127.0.0.1"]},
    }
)


def look(url: str) -> bool:
    """Name a site and look at it; whether this process was the one that did."""
    with _HERE:
        asking = crawl.transport()
        try:
            found = crawl.look(crawl.row_for(url), asking)
        finally:
            asking.close()
        return found is not None and found.error is None


def look_and_die(url: str) -> None:
    """Die by SIGKILL when everything is written, and nothing is committed."""

    def die(*args: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    store.add_counts = die
    look(url)


def outcome() -> dict[str, Any]:
    rows = list(IndexedSite.objects.values_list("state", flat=True))
    return {"states": rows, "entries": IndexedEntry.objects.count(), "is_sound": is_sound()}


def let_time_pass() -> None:
    IndexedSite.objects.update(leased_until=now_datetime() - timedelta(seconds=1))
