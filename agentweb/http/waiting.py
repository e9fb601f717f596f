"""Threads of a WSGI worker that wait: for an event of a stream, or for a page in somebody's browser.

They must leave others to answer with, or what they wait for never comes. So streams and waiting calls together take
at most STREAM_THREADS, half of the server's; a call may take its half while streams have theirs, and the streams
then end early.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agentweb import conf
from agentweb.wire.errors import Code, ServerError


class Threads:
    """How many threads of this process wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams = 0
        self._calls = 0

    def enter_stream(self) -> bool:
        """Take a thread for a stream; False when there is none to spare."""
        with self._lock:
            if self._streams + self._calls >= conf.get("STREAM_THREADS"):
                return False
            self._streams += 1
            return True

    def leave_stream(self) -> None:
        with self._lock:
            self._streams -= 1

    def are_short(self) -> bool:
        """Whether more wait than should, so that streams end early."""
        most: int = conf.get("STREAM_THREADS")
        return self._streams + self._calls > most

    def check_call(self) -> None:
        """Raise unavailable when as many calls wait as may."""
        # One always may: a server has at least two threads, or nobody could ever answer the call.
        if self._calls >= max(1, conf.get("STREAM_THREADS")):
            raise ServerError(
                Code.UNAVAILABLE,
                "The site waits for as many pages as it can; repeat the call in a moment.",
                retry_after=1,
            )

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call that waits in the block."""
        with self._lock:
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1


threads: Final = Threads()
