"""Actions of the test site, one for each thing that the invocation tests need to see."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Annotated, Any, TypedDict

from django.db.models import F

from agentweb import AgentError, action
from tests.site.models import Note, Stock


class Text(TypedDict):
    text: Annotated[str, {"maxLength": 200}]


class Payment(TypedDict):
    item: str
    price: Annotated[Decimal, {"exclusiveMinimum": 0}]


@action(description="Say the text back.")
def echo(inp: Text, ctx: Any) -> Any:
    return {"text": inp["text"]}


@action(effect="write", scope="notes:write", description="Write a note.")
def write_note(inp: Text, ctx: Any) -> Any:
    note = Note.objects.create(text=inp["text"])
    return {"id": note.pk, "text": note.text}


@action(effect="write", scope="notes:write", description="Write a note slowly.")
def write_note_slowly(inp: Text, ctx: Any) -> Any:
    time.sleep(0.3)
    return {"id": Note.objects.create(text=inp["text"]).pk}


@action(effect="write", scope="notes:write", description="Write a note, then refuse.")
def write_and_refuse(inp: Text, ctx: Any) -> Any:
    Note.objects.create(text=inp["text"])
    raise AgentError("out_of_stock", "Only 3 left; order at most 3.", field="text", left=3)


@action(effect="write", scope="notes:write", description="Write a note, then crash.")
def write_and_crash(inp: Text, ctx: Any) -> Any:
    Note.objects.create(text=inp["text"])
    raise RuntimeError("postgres://user:hunter2@internal/db is down")


@action(effect="write", scope="notes:write", description="Return what is not JSON.")
def write_and_return_a_row(inp: Text, ctx: Any) -> Any:
    return {"note": Note.objects.create(text=inp["text"])}


@action(effect="write", scope="notes:write", description="Write a note from async code.")
async def write_note_async(inp: Text, ctx: Any) -> Any:
    note = await Note.objects.acreate(text=inp["text"])
    return {"id": note.pk}


@action(description="Return members that are named like secrets.", scope="notes:read")
def leak(inp: Text, ctx: Any) -> Any:
    return {"name": "ada", "password": "hunter2", "nested": [{"apiKey": "k", "tokens_used": 3}]}


@action(
    effect="spend",
    scope="shop:pay",
    cost={"field": "price", "currency": "USD"},
    description="Pay the price for an item.",
)
def pay(inp: Payment, ctx: Any) -> Any:
    receipt = ctx.charge(inp["price"], "USD", item=inp["item"])
    return {"receipt": receipt["id"]}


@action(
    effect="spend",
    scope="shop:pay",
    cost={"field": "price", "currency": "USD"},
    description="Pay, then take from stock.",
)
def charge_then_stock(inp: Payment, ctx: Any) -> Any:
    receipt = ctx.charge(inp["price"], "USD", item=inp["item"])
    _take(inp["item"])
    return {"receipt": receipt["id"]}


@action(
    effect="spend",
    scope="shop:pay",
    cost={"field": "price", "currency": "USD"},
    description="Take from stock, then pay.",
)
def stock_then_charge(inp: Payment, ctx: Any) -> Any:
    _take(inp["item"])
    receipt = ctx.charge(inp["price"], "USD", item=inp["item"])
    return {"receipt": receipt["id"]}


@action(
    effect="spend",
    scope="shop:pay",
    cost={"field": "price", "currency": "USD"},
    description="Pay, then refuse.",
)
def pay_and_refuse(inp: Payment, ctx: Any) -> Any:
    ctx.charge(inp["price"], "USD", item=inp["item"])
    raise AgentError("closed", "The shop has just closed.")


@action(
    effect="spend",
    scope="shop:pay",
    cost={"amount": 5, "currency": "USD"},
    description="Charge more than is declared.",
)
def overcharge(inp: Text, ctx: Any) -> Any:
    ctx.charge(6, "USD", item=inp["text"])


def _take(name: str) -> None:
    if not Stock.objects.filter(pk=name, left__gte=1).update(left=F("left") - 1):
        raise AgentError("out_of_stock", "Nothing is left.", field="item")
