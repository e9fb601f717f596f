"""The one clock of both ends. Tests move it; nothing else reads the time of day for a decision.

``now()`` is Unix seconds as a float; ``now_datetime()`` the same instant in UTC.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

_source: Callable[[], float] = time.time


def now() -> float:
    """Unix seconds."""
    return _source()


def now_datetime() -> datetime:
    """The current instant, timezone-aware in UTC."""
    return from_unix(_source())


def from_unix(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


@contextmanager
def clock(source: Callable[[], float]) -> Iterator[None]:
    """Read the time from ``source`` for the duration of the block (process-wide)."""
    global _source  # noqa: PLW0603 - one clock for the process is the point
    previous, _source = _source, source
    try:
        yield
    finally:
        _source = previous
