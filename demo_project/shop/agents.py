"""What agents can do in this shop.

Whose cart or order an action touches is decided in ``ownership.py``; what happens to carts, stock, orders and requests
in ``carts.py``, ``stock.py``, ``orders.py`` and ``staff_requests.py``; what pages show in ``states.py``. Here stands
only what an agent is told and may do.
"""

from __future__ import annotations

from decimal import Decimal

from agentweb import AgentError, action, flow, page
from agentweb.invoke.context import Context
from demo_project.shop import bargains, carts, letters, orders, staff_requests, states
from demo_project.shop.api import ReviewViewSet
from demo_project.shop.models import Category
from demo_project.shop.ownership import Owner
from demo_project.shop.search import find, search
from demo_project.shop.shapes import (
    BulkPurchase,
    CartAddition,
    CartChange,
    CartContent,
    CartList,
    Delivery,
    DeliverySet,
    Letter,
    Nothing,
    OrderChoice,
    OrderContent,
    OrderList,
    OrderQuery,
    ProductChoice,
    ProductDetail,
    ProductList,
    Purchase,
    RequestChoice,
    RequestContent,
    Search,
    Sent,
)


@action(pages=["/"], tags=["shop", "products"], example={"query": "printer paper", "limit": 5})
def search_products(inp: Search, ctx: Context) -> ProductList:
    """Find products by words, best match first: office paper, stationery, tea, books, tools, garden things, and
    goods from Japan that are priced in yen."""
    if inp.category is not None and not Category.objects.filter(pk=inp.category).exists():
        known = list(Category.objects.values_list("slug", flat=True))
        raise AgentError(
            "category_not_found",
            f"There is no such category. The categories are {', '.join(known)}.",
            status=404,
            field="category",
            categories=known,
        )
    currency = inp.currency or ("USD" if inp.max_price is not None else None)
    found = search(inp.query, category=inp.category, currency=currency, max_price=inp.max_price)
    return {"items": [states.summary(product) for product in found[: inp.limit]], "found": len(found)}


@action(pages=["/products/<slug>"], tags=["products"], example={"product_id": "copy-paper-a4"})
def product_detail(inp: ProductChoice, ctx: Context) -> ProductDetail:
    """Everything about one product: description, price and how many are in stock."""
    product = find(inp.product_id)
    return {**states.summary(product), "description": product.description}


@action(
    effect="write",
    scope="cart:write",
    pages=["/cart", "/products/<slug>"],
    tags=["cart", "buy"],
    example={"product_id": "copy-paper-a4", "quantity": 2},
)
def add_to_cart(inp: CartAddition, ctx: Context) -> CartContent:
    """Put a product into your cart. There is one cart for each currency; pay for it with checkout (USD) or
    checkout_jpy (JPY). Nothing is reserved until then."""
    return carts.describe(carts.add(Owner.of(ctx.caller), inp.product_id, inp.quantity))


@action(
    effect="write",
    scope="cart:write",
    idempotent=True,
    pages=["/cart"],
    tags=["cart"],
    example={"product_id": "copy-paper-a4", "quantity": 0},
)
def change_cart(inp: CartChange, ctx: Context) -> CartContent:
    """Set how many of a product your cart holds; 0 takes it out."""
    return carts.describe(carts.change(Owner.of(ctx.caller), inp.product_id, inp.quantity))


@action(scope="cart:read", pages=["/cart"], tags=["cart"])
def cart(inp: Nothing, ctx: Context) -> CartList:
    """What is in your carts, with the price of each line and the total that checkout would take."""
    return {"carts": [carts.describe(each) for each in carts.open_carts(Owner.of(ctx.caller))]}


@action(
    title="Order and pay in US dollars",
    effect="spend",
    scope="checkout",
    cost={"field": "price", "currency": "USD"},
    pages=["/cart"],
    tags=["buy", "pay", "order"],
    example={"cart_id": "ct_AAAAAAAAAAAAAAAAAAAAAA", "price": Decimal("14.98")},
)
def checkout(inp: Purchase, ctx: Context) -> OrderContent:
    """Order everything in a US dollar cart and pay for it. price is the most that may be paid; what is charged is
    the cart's real total. A demo: no money moves."""
    return _order(inp, ctx, "USD")


@action(
    title="Order and pay in yen",
    effect="spend",
    scope="checkout",
    cost={"field": "price", "currency": "JPY"},
    pages=["/cart"],
    tags=["buy", "pay", "order"],
    example={"cart_id": "ct_AAAAAAAAAAAAAAAAAAAAAA", "price": 1800},
)
def checkout_jpy(inp: Purchase, ctx: Context) -> OrderContent:
    """Order everything in a Japanese yen cart and pay for it. price is the most that may be paid; what is charged
    is the cart's real total. A demo: no money moves."""
    return _order(inp, ctx, "JPY")


