"""What an action declares to cost is held against the mandates before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from agentweb.client.agent import AgentClient
from agentweb.wire.errors import ClientError
from tests.client.site import Site

INPUT = {"type": "object", "properties": {"order": {"type": "object"}, "price": {"type": "number"}}}
COSTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "an amount": ({"amount": Decimal("25.50"), "currency": "USD"}, {}),
    "an input": ({"field": "price", "currency": "USD"}, {"price": Decimal("25.50")}),
    "an input inside another": (
        {"field": "/order/price", "currency": "USD"},
        {"order": {"price": Decimal("25.50")}},
    ),
}


def sells(site: Site, cost: dict[str, Any]) -> None:
    listed = {name: float(value) if isinstance(value, Decimal) else value for name, value in cost.items()}
    site.action("pay", effect="spend", scope="pay", cost=listed, input=INPUT)


@pytest.mark.requirement("AA-2.23")
@pytest.mark.parametrize("kind", COSTS)
@pytest.mark.parametrize(
    "mandate", [("USD", 25_49, 100_00), ("USD", 100_00, 100_00, 74_51), ("EUR", 100_00, 100_00)]
)
def test_cost_over_the_mandate_is_never_sent(
    site: Site, client: AgentClient, grant: Callable[..., str], kind: str, mandate: tuple[Any, ...]
) -> None:
    cost, value = COSTS[kind]
    sells(site, cost)
    currency, per_tx, total, *spent = mandate
    held = grant("pay", spending=(currency, per_tx, total))
    if spent:
        # Earlier calls took their part: 25.49 is left.
        client.keystore.change_site(site.authority, lambda record: replace(record, spent={held: spent[0]}))
    with pytest.raises(ClientError) as caught:
        client.call_action(site.url, "pay", value)
    assert caught.value.code == "grant_required"
    assert caught.value.extra["grant_request"]["mandate"]["per_tx"] == "25.50"
    assert site.calls() == []


@pytest.mark.requirement("AA-2.23")
@pytest.mark.parametrize("kind", COSTS)
def test_cost_within_the_mandate_is_sent_under_it(
    site: Site, client: AgentClient, grant: Callable[..., str], kind: str
) -> None:
    cost, value = COSTS[kind]
    sells(site, cost)
    grant("pay")
    paying = grant("pay", spending=("USD", 25_50, 25_50))
    assert client.call_action(site.url, "pay", value).grant == paying
    assert len(site.calls()) == 1
