"""Threads of a process that wait: for an event of a stream, or for a page in somebody's browser.

A WSGI worker's are few. Those that wait must leave others to answer with, or what they wait for never comes. So streams
and waiting calls together take at most STREAM_THREADS, half of the server's; a call may take its half while streams
have theirs, and the streams then end early. Under ASGI a call that waits has a thread of its own, and a process has at
most BRIDGE_CALLS_PER_PROCESS of them.

Who wants a place takes it in one step, and has it or not: none is looked at first and taken later.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

from agentweb import conf
from agentweb.wire.errors import Code, ServerError


class Place:
    """A thread that a call may wait in; given back at the end of a ``with`` block, or when nobody knows it any more.

    The latter is for a call whose transaction fails: it is never waited for, and nobody is told.
    """

    __slots__ = ("__weakref__", "_leave")

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave = weakref.finalize(self, leave)
        self._leave.atexit = False

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *raised: Any) -> None:
        self._leave()


class Threads:
    """How many threads of this process wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams = 0
        # Sets and no numbers: the garbage collector may give a place back at any time, the lock's holder's too.
        self._calls: dict[bool, set[object]] = {True: set(), False: set()}

    def enter_stream(self) -> bool:
        """Take a thread for a stream; False when there is none to spare."""
        with self._lock:
            if self._streams + len(self._calls[True]) >= conf.get("STREAM_THREADS"):
                return False
            self._streams += 1
            return True

    def leave_stream(self) -> None:
        with self._lock:
            self._streams -= 1

    def are_short(self) -> bool:
        """Whether more wait than should, so that streams end early."""
        most: int = conf.get("STREAM_THREADS")
        return self._streams + len(self._calls[True]) > most

    def take_call(self, *, is_threaded: bool) -> Place:
        """A place for a call that waits, in one of the server's few threads or not. Raises unavailable without one."""
        # One always may: a server has at least two threads, or nobody could ever answer the call.
        most = max(1, conf.get("STREAM_THREADS")) if is_threaded else conf.get("BRIDGE_CALLS_PER_PROCESS")
        held, mine = self._calls[is_threaded], object()
        with self._lock:
            is_taken = len(held) < most
            if is_taken:
                held.add(mine)
        if not is_taken:
            raise ServerError(
                Code.UNAVAILABLE,
                "The site waits for as many pages as it can; repeat the call in a moment.",
                retry_after=1,
            )
        return Place(lambda: held.discard(mine))


threads: Final = Threads()