@action(
    title="Buy in bulk at a negotiated price",
    effect="spend",
    scope="checkout",
    cost={"field": "price", "currency": "USD"},
    pages=["/products/<slug>"],
    tags=["buy", "pay", "order", "negotiate"],
    example={"product_id": "copy-paper-a4", "quantity": 10, "price": Decimal("60.00")},
)
def buy_in_bulk(inp: BulkPurchase, ctx: Context) -> OrderContent:
    """Buy 5 to 20 of one product, priced in US dollars, at once. Negotiate the price first, with the terms
    {product_id, quantity}; without an agreement about exactly these it is the list price. price is the most that may
    be paid. A demo: no money moves."""
    agreed = ctx.agreement(bargains.terms(inp.product_id, inp.quantity))
    return orders.describe(
        orders.place_bulk(Owner.of(ctx.caller), inp.product_id, inp.quantity, ctx.charge, agreed=agreed)
    )


@action(scope="orders:read", pages=["/orders"], tags=["orders"], example={"limit": 5})
def order_status(inp: OrderQuery, ctx: Context) -> OrderList:
    """One order, or your newest ones: state, lines, total and the id of its receipt. Orders that other agents of
    the same person placed are among them."""
    owner = Owner.of(ctx.caller)
    if inp.order_id is not None:
        return {"orders": [orders.describe(orders.find(owner, inp.order_id))]}
    return {"orders": [orders.describe(order) for order in orders.visible(owner)[: inp.limit]]}


@action(
    effect="delete",
    scope="orders:cancel",
    pages=["/orders"],
    tags=["orders"],
    example={"order_id": "or_AAAAAAAAAAAAAAAAAAAAAA"},
)
def cancel_order(inp: OrderChoice, ctx: Context) -> OrderContent:
    """Cancel an order that has not been shipped. Its products go back on the shelf; the shop's staff pay the money
    back."""
    return orders.describe(orders.cancel(Owner.of(ctx.caller), inp.order_id))


@action(
    effect="send",
    scope="contact:send",
    rate=(0.1, 5),
    tags=["contact", "help"],
    example={"topic": "delivery", "text": "Can the paper be delivered before nine?"},
)
def contact_shop(inp: Letter, ctx: Context) -> Sent:
    """Write to the people who run the shop. They answer to reply_to, if you give it."""
    return letters.send(Owner.of(ctx.caller), topic=inp.topic, text=inp.text, reply_to=inp.reply_to or "")


@action(
    effect="write",
    scope="profile:write",
    idempotent=True,
    tags=["delivery", "address"],
    example={
        "address": {
            "recipient": "Ada Example",
            "street": "1 Analytical Row",
            "postcode": "1016 AB",
            "city": "Amsterdam",
            "country": "NL",
        }
    },
)
def set_delivery_address(inp: Delivery, ctx: Context) -> DeliverySet:
    """Say where your orders go. Without an address the shop keeps them for collection."""
    return {"delivery": str(orders.deliver_to(Owner.of(ctx.caller), inp.address))}


@action(
    effect="write",
    scope="requests:approve",
    consequential=True,
    visible=staff_requests.may_decide,
    pages=["/control-panel"],
    tags=["staff", "requests"],
    example={"request_id": "req-3"},
)
def approve_request(inp: RequestChoice, ctx: Context) -> RequestContent:
    """Approve one pending request"""
    return staff_requests.describe(staff_requests.approve(inp.request_id, by=ctx.user))


# The views of the shop's REST API, as they are: who may write or delete a review is decided there.
action.from_view(
    ReviewViewSet,
    prefix="reviews",
    url_kwargs={
        "product": {"type": "string", "pattern": "^[-a-zA-Z0-9_]+$", "description": "Id of the product."}
    },
    scopes={"create": "reviews:write", "destroy": "reviews:write"},
    examples={
        "list": {"product": "copy-paper-a4"},
        "create": {"product": "copy-paper-a4", "stars": 5, "text": "Never jams."},
    },
    pages=["/products/<slug>"],
    tags=["products", "reviews"],
)


# The pages that people see, with what each shows and where the actions above are offered.
page("/", title="The Corner Shop", description="What the shop sells, by category.", state=states.front)
page(
    "/products/<slug:slug>",
    title="Product",
    description="One product: price, stock, description and what people say about it.",
    state=states.product,
)
page("/cart", title="Cart", description="What is in the cart, and paying for it.", state=states.cart)
page("/orders", title="Orders", description="Orders and their receipts.", state=states.order_list)
page(
    "/control-panel",
    title="Control panel",
    description="Requests that wait for a decision of the staff.",
    state=states.control_panel,
    permission=staff_requests.may_decide,
)


flow(
    "buy_product",
    description="Find a product, put it into the cart and pay for it. price is the most that may be paid in all.",
    steps=[
        {"action": "search_products", "with": {"query": "$input.query", "currency": "USD"}},
        {
            "action": "add_to_cart",
            "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity"},
        },
        {"action": "checkout", "with": {"cart_id": "$steps.1.cart_id", "price": "$input.price"}},
    ],
)


def _order(inp: Purchase, ctx: Context, currency: str) -> OrderContent:
    return orders.describe(orders.place(Owner.of(ctx.caller), inp.cart_id, inp.price, currency, ctx.charge))
