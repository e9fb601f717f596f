"""Waiting for pages: one thread of the process looks for the answers to all calls that wait in it.

So a call that waits holds no connection to the database, however many there are.
"""

from __future__ import annotations

import logging
import threading
from datetime import datetime
from typing import Final

from django.db import connections

from agentweb.aip.models import BrowserCall
from agentweb.wire.clock import now_datetime

logger = logging.getLogger("agentweb.aip")

POLL_SECONDS: Final = 0.2


class Watch:
    """Runs while something waits, and not without."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, threading.Event] = {}
        self._woken = threading.Event()
        self._is_running = False

    def wait(self, call: str, seconds: float) -> None:
        """Return when the call was answered or its page is gone, and after so many seconds at the latest."""
        found = threading.Event()
        with self._lock:
            self._waiting[call] = found
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="agentweb-bridge", daemon=True).start()
        try:
            found.wait(seconds)
        finally:
            with self._lock:
                self._waiting.pop(call, None)

    def hurry(self) -> None:
        """Look at once: something was answered in this process."""
        self._woken.set()

    def _run(self) -> None:
        while True:
            with self._lock:
                calls = list(self._waiting)
                if not calls:
                    self._is_running = False
                    break
            self._woken.clear()
            try:
                over = _over(calls)
            except Exception:
                # The database may be back at the next turn; until then nobody waits longer than they would have.
                logger.warning("Could not look for the answers of pages", exc_info=True)
                connections.close_all()
                over = []
            with self._lock:
                for call in over:
                    if call in self._waiting:
                        self._waiting.pop(call).set()
                is_idle = not self._waiting
            if not is_idle:
                self._woken.wait(POLL_SECONDS)
        connections.close_all()


def _over(calls: list[str]) -> list[str]:
    """Those of the calls that nobody needs to wait for any longer."""
    at = now_datetime()
    rows: dict[str, tuple[str, datetime]] = {
        pk: (state, until)
        for pk, state, until in BrowserCall.objects.filter(pk__in=calls).values_list(
            "pk", "state", "page__connected_until"
        )
    }
    return [
        call
        for call in calls
        if call not in rows or rows[call][0] == BrowserCall.State.DONE or rows[call][1] <= at
    ]


watch: Final = Watch()
