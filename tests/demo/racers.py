"""What the processes of the shop's races do; they start together."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from django.db import transaction

from agentweb.access import grants
from agentweb.access.callers import AGENT, Caller
from agentweb.testing import grant
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AgentError, Code
from agentweb.wire.signing import SigningKey
from demo_project import staging
from demo_project.shop import carts, orders, slips, staff_requests
from demo_project.shop.models import Cart, Order, Product, StaffRequest
from demo_project.shop.ownership import Owner
from tests.support.calls import SITE, answer, do

TRIES = 50
MOST_CHANGES = 10
"""How often one order is begun again when its cart is filled while it is being paid."""
repeats: Counter[str] = Counter()
"""Answers of this process that asked to come again; in the shop's races there are none."""


def prepare(slug: str, stock: int) -> None:
    staging.migrate()
    staging.create_site_key()
    staging.fill()
    Product.objects.filter(pk=slug).update(stock=stock)


def agent(user: str | None = None) -> Caller:
    """A caller under a grant of its own."""
    key = SigningKey.generate()
    person = staging.person(user) if user else None
    given = grant(
        key,
        ["cart:*", "checkout", "orders:*"],
        spending="USD:100.00/1000.00",
        user=person,
        origin=f"https://{SITE}",
    )
    return Caller(
        kind=AGENT,
        subject=key.public,
        agent_key=key.public,
        chain=given.chain,
        user_id=person.pk if person else None,
    )


def call(caller: Caller, action: str, **given: Any) -> Any:
    """One intent, repeated as an agent repeats it when it is told to come again."""
    key = random_id("key_")
    for _ in range(TRIES):
        try:
            return answer(do(action, given, caller, key=key))
        except AgentError as error:
            if error.retry_after is None:
                raise
            repeats[error.code] += 1
            time.sleep(0.05)
    raise AssertionError(f"{action} was never answered")


def buy(slug: str, buyers: int) -> dict[str, int]:
    """So many agents, one after another, each trying to buy one; counts by outcome."""
    outcomes: Counter[str] = Counter()
    for _ in range(buyers):
        caller = agent()
        try:
            cart = call(caller, "add_to_cart", product_id=slug, quantity=1)
            call(caller, "checkout", cart_id=cart["cart_id"], price=cart["total"])
            outcomes["sold"] += 1
        except AgentError as error:
            outcomes[error.code] += 1
    return dict(outcomes + repeats)


def fill_one_cart() -> dict[str, Any]:
    """An agent with a full cart, in a form that other processes can take over."""
    caller = agent("ada")
    cart = call(caller, "add_to_cart", product_id="basil-seeds", quantity=2)
    return {
        "grant": caller.chain[-1].id,
        "user": caller.user_id,
        "cart": cart["cart_id"],
        "price": str(cart["total"]),
    }


def order_that_cart(given: dict[str, Any]) -> str:
    """Order it, each process with a key of its own: they are different intents for one cart."""
    try:
        call(_same(given), "checkout", cart_id=given["cart"], price=float(given["price"]))
    except AgentError as error:
        return error.code
    return "sold"


def add_to_that_cart(given: dict[str, Any]) -> str:
    call(_same(given), "add_to_cart", product_id="basil-seeds", quantity=1)
    return "added"


def _same(given: dict[str, Any]) -> Caller:
    chain = grants.load(given["grant"])
    assert chain is not None
    subject = chain[-1].subject
    return Caller(kind=AGENT, subject=subject, agent_key=subject, chain=chain, user_id=given["user"])


def place_an_order() -> dict[str, Any]:
    """What Ada ordered at the pages; who she is, and the order."""
    user = staging.person("ada")
    owner = Owner.at_the_pages(user.pk)
    with transaction.atomic():
        cart = carts.add(owner, "basil-seeds", 3)
        order = orders.place(owner, cart.pk, carts.describe(cart)["total"], "USD", slips.pay)
    return {"user": user.pk, "order": order.pk}


def cancel_that_order(given: dict[str, Any]) -> str:
    with transaction.atomic():
        return orders.cancel(Owner.at_the_pages(given["user"]), given["order"]).state


def refund_of(given: dict[str, Any]) -> list[str]:
    return [each.ident for each in StaffRequest.objects.filter(order=given["order"])]


def decide_about(ident: str, approves: bool) -> str:
    """What one member of the staff says to a request, while others say something too."""
    decide = staff_requests.approve if approves else staff_requests.decline
    try:
        with transaction.atomic():
            return decide(ident, by=staging.staff()).status
    except AgentError as error:
        return error.code


def status_of(ident: str) -> str:
    return StaffRequest.objects.get(pk=ident.removeprefix("req-")).status


def books(slug: str) -> dict[str, Any]:
    """What must add up afterwards."""
    from agentweb.ledger.payment_models import Payment
    from agentweb.models import IdempotencyRecord, Mandate, Receipt

    orders = Order.objects.prefetch_related("lines")
    return {
        "stock": Product.objects.get(pk=slug).stock,
        "orders": orders.count(),
        "sold": sum(
            line.quantity for order in orders for line in order.lines.all() if line.product_id == slug
        ),
        "totals": sum(order.total for order in orders),
        # Whoever paid for what another got meanwhile was paid back.
        "receipts": sum(
            -receipt.amount if receipt.kind == "refund" else receipt.amount
            for receipt in Receipt.objects.all()
        ),
        "open_payments": Payment.objects.filter(state__in=["pending", "captured"]).count(),
        "spent": sum(row.spent for row in Mandate.objects.all()),
        "running": IdempotencyRecord.objects.filter(state="running").count(),
        "open_carts": Cart.objects.filter(state="open").count(),
        "in_open_carts": sum(
            line.quantity for cart in Cart.objects.filter(state="open") for line in cart.lines.all()
        ),
    }


def mixed(given: dict[str, Any], orders: bool) -> str:
    """One process orders the cart while the others add to it. When that changes the price while it is being paid, the
    order is begun again, as its refusal says."""
    if not orders:
        return add_to_that_cart(given)
    for _ in range(MOST_CHANGES):
        if (answer := order_that_cart(given)) != Code.CONFLICT:
            break
    return answer
