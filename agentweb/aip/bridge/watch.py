"""Waiting for pages: one thread of the process looks for the answers to all calls that wait in it.

So a call that waits holds no connection to the database, however many there are.
"""

from __future__ import annotations

import logging
import threading
import time
from datetime import datetime
from typing import Final

from django.db import connections

from agentweb.aip.bridge import authority, logins, open_pages
from agentweb.aip.models import BrowserCall
from agentweb.wire.clock import now_datetime

logger = logging.getLogger("agentweb.aip")

POLL_SECONDS: Final = 0.2
LOGIN_SECONDS: Final = 1.0
"""How often the logins are looked at whose pages are waited for."""

_State: Final = BrowserCall.State
_OPEN: Final = (_State.WAITING, _State.SENT)


class Watch:
    """Runs while something waits, and not without."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, threading.Event] = {}
        self._woken = threading.Event()
        self._is_running = False
        self._looks_at = 0.0

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
                if time.monotonic() >= self._looks_at:
                    self._looks_at = time.monotonic() + LOGIN_SECONDS
                    _close_without_login(calls)
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


def _close_without_login(calls: list[str]) -> None:
    """Close the pages of these calls whose login is over, so that nobody waits for them."""
    pages = list(BrowserCall.objects.filter(pk__in=calls, state__in=_OPEN).values_list("page_id", flat=True))
    open_pages.close([*(set(pages) - logins.still_there(open_pages.logins(pages)).keys())])


def _over(calls: list[str]) -> list[str]:
    """Those of the calls that nobody needs to wait for any longer; what is revoked is dropped before it is sent."""
    at = now_datetime()
    rows: dict[str, tuple[str, datetime, str]] = {
        pk: (state, until, idents)
        for pk, state, until, idents in BrowserCall.objects.filter(pk__in=calls).values_list(
            "pk", "state", "page__connected_until", "idents"
        )
    }
    dropped = _drop_revoked({pk: row[2] for pk, row in rows.items() if row[0] == _State.WAITING})
    ended = (_State.DONE, _State.DROPPED)
    return [
        call
        for call in calls
        if call not in rows or call in dropped or rows[call][0] in ended or rows[call][1] <= at
    ]


def _drop_revoked(waiting: dict[str, str]) -> set[str]:
    """Of the calls (id to idents) those whose authority was revoked; no stream takes them any more."""
    revoked = authority.revoked_among(set(waiting.values()))
    found = {call for call, idents in waiting.items() if idents in revoked}
    if found:
        rows = BrowserCall.objects.filter(pk__in=found, state=_State.WAITING)
        rows.update(state=_State.DROPPED, answer=authority.REVOKED, input="")
    return found


watch: Final = Watch()
