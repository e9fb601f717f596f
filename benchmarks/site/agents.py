"""Our contestants: a write, a spend, and a read."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from agentweb import action
from benchmarks.site.models import Order


class Line(TypedDict):
    product: Annotated[str, {"minLength": 1, "maxLength": 50}]
    quantity: Annotated[int, {"minimum": 1, "maximum": 20}]
    note: Annotated[str, {"maxLength": 200}]


@action(effect="write", scope="orders:write")
def order(inp: Line, ctx: Any) -> dict[str, Any]:
    """Order a product."""
    return {"id": Order.objects.create(**inp).pk}


@action(effect="spend", scope="orders:buy", cost={"amount": 1, "currency": "USD"})
def buy(inp: Line, ctx: Any) -> dict[str, Any]:
    """Buy a product for a dollar."""
    charge = ctx.charge(1, "USD", item=inp["product"])
    return {"id": Order.objects.create(**inp).pk, "receipt": charge["id"]}


@action()
def greet(_: None, ctx: Any) -> dict[str, Any]:
    """Say hello."""
    return {"hello": "agent"}
