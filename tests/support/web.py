"""Actions to be called over HTTP, one for each way an input travels and an outcome is answered."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.test import Client

from agentweb import AgentError
from agentweb.catalog.words import action

OPEN = {"type": "object"}
QUANTITY = {
    "type": "object",
    "required": ["product_id", "quantity"],
    "properties": {
        "product_id": {"type": "string", "minLength": 1},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
    },
    "additionalProperties": False,
}
SEARCH = {
    "type": "object",
    "required": ["query"],
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50},
        "tags": {"type": "array", "items": {"type": "string"}},
        "format": {"type": "string"},
    },
    "additionalProperties": False,
}
ORDER = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
    "additionalProperties": False,
}
SECRET = "postgres://user:hunter2@internal/db"


def declare() -> None:
    """Publish the actions; inside ``registry.only()`` they are forgotten afterwards."""

    @action(description="Find products.", input=SEARCH, method="GET")
    def search_products(inp: Any, ctx: Any) -> Any:
        return {"found": inp}

    @action(description="Say the input back, whatever it is.", input={}, method="POST", path="/agent/mirror")
    def mirror(inp: Any, ctx: Any) -> Any:
        return {"input": inp}

    @action(effect="write", scope="cart:write", description="Put into the cart.", input=QUANTITY)
    def add_to_cart(inp: Any, ctx: Any) -> Any:
        return {"put": inp, "key": ctx.idempotency_key}

    @action(effect="read", description="One order.", input=ORDER, path="/orders/{id}")
    def order(inp: Any, ctx: Any) -> Any:
        return {"order": inp}

    @action(effect="read", description="All open orders.", input=None, path="/orders/open")
    def open_orders(_inp: Any, ctx: Any) -> Any:
        return {"orders": []}

    @action(
        effect="delete",
        scope="orders:delete",
        description="Cancel.",
        input=ORDER,
        path="/orders/{id}",
        method="DELETE",
    )
    def cancel_order(inp: Any, ctx: Any) -> Any:
        return {"cancelled": inp}

    @action(
        effect="write",
        scope="orders:write",
        description="Annotate.",
        input=ORDER,
        path="/orders/{id}",
        method="PATCH",
    )
    def annotate_order(inp: Any, ctx: Any) -> Any:
        return {"annotated": inp}

    @action(description="Crash.", input=OPEN, method="POST")
    def crash(inp: Any, ctx: Any) -> Any:
        raise RuntimeError(SECRET)

    @action(description="Not found.", input=OPEN, method="POST")
    def vanish(inp: Any, ctx: Any) -> Any:
        raise Http404("no such row in table secrets")

    @action(description="Refuse.", input=OPEN, method="POST")
    def refuse(inp: Any, ctx: Any) -> Any:
        raise AgentError("out_of_stock", "Only 3 left.", field="quantity", retry_after=30, left=3)

    @action(description="Who am I?", input=None)
    def who_am_i(_inp: Any, ctx: Any) -> Any:
        return {"user": ctx.request.user.get_username(), "caller": ctx.caller.kind}

    @action(description="For staff.", input=None, visible=lambda user: user.is_staff)
    def staff_report(_inp: Any, ctx: Any) -> Any:
        return {"report": []}


def send(
    method: str, path: str, body: bytes = b"", *, client: Client | None = None, **headers: str
) -> HttpResponse:
    """An unsigned request; header names with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content_type = named.pop("Content-Type", "application/json" if body else "")
    answer: HttpResponse = (client or Client()).generic(
        method, path, data=body, content_type=content_type, headers=named
    )
    return answer
