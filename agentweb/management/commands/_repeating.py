"""Work that a command which runs for long repeats in a thread of its own, so that nothing waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from django.db import close_old_connections, connections

logger = logging.getLogger("agentweb.worker")

SLICE_SECONDS: Final = 0.25
"""How long whoever waits takes at most to see that it is to end."""
_LONGEST_FAREWELL: Final = 30.0
"""How long a thread may take to end what it is at; it is a daemon, so the process ends then anyway."""


@contextmanager
def repeated(
    name: str, work: Callable[[Callable[[], bool]], object], *, every: float, stop: Callable[[], bool]
) -> Iterator[None]:
    """``work(stopping)`` now and ``every`` so many seconds after its end, until ``stop()`` or the end of the block.

    Whatever fails is logged and tried again, on a new connection: the process has other work to do.
    """
    is_over = threading.Event()

    def stopping() -> bool:
        return is_over.is_set() or stop()

    thread = threading.Thread(
        target=_repeat, args=(name, work, every, stopping), name=f"agentweb-{name}", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(_LONGEST_FAREWELL)


def _repeat(
    name: str, work: Callable[[Callable[[], bool]], object], every: float, stopping: Callable[[], bool]
) -> None:
    try:
        while not stopping():
            try:
                close_old_connections()
                work(stopping)
            except Exception:
                logger.exception("The work on %s failed; it is tried again in %g s", name, every)
                connections.close_all()
            until = time.monotonic() + every
            while not stopping() and time.monotonic() < until:
                time.sleep(SLICE_SECONDS)
    finally:
        connections.close_all()
