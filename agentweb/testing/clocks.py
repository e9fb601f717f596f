"""A time of day that a test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentweb.wire import clock as wire_clock


class Clock:
    """A time of day that stands still until it is moved. Unix seconds."""

    def __init__(self, start: float) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


@contextmanager
def clock(start: float | None = None) -> Iterator[Clock]:
    """A ``Clock`` in place of the real one, starting now unless told otherwise."""
    moving = Clock(wire_clock.now() if start is None else start)
    with wire_clock.clock(moving):
        yield moving
