"""What the shop sells. Every handler writes a row of its own, which must stand exactly where its money does.

``metadata`` of a charge names the call's Idempotency-Key, so that the money of each intent is found again.
"""

from __future__ import annotations

import random
from datetime import timedelta
from decimal import Decimal
from typing import Any, NotRequired, TypedDict

from agentweb import AgentError, action, flow
from agentweb.access import site_keys
from agentweb.invoke.refunding import Asked
from agentweb.ledger import agreements
from agentweb.negotiation import Accept, Counter, Offer, accept, counter
from agentweb.wire.money import parse_amount
from tests.e2e.crash.money.speaker import SITE
from tests.site.models import Note

BARGAIN = "shop:bargain"
PAY = "shop:pay"
FOR_STAFF = "staff:"
"""Refunds with such a reason wait for somebody."""


class Order(TypedDict):
    item: str
    price: str


class Deal(TypedDict):
    product_id: str
    price: str


class Purchase(TypedDict):
    product_id: str
    price: str
    agreement: NotRequired[str]


def _note(ctx: Any) -> None:
    Note.objects.create(text=f"{ctx.idempotency_key} {ctx.caller.grant.id} {ctx.action.effect}")


def _charge(ctx: Any, price: str, item: str, **more: Any) -> Any:
    return ctx.charge(price, "USD", item=item, metadata={"intent": ctx.idempotency_key}, **more)


_SPENDS: dict[str, Any] = {"effect": "spend", "scope": PAY, "cost": {"field": "price", "currency": "USD"}}


@action(**_SPENDS, description="Pay for an item.")
def buy(inp: Order, ctx: Any) -> Any:
    _note(ctx)
    return {"receipts": [_charge(ctx, inp["price"], inp["item"])["id"]]}


@action(**_SPENDS, description="Pay for an item in two halves.")
def buy_in_halves(inp: Order, ctx: Any) -> Any:
    half = str(Decimal(inp["price"]) / 2)
    first = _charge(ctx, half, inp["item"])
    _note(ctx)
    return {"receipts": [first["id"], _charge(ctx, half, inp["item"])["id"]]}


@action(**_SPENDS, description="Pay, then be told that nothing is sold.")
def buy_and_refuse(inp: Order, ctx: Any) -> Any:
    _note(ctx)
    _charge(ctx, inp["price"], inp["item"])
    raise AgentError("closed", "The shop has just closed.")


@action(**_SPENDS, description="Pay in a shop that often fails.")
def buy_or_crash(inp: Order, ctx: Any) -> Any:
    if random.random() < 0.1:
        raise RuntimeError("before")
    receipt = _charge(ctx, inp["price"], inp["item"])
    _note(ctx)
    if random.random() < 0.3:
        raise RuntimeError("after")
    return {"receipts": [receipt["id"]]}


@action(effect="write", scope=BARGAIN, description="Agree on a price.")
def bargain(inp: Deal, ctx: Any) -> Any:
    _note(ctx)
    document = agreements.conclude(
        ctx.caller,
        key=site_keys.active_key(),
        site=SITE,
        terms={"product_id": inp["product_id"]},
        price=parse_amount(inp["price"], "USD"),
        currency="USD",
        lasts=timedelta(hours=12),
    )
    return {"agreement": document["id"], "price": document["price"]}


@action(**_SPENDS, description="Buy at the price that was agreed on.")
def buy_agreed(inp: Purchase, ctx: Any) -> Any:
    _note(ctx)
    if "agreement" in inp:
        receipt = _charge(ctx, inp["price"], inp["product_id"], agreement=inp["agreement"])
        return {"receipts": [receipt["id"]]}
    deal = ctx.agreement({"product_id": inp["product_id"]})
    if deal is None:
        raise AgentError("not_agreed", "There is no open agreement on this product.")
    return {"receipts": [_charge(ctx, deal["price"], inp["product_id"])["id"]]}


flow(
    "deal",
    description="Agree on a price and buy.",
    steps=[
        {"action": "bargain", "with": {"product_id": "$input.product_id", "price": "$input.price"}},
        {
            "action": "buy_agreed",
            "with": {
                "product_id": "$input.product_id",
                "price": "$steps.0.price",
                "agreement": "$steps.0.agreement",
            },
        },
    ],
)


def negotiate(offer: Offer, ctx: Any) -> Accept | Counter:
    """Half of the offers are good enough; of the others the site asks for a little more."""
    return accept() if int(offer.price) % 2 else counter(offer.price + 1)


def refund_policy(receipt: dict[str, Any], amount: Decimal, ctx: Asked) -> str:
    return "pending" if ctx.reason.startswith(FOR_STAFF) else "approve"
