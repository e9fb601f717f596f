"""Orders: from a cart to a paid order, looking up, cancelling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from decimal import Decimal
from typing import Any, cast

from django.db.models import QuerySet
from django.utils import timezone

from agentweb import AgentError
from agentweb.wire.money import format_amount, parse_amount
from demo_project.shop import staff_requests, stock
from demo_project.shop.bargains import CURRENCY
from demo_project.shop.models import Cart, DeliveryAddress, Order, OrderLine, Product, StaffRequest
from demo_project.shop.ownership import Owner
from demo_project.shop.pricing import amount
from demo_project.shop.search import find as find_product
from demo_project.shop.shapes import Address, Currency, OrderContent, OrderState

Charge = Callable[..., dict[str, Any]]


def place(owner: Owner, cart_id: str, ceiling: Decimal, currency: str, charge: Charge) -> Order:
    """Order a cart and pay for it: cart closed, stock taken, money charged and order written, or nothing at all.

    Call it in a transaction. ``ceiling`` is the most that the buyer agreed to pay; ``charge(amount, currency, item=…)``
    takes the money and answers the receipt. Raises cart_not_found, cart_already_ordered, cart_empty,
    wrong_currency, out_of_stock, cost_mismatch, and whatever ``charge`` refuses.
    """
    cart = _close(owner, cart_id, currency)
    wanted = dict(cart.lines.values_list("product", "quantity"))
    if not wanted:
        raise AgentError(
            "cart_empty", "The cart is empty. Add a product with add_to_cart first.", field="cart_id"
        )
    # Prices are read after the stock rows are ours, so what is charged is what the shop asks at this moment.
    products = stock.take(wanted)
    total = sum(products[slug].price * quantity for slug, quantity in wanted.items())
    if amount(total, currency) > ceiling:
        price = format_amount(total, currency)
        raise AgentError(
            "cost_mismatch",
            f"The cart costs {price} {currency}, more than the price you gave. Nothing was charged or ordered. "
            f"Ask the person, then call again with price {price}.",
            field="price",
            amount=price,
            currency=currency,
        )
    # A call runs again once its payment is made, and has to charge for the same then: so the id is the cart's.
    order_id = cart.pk.replace("ct_", "or_", 1)
    receipt = charge(amount(total, currency), currency, item=order_id)
    return _write(owner, cart, products, wanted, total=total, receipt=receipt["id"], pk=order_id)


def place_bulk(
    owner: Owner, slug: str, quantity: int, charge: Charge, *, agreed: dict[str, Any] | None
) -> Order:
    """Order several of one product past the cart: stock taken, money charged and order written, or nothing at all.

    Call it in a transaction. ``agreed`` is the agreement whose price holds for all of it; without one it is the list
    price. Raises product_not_found, wrong_currency, out_of_stock, and whatever ``charge`` refuses.
    """
    product = find_product(slug)
    if product.currency != CURRENCY:
        raise AgentError(
            "wrong_currency",
            f"This product is priced in {product.currency}. Put it into the cart, and pay with checkout_jpy.",
            field="product_id",
            currency=product.currency,
        )
    wanted = {slug: quantity}
    products = stock.take(wanted)
    price = Decimal(agreed["price"]) if agreed else amount(products[slug].price * quantity, CURRENCY)
    receipt = charge(price, CURRENCY, item=f"{quantity} x {product.name}", agreement=agreed)
    cart = Cart(
        currency=CURRENCY, state=Cart.State.ORDERED, changed_at=timezone.now(), **owner.paper_columns()
    )
    cart.save(force_insert=True)
    total = parse_amount(price, CURRENCY)
    return _write(owner, cart, products, wanted, total=total, receipt=receipt["id"])


def cancel(owner: Owner, order_id: str) -> Order:
    """Cancel an order that has not left the shop, put its products back, and ask the staff to pay the money back;
    again is the same as once.

    Call it in a transaction. Raises order_not_found and order_shipped.
    """
    mine = owner.orders(Order.objects.filter(pk=order_id))
    is_cancelled_now = mine.filter(state=Order.State.PLACED).update(state=Order.State.CANCELLED)
    order = find(owner, order_id)
    if is_cancelled_now:
        stock.put_back({line.product_id: line.quantity for line in order.lines.all()})
        staff_requests.ask_refund(order)
    if order.state == Order.State.SHIPPED:
        raise AgentError(
            "order_shipped",
            "The order has left the shop and can no longer be cancelled. Write to the shop with contact_shop.",
            field="order_id",
        )
    return order


def find(owner: Owner, order_id: str) -> Order:
    """An order that this owner may see, else order_not_found."""
    order = visible(owner).filter(pk=order_id).first()
    if order is None:
        raise AgentError(
            "order_not_found",
            "There is no order of yours with this id. Leave order_id out to list your orders.",
            status=404,
            field="order_id",
        )
    return order


def visible(owner: Owner) -> QuerySet[Order]:
    """All orders that this owner may see, newest first."""
    return owner.orders(Order.objects.all()).prefetch_related("lines")


def describe(order: Order) -> OrderContent:
    """The order as agents read it."""
    return {
        "order_id": order.pk,
        "state": cast(OrderState, order.state),
        "lines": [
            {
                "product_id": line.product_id,
                "name": line.name,
                "quantity": line.quantity,
                "price": amount(line.price, order.currency),
            }
            for line in order.lines.all()
        ],
        "total": amount(order.total, order.currency),
        "currency": cast(Currency, order.currency),
        "receipt": order.receipt,
        "delivery": order.deliver_to or "kept for collection in the shop",
        "placed_at": order.placed_at,
    }


def _write(
    owner: Owner,
    cart: Cart,
    products: dict[str, Product],
    wanted: dict[str, int],
    *,
    total: int,
    receipt: str,
    **columns: Any,
) -> Order:
    """The order, now that it is paid."""
    order = Order.objects.create(
        cart=cart,
        currency=cart.currency,
        total=total,
        receipt=receipt,
        deliver_to=_address_of(owner),
        placed_at=timezone.now(),
        **owner.columns(),
        **columns,
    )
    OrderLine.objects.bulk_create(
        OrderLine(order=order, product=product, name=product.name, price=product.price, quantity=wanted[slug])
        for slug, product in sorted(products.items())
    )
    staff_requests.ask_if_large(order)
    return order


def _close(owner: Owner, cart_id: str, currency: str) -> Cart:
    """Close the open cart; of two orders of one cart, one gets it and the other is told so."""
    mine = owner.papers(Cart.objects.filter(pk=cart_id))
    closing = mine.filter(state=Cart.State.OPEN, currency=currency)
    if closing.update(state=Cart.State.ORDERED, changed_at=timezone.now()):
        return mine.get()
    cart = mine.first()
    if cart is None:
        raise AgentError(
            "cart_not_found",
            "You have no cart with this id. Use the cart_id that add_to_cart or cart answered.",
            status=404,
            field="cart_id",
        )
    if cart.state == Cart.State.ORDERED:
        raise AgentError(
            "cart_already_ordered",
            "This cart has been ordered. Look at the order with order_status, or start a new cart.",
            field="cart_id",
            order_id=Order.objects.filter(cart=cart).values_list("pk", flat=True).first(),
        )
    right = "checkout_jpy" if cart.currency == "JPY" else "checkout"
    raise AgentError(
        "wrong_currency",
        f"This cart is priced in {cart.currency}. Order it with {right}.",
        field="cart_id",
        currency=cart.currency,
    )


def ship(orders: QuerySet[Order]) -> int:
    """Send these orders off, except those that are not open or wait for the staff's word; how many were sent."""
    # Conditional: an order that is cancelled at this moment is not shipped.
    waiting = StaffRequest.objects.filter(status=StaffRequest.Status.PENDING).values("order")
    ready = orders.filter(state=Order.State.PLACED).exclude(pk__in=waiting)
    return ready.update(state=Order.State.SHIPPED)


def deliver_to(owner: Owner, address: Address) -> DeliveryAddress:
    """From now on the orders from this desk go there."""
    row, _ = DeliveryAddress.objects.update_or_create(**owner.paper_columns(), defaults=asdict(address))
    return row


def _address_of(owner: Owner) -> str:
    address = owner.papers(DeliveryAddress.objects.all()).first()
    return str(address) if address else ""
