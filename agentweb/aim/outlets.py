"""Taking hints out of the process without being in anybody's way."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

logger = logging.getLogger("agentweb.aim")

BREAK_SECONDS: Final = 5.0
"""How long nothing is tried after a failure."""
GATHER_SECONDS: Final = 0.005
"""A pause after each message out, in which many hints become one."""


class Outlet:
    """Calls ``send`` after a hint, in a thread of its own that the first hint begins.

    Hints that come while ``send`` runs become one. When it raises there is quiet for a while, and what would have been
    told then is told once, afterwards. ``is_broken`` while it fails.
    """

    def __init__(self, name: str, send: Callable[[], None]) -> None:
        self._name = name
        self._send = send
        self._wanted = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self.is_broken = False

    def hint(self) -> None:
        """Have ``send`` called soon. Returns at once, whatever ``send`` does."""
        self._wanted.set()
        if self._thread is None and self._starting.acquire(blocking=False):
            try:
                self._thread = begin(self._run, f"agentweb hints: {self._name}")
            finally:
                self._starting.release()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            try:
                self._send()
            except Exception as error:
                if not self.is_broken:
                    logger.warning(
                        "Hints by %s fail, so events are found later: %s", self._name, first_line(error)
                    )
                self.is_broken = True
                time.sleep(BREAK_SECONDS)
            else:
                if self.is_broken:
                    logger.info("Hints by %s get through again.", self._name)
                self.is_broken = False
                time.sleep(GATHER_SECONDS)


def begin(run: Callable[[], None], name: str) -> threading.Thread | None:
    """A thread that keeps no process from ending; None where none can be had, and the next one who wants it tries."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
