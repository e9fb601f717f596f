"""What can be run: the messenger, and money."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.e2e.crash import driver
from tests.e2e.crash.money import driver as money
from tests.e2e.crash.plan import MESSENGER, MONEY, Plan
from tests.e2e.crash.running import Outcome, Told

_RUNS: Final[Mapping[str, Callable[..., Outcome]]] = {MESSENGER: driver.run, MONEY: money.run}


def run(plan: Plan, told: Told, *, keep: bool = False) -> Outcome:
    """See ``driver.run``."""
    return _RUNS[plan.scenario](plan, told, keep=keep)
