"""Threads of a process that wait: for an event of a stream, or for a page in somebody's browser.

A WSGI worker's are few, and how many nobody says. Those that wait must leave others to answer with, or what they wait
for never comes. So streams, waiting calls and polls together take at most STREAM_THREADS, half of the server's, and
polls half of these: by default one, which stops no server that has two threads. Where the half is less than one, a
poll has the only place until a stream wants it. A call may take its half while others have theirs: a poll then ends
early, or the streams do. So no number of polls takes calls and streams their places.

Under ASGI a call that waits has a thread of its own, and so has a poll; a process has at most
BRIDGE_CALLS_PER_PROCESS of each.

One holder has a few polls. One more ends its oldest, which may be waiting for a client that has gone: nobody tells a
thread that waits.

Who wants a place takes it in one step, and has it or not: none is looked at first and taken later.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest

from agentweb import conf
from agentweb.wire.errors import Code, ServerError

POLLS_PER_HOLDER: Final = 3


class Place:
    """A thread that a call may wait in; given back at the end of a ``with`` block, or when nobody knows it any more.

    The latter is for a call whose transaction fails: it is never waited for, and nobody is told.
    """

    __slots__ = ("__weakref__", "_leave")

    def __init__(self, leave: Callable[[], object]) -> None:
        self._leave = weakref.finalize(self, leave)
        self._leave.atexit = False

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *raised: Any) -> None:
        self._leave()


class _Poll:
    """One that waits: whose it is, and what ends it early."""

    __slots__ = ("end", "holder")

    def __init__(self, holder: str, end: Callable[[], None]) -> None:
        self.holder = holder
        self.end = end


class Threads:
    """How many threads of this process wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams = 0
        # Sets and no numbers: the garbage collector may give a place back at any time, the lock's holder's too.
        self._calls: dict[bool, set[object]] = {True: set(), False: set()}
        # Oldest first; dicts for the same reason.
        self._polls: dict[bool, dict[_Poll, None]] = {True: {}, False: {}}

    def enter_stream(self) -> bool:
        """Take a thread for a stream; False when there is none to spare."""
        most: int = conf.get("STREAM_THREADS")
        ended = None
        with self._lock:
            if self._waiting() >= most:
                if len(self._polls[True]) <= most // 2:
                    return False
                ended = self._give_up_oldest(True)
            self._streams += 1
        _end(ended)
        return True

    def leave_stream(self) -> None:
        with self._lock:
            self._streams -= 1

    def are_short(self) -> bool:
        """Whether more wait than should, so that streams end early."""
        most: int = conf.get("STREAM_THREADS")
        return self._waiting() > most

    def take_call(self, *, is_threaded: bool) -> Place:
        """A place for a call that waits, in one of the server's few threads or not. Raises unavailable without one."""
        # One always may: a server has at least two threads, or nobody could ever answer the call.
        most = max(1, conf.get("STREAM_THREADS")) if is_threaded else conf.get("BRIDGE_CALLS_PER_PROCESS")
        held, mine, ended = self._calls[is_threaded], object(), None
        with self._lock:
            is_taken = len(held) < most
            if is_taken:
                held.add(mine)
                if is_threaded and self._waiting() > most:
                    ended = self._give_up_oldest(True)
        _end(ended)
        if not is_taken:
            raise ServerError(
                Code.UNAVAILABLE,
                "The site waits for as many pages as it can; repeat the call in a moment.",
                retry_after=1,
            )
        return Place(lambda: held.discard(mine))

    def take_poll(self, request: HttpRequest, holder: str, end: Callable[[], None]) -> Place | None:
        """A place for a request that waits for events and may be answered at any time; None when there is none.

        ``end`` is called, from another thread, when the place is given to another one; it only tells, and returns.
        """
        # Under ASGI each has a thread of its own; elsewhere they are the server's few.
        is_threaded = not hasattr(request, "scope")
        most = _most_polls(request) if is_threaded else conf.get("BRIDGE_CALLS_PER_PROCESS")
        held, mine, ended = self._polls[is_threaded], _Poll(holder, end), None
        # No holder takes all places of a small server, unless there is one.
        most_of_holder = min(POLLS_PER_HOLDER, max(1, most // 2))
        with self._lock:
            if most and sum(poll.holder == holder for poll in list(held)) >= most_of_holder:
                ended = self._give_up_oldest(is_threaded, holder)
            elif len(held) >= most or (is_threaded and self._waiting() >= conf.get("STREAM_THREADS")):
                return None
            held[mine] = None
        _end(ended)
        return Place(lambda: held.pop(mine, None))

    def _waiting(self) -> int:
        """Of the few threads of a WSGI server."""
        return self._streams + len(self._calls[True]) + len(self._polls[True])

    def _give_up_oldest(self, is_threaded: bool, holder: str | None = None) -> _Poll | None:
        """Take its place from a poll, which is then to be ended; with the lock."""
        held = self._polls[is_threaded]
        found = next((poll for poll in list(held) if holder in (None, poll.holder)), None)
        if found is not None:
            held.pop(found, None)
        return found


def _end(poll: _Poll | None) -> None:
    if poll is not None:
        poll.end()


def _most_polls(request: HttpRequest) -> int:
    """How many may wait in the threads of a WSGI server."""
    most: int = conf.get("STREAM_THREADS")
    has_several = request.META.get("wsgi.multithread") is True
    return max(1, most // 2) if most and has_several else 0


threads: Final = Threads()
