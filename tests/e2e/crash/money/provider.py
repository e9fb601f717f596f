"""The payment provider of the shop: the bundled one, with books of its own, which takes its time."""

from __future__ import annotations

import random
import time
from typing import Final

from agentweb.ledger.providers import Answer, ChargeOrder, RefundOrder
from agentweb.testing.payments import TestProvider

_HANGS_SECONDS: Final = 1.3
"""Longer than the site waits."""


class Slow(TestProvider):
    def __init__(self) -> None:
        super().__init__(hang_seconds=_HANGS_SECONDS)

    def charge(self, order: ChargeOrder) -> Answer:
        return _slowly(super().charge(order))

    def find(self, charge_id: str) -> Answer:
        return _slowly(super().find(charge_id))

    def refund(self, order: RefundOrder) -> Answer:
        return _slowly(super().refund(order))


def _slowly(answer: Answer) -> Answer:
    """What was asked is done, and its answer on its way."""
    time.sleep(random.choice([0, 0, 0.02, 0.2]))
    return answer
