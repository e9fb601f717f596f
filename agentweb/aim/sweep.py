"""A look at the log: whatever it says that is not done yet is done now.

Everybody who looks does the same, whatever made them look: the period of a worker, a task, a hint. So a look that fails
or never comes is made up for by the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentweb.aim import announcements, consumers, log
from agentweb.aim.periods import SWEEP_SECONDS
from agentweb.aim.pump import BATCH, pump


@dataclass(frozen=True, slots=True)
class Swept:
    """``events`` read by the pump, ``told`` signals sent, and how many events are left to the slower of both."""

    events: int
    told: int
    lag: int


def sweep(period: float | None = SWEEP_SECONDS, stopping: Callable[[], bool] = lambda: False) -> Swept:
    """Do what is left to do, until nothing is or until ``stopping``; several at once share the work.

    ``period``: in how many seconds the caller will look again, for whoever watches; None, if that is not known.
    """
    consumers.hear(consumers.READERS, period)
    at, last = consumers.positions(), log.ends().last
    events = told = 0
    if at[consumers.RECEIVED] < last:
        while not stopping():
            found = pump()
            events += found
            if found < BATCH:
                break
    if at[consumers.TOLD] < last and not stopping():
        told = announcements.announce(stopping)
    if min(at.values()) < last:
        at, last = consumers.positions(), log.ends().last
    return Swept(events, told, max(0, last - min(at.values())))
