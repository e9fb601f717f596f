"""The limits of one validation: processor time in all, and time in patterns.

A schema and a value can cause exponential work together (``anyOf`` over ``$ref`` doubles with each level of
the value), and a pattern alone can too. Every keyword is a step of the current Run, which stops both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from agentweb.wire.schema.patterns import PATTERN_SECONDS, QUICK_TEXT, compile_pattern

_CLOCK_EVERY: Final = 8


class LimitExceeded(Exception):
    """The value costs more work than one validation may take."""


class Run:
    """One validation: its limit in seconds of this thread's processor time, and where references lead.

    Processor time, so that a busy machine refuses nothing that an idle one accepts. ``targets`` is None when
    references have to be looked up at each step (several schema resources in one document).
    """

    __slots__ = ("deadline", "pattern_seconds", "steps", "targets")

    def __init__(self, seconds: float, targets: dict[int, Any] | None) -> None:
        self.deadline = time.thread_time() + seconds
        self.pattern_seconds = PATTERN_SECONDS * 4
        self.steps = 0
        self.targets = targets

    def step(self) -> None:
        """Count one keyword. Raises LimitExceeded."""
        self.steps += 1
        if self.steps % _CLOCK_EVERY == 0 and time.thread_time() > self.deadline:
            raise LimitExceeded

    def matches(self, pattern: str, text: str) -> bool | None:
        """Whether ``text`` fits, or None when the search ran out of time."""
        compiled = compile_pattern(pattern)
        if compiled.quick and len(text) <= QUICK_TEXT:
            return compiled.matches(text)
        started = time.monotonic()
        try:
            return compiled.matches(text, min(PATTERN_SECONDS, self.pattern_seconds))
        except TimeoutError:
            return None
        finally:
            self.pattern_seconds -= time.monotonic() - started


_RUN: ContextVar[Run] = ContextVar("schema_run")


def current() -> Run:
    """The run that the caller is inside of."""
    return _RUN.get()


def running() -> Run | None:
    """The run that the caller is inside of, if any: quick checks and comparisons of schemas have none."""
    return _RUN.get(None)


@contextmanager
def limited(run: Run) -> Iterator[None]:
    """Everything validated inside counts towards ``run``. Raises LimitExceeded, for deep recursion too."""
    token = _RUN.set(run)
    try:
        yield
    except RecursionError:
        raise LimitExceeded from None
    finally:
        _RUN.reset(token)
