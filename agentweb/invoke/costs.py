"""What an action declares that a call costs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from agentweb.catalog.actions import Action
from agentweb.ledger.charges import Ceiling
from agentweb.wire.errors import AgentError
from agentweb.wire.json_types import Json
from agentweb.wire.money import parse_amount


def ceiling_of(action: Action, value: Json) -> Ceiling | None:
    """The declared cost of this call; a client's own amount that is no amount is an input problem."""
    cost = action.cost
    if cost is None:
        return None
    if cost.amount is not None:
        return Ceiling(cost.amount, cost.currency, is_fixed=True)
    declared: Any = value
    for name in cost.field_path:
        declared = declared[name]
    if isinstance(declared, float):
        declared = Decimal(repr(declared))
    try:
        return Ceiling(parse_amount(declared, cost.currency), cost.currency, is_fixed=False)
    except AgentError as error:
        error.field = ".".join(cost.field_path)
        raise
