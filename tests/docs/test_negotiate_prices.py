"""What docs/how-to/negotiate-prices.md shows works as it says."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import pytest

from agentweb.access import site_keys
from agentweb.agent_actions.checks import check_negotiator
from agentweb.catalog.registry import registry
from agentweb.conf import SETTINGS
from agentweb.testing import TestAgent
from tests.docs.pages import DOCS, blocks

PAGE = "how-to/negotiate-prices.md"
NEGOTIATIONS = "/agent-actions/negotiations"


@pytest.mark.django_db(transaction=True)
def test_an_agent_bargains_with_the_function_of_the_page_and_buys(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices, setting, selling = (block.text for block in blocks(PAGE, "python"))
    for name, text in (("shop_of_the_page", ""), ("shop_of_the_page.prices", prices)):
        module = ModuleType(name)
        exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102 - the page's own
        monkeypatch.setitem(sys.modules, name, module)
    said: dict[str, Any] = {}
    exec(setting, said)  # noqa: S102
    assert said["AGENTWEB"]["NEGOTIATOR"] == "shop.prices.negotiate"
    settings.AGENTWEB = {**said["AGENTWEB"], "NEGOTIATOR": "shop_of_the_page.prices.negotiate"}
    site_keys.ensure_active_key()
    with registry.only():
        selling_module = ModuleType("selling_of_the_page")
        monkeypatch.setitem(sys.modules, "selling_of_the_page", selling_module)
        exec(compile(selling, "selling_of_the_page", "exec"), selling_module.__dict__)  # noqa: S102
        assert registry.faults() == []
        assert check_negotiator(None) == []
        agent = TestAgent(scopes=["checkout"], spending="USD:100.00/300.00")
        opening = {"price": "60.00", "currency": "USD"}
        for product in ("sku-2", {}, [], 1, True, None):
            refused = agent.post(NEGOTIATIONS, {"terms": {"product_id": product}, **opening}).json()
            assert (refused["state"], refused["note"][:4]) == ("rejected", "Name")
        more = {"product_id": "sku-1", "quantity": 1, "and": "sku-9"}
        refused = agent.post(NEGOTIATIONS, {"terms": more, **opening}).json()
        assert (refused["state"], refused["note"][:2]) == ("rejected", "We")
        talk = agent.post(NEGOTIATIONS, {"terms": {"product_id": "sku-1", "quantity": 1}, **opening}).json()
        agreed = agent.post(f"{NEGOTIATIONS}/{talk['id']}", {"accept": 1}).json()["agreement"]
        assert 70 < float(agreed["price"]) < 100
        wanted = {"product_id": "sku-1", "price": "100.00"}
        paid = [agent.post("/agent/buy", wanted, key=f"of-the-page-{number:06d}").json() for number in (1, 2)]
    assert [each["amount"] for each in paid] == [agreed["price"], "100.00"]


def test_the_settings_that_the_page_names_are_settings() -> None:
    named = re.findall(r"^\| `([A-Z_]+)` \|", (DOCS / PAGE).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(named) == 5
    assert set(named) <= set(SETTINGS)
