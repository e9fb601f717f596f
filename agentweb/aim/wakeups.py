"""Waking those who wait for events, at once instead of at their next look into the database.

A wake-up is a hint and says only: look. It may come for nothing, and one that gets lost costs ``POLL_SECONDS``. So it
is never in a request's way: ``notify`` wakes this process's own waiters and leaves telling other processes to a thread
that may hang, fail or not be there.

``AGENTWEB["WAKE_UPS"]`` names a Redis through which processes tell each other. Without it each looks by itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

from agentweb import conf
from agentweb.aim import outlets, redis_hints
from agentweb.aim.outlets import Outlet

POLL_SECONDS: Final = 1.0
"""How long a waiter trusts that it is woken, before it looks by itself."""


class _Bell:
    """Wakes the waiters of this process. ``rung`` counts."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.rung = 0

    def ring(self) -> None:
        with self._changed:
            self.rung += 1
            self._changed.notify_all()

    def wait(self, seconds: float, since: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.rung != since, max(0.0, seconds))


class _Process:
    """What belongs to one process; a forked child begins anew, for threads and held locks stay behind."""

    def __init__(self, senders: dict[str, Callable[[], None]]) -> None:
        self.bell = _Bell()
        self.redis = Outlet("Redis", redis_hints.Publisher())
        self.senders = senders
        self.more = {name: Outlet(name, send) for name, send in senders.items()}
        self._starting = threading.Lock()
        self._listener: threading.Thread | None = None

    def listen(self) -> None:
        """Begin to listen to other processes, unless it does."""
        is_alive = self._listener is not None and self._listener.is_alive()
        if not is_alive and self._starting.acquire(blocking=False):
            try:
                self._listener = outlets.begin(
                    lambda: redis_hints.listen(self.bell.ring), "agentweb wake-ups"
                )
            finally:
                self._starting.release()


_process = _Process({})


def mark() -> int:
    """A place in the sequence of wake-ups, for ``wait``: taken before the look into the database that found nothing."""
    return _process.bell.rung


def wait(seconds: float, since: int | None = None, *, at_most: float = POLL_SECONDS) -> bool:
    """Wait until there may be something new, for ``seconds`` and for ``at_most`` at the longest; whether it was woken.

    ``since``: what ``mark`` gave before the last look; a wake-up after it counts although nobody waited yet. The caller
    then looks into the database, woken or not, and holds no connection to it while it waits.
    """
    if conf.get("WAKE_UPS"):
        _process.listen()
    bell = _process.bell
    return bell.wait(min(seconds, at_most), bell.rung if since is None else since)


def notify() -> None:
    """Say that the log has grown: after the commit. Never waits and never raises."""
    process = _process
    process.bell.ring()
    if conf.get("WAKE_UPS"):
        process.redis.hint()
    for outlet in tuple(process.more.values()):
        outlet.hint()


def hurry() -> None:
    """Wake who waits in this process, and nobody else: the log is as it was, but there is something to do."""
    _process.bell.ring()


def add_outlet(name: str, send: Callable[[], None]) -> None:
    """Have ``send`` called, in a thread of its own, soon after each ``notify``; many of them become one call."""
    _process.senders[name] = send
    _process.more[name] = Outlet(name, send)


def _begin_anew() -> None:
    global _process  # noqa: PLW0603 - one for the process is the point
    _process = _Process(_process.senders)


os.register_at_fork(after_in_child=_begin_anew)
