"""What a flow costs as far as its manifest tells."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.client.listing import entries_of
from agentweb.client.manifest import read_manifest

SITE = "shop.example"
TAKES_ALL = {"type": "object"}
ACTIONS: list[dict[str, Any]] = [
    {"name": "look", "effect": "read", "method": "GET"},
    {"name": "fixed", "effect": "spend", "cost": {"currency": "USD", "amount": "25.00"}},
    {"name": "chosen", "effect": "spend", "cost": {"currency": "USD", "field": "price"}},
    {"name": "yen", "effect": "spend", "cost": {"currency": "JPY", "amount": 500}},
    {"name": "untold", "effect": "spend"},
    {"name": "priced_read", "effect": "read", "method": "GET", "cost": {"currency": "EUR", "amount": 5}},
    {"name": "deep", "effect": "spend", "cost": {"currency": "USD", "field": "/order/price"}},
]


def cost_of(*steps: tuple[str, Any]) -> dict[str, Any] | None:
    document = {
        "version": "agent-actions/0.1",
        "site": SITE,
        "actions": [
            {"method": "POST", "path": f"/{each['name']}", "input": TAKES_ALL, **each} for each in ACTIONS
        ],
        "flows": [{"name": "flow", "steps": [{"action": name, "with": given} for name, given in steps]}],
    }
    manifest = read_manifest(document, site=SITE, url=f"https://{SITE}/x")  # type: ignore[arg-type]
    [found] = [entry for entry in entries_of(manifest) if entry.kind == "flow"]
    return found.cost


@pytest.mark.requirement("AA-4.3")
@pytest.mark.parametrize(
    ("steps", "cost"),
    [
        ([("look", {})], None),
        ([("look", {}), ("fixed", {})], {"currency": "USD", "amount": "25.00"}),
        ([("fixed", {}), ("fixed", {})], {"currency": "USD", "amount": "50.00"}),
        ([("chosen", {"price": "$input.most"})], {"currency": "USD", "field": "most"}),
        ([("chosen", "$input")], {"currency": "USD", "field": "price"}),
        ([("chosen", {"price": 4})], {"currency": "USD", "amount": "4.00"}),
        ([("deep", {"order": {"price": "4.50"}})], {"currency": "USD", "amount": "4.50"}),
        ([("look", {}), ("chosen", {"price": "$steps.0.price"})], {"currency": "USD"}),
        ([("look", {}), ("chosen", "$steps.0")], {"currency": "USD"}),
        ([("chosen", {"price": "$input.order.price"})], {"currency": "USD"}),
        ([("chosen", {"price": "much"})], {"currency": "USD"}),
        ([("fixed", {}), ("chosen", {"price": "$input.most"})], {"currency": "USD"}),
        ([("fixed", {}), ("yen", {})], None),
        ([("fixed", {}), ("untold", {})], None),
        ([("fixed", {}), ("priced_read", {})], {"currency": "USD", "amount": "25.00"}),
    ],
    ids=[
        "nothing", "fixed", "sum", "input", "whole-input", "literal", "deep-literal", "output", "whole-output",
        "inside-an-input", "no-amount", "fixed-and-input", "two-currencies", "untold", "of-a-read",
    ],
)  # fmt: skip
def test_what_a_flow_costs_is_what_its_manifest_tells_of_it(
    steps: list[tuple[str, Any]], cost: dict[str, Any] | None
) -> None:
    assert cost_of(*steps) == cost
