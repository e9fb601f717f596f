"""What is declared, for the site's own people: every action with what it may do, where it is and who may see it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentweb.catalog.actions import Action
from agentweb.catalog.costs import Cost
from agentweb.catalog.declaring import place_of
from agentweb.wire.money import format_amount


def entry(action: Action, prefix: str = "") -> dict[str, Any]:
    """One action. ``visible`` is ``everyone`` or where the guard is that decides; ``cost`` has its amount as a text."""
    return {
        "name": action.name,
        "effect": str(action.effect),
        "scope": action.scope,
        "method": action.method,
        "path": prefix + action.path,
        "visible": "everyone" if action.visible is None else place_of(action.visible),
        "cost": None if action.cost is None else _cost(action.cost),
        "confirm": action.confirm,
        "source": action.where,
    }


def _cost(cost: Cost) -> dict[str, str]:
    if cost.amount is None:
        return {"currency": cost.currency, "field": str(cost.field)}
    return {"currency": cost.currency, "amount": format_amount(cost.amount, cost.currency)}


def inventory(actions: Iterable[Action], prefix: str = "") -> list[dict[str, Any]]:
    """The entries in the order of ``actions``; ``prefix`` stands before every path."""
    return [entry(action, prefix) for action in actions]
