"""How brisk an agent of the demo may be."""

from __future__ import annotations

import time

from tests.demo.shopping import Shop


def test_one_agent_may_sign_twenty_calls_a_second(shop: Shop) -> None:
    agent = shop.agent("ada")
    began = time.monotonic()
    statuses = []
    for number in range(60):
        time.sleep(max(0.0, began + number / 20 - time.monotonic()))
        statuses.append(agent("cart")[0])
    assert statuses == [200] * 60
