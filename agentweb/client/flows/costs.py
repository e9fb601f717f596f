"""What a flow costs as far as its manifest tells, whatever its input: for those who look for one."""

from __future__ import annotations

from collections.abc import Mapping

from agentweb.client.inputs import cost_of
from agentweb.client.manifest import DeclaredCost, ManifestAction, ManifestFlow
from agentweb.wire.errors import AgentError
from agentweb.wire.money import MAX_MINOR
from agentweb.wire.references import Reference, parse_reference
from agentweb.wire.strict_json import Json


def flow_cost(flow: ManifestFlow, actions: Mapping[str, ManifestAction]) -> DeclaredCost | None:
    """The price of all its steps together: an ``amount``; the ``field`` of its input that says it, where one step alone
    pays; neither, where only the currency is known. None when it pays nothing, or in several currencies, or when a step
    does not tell what it takes.
    """
    prices: list[DeclaredCost] = []
    for step in flow.steps:
        action = actions.get(str(step.get("action"))) if isinstance(step, dict) else None
        if action is None or action.effect != "spend":
            continue
        if action.cost is None:
            return None
        given = step.get("with", {}) if isinstance(step, dict) else {}
        prices.append(_price(action.cost, given))
    if len({price.currency for price in prices}) != 1:
        return None
    if len(prices) == 1:
        return prices[0]
    currency = prices[0].currency
    known = [price.amount for price in prices if price.amount is not None]
    if len(known) < len(prices) or sum(known) > MAX_MINOR:
        return DeclaredCost(currency)
    return DeclaredCost(currency, amount=sum(known))


def _price(cost: DeclaredCost, given: Json) -> DeclaredCost:
    """What one step takes, by what the flow gives it."""
    if cost.field is None:
        return cost
    if isinstance(given, str):
        # The flow's own input is the step's.
        return cost if given == "$input" else DeclaredCost(cost.currency)
    told = given.get(cost.field) if isinstance(given, dict) else None
    reference = _reference(told)
    if reference is not None:
        is_input = reference.step is None and len(reference.path) == 1
        return DeclaredCost(cost.currency, field=reference.path[0].name if is_input else None)
    try:
        return DeclaredCost(cost.currency, amount=cost_of(cost, given))
    except AgentError:
        return DeclaredCost(cost.currency)


def _reference(value: Json) -> Reference | None:
    try:
        return parse_reference(value) if isinstance(value, str) else None
    except AgentError:
        return None
