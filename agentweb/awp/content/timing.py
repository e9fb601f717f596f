"""A limit for how long the site's own code may take for one page."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from django.db import connections

_AGAIN_SECONDS: Final = 1.0
"""If the exception was swallowed where it was raised, in a destructor for example."""


class OutOfTime(BaseException):
    """Not an Exception: the site's own ``except Exception``, and Django's, are not meant for it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the block when it takes longer.

    By an alarm signal, so in the main thread of a process only, where there is one and the site uses it for nothing
    else; elsewhere nothing is limited. A worker process that takes much too long is killed by its parent besides.
    """
    if not _is_possible():
        yield
        return

    is_over = False

    def ring(number: int, frame: FrameType | None) -> None:
        if not is_over:
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
    try:
        # Two, for the alarm may go off when the block is just over: then the outer one has a second.
        try:
            yield
        finally:
            is_over = True
    except OutOfTime:
        _close_connections()
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def telling_interrupts() -> Iterator[Callable[[], bool]]:
    """In the block, and after it: whether somebody interrupted this process (Ctrl-C), which raises KeyboardInterrupt
    in it; one that code raises by itself says nothing of the kind. Only the main thread is interrupted. Where the site
    does something of its own at it, every KeyboardInterrupt may be one."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is signal.SIG_IGN:
        yield lambda: False
        return
    if before is not signal.default_int_handler:
        yield lambda: True
        return
    told: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        told.append(number)
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: bool(told)
    finally:
        signal.signal(signal.SIGINT, before)


def _close_connections() -> None:
    """A statement may have been cut off in the middle."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


def _is_possible() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
        and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    )
