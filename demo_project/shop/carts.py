"""Carts: one open cart for each desk (an agent's, or a person's own), person and currency.

Every change first updates the cart's row and so holds it until the transaction ends: a line cannot slip into a
cart that is being ordered, and two changes of one line happen one after the other.
"""

from __future__ import annotations

from typing import Final, cast

from django.db.models import Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from agentweb import AgentError
from demo_project.shop.models import MAX_LINE, Cart, CartLine, Product
from demo_project.shop.ownership import Owner
from demo_project.shop.pricing import amount
from demo_project.shop.search import find
from demo_project.shop.shapes import CartContent, Currency
from demo_project.shop.stock import out_of_stock

_TRIES: Final = 5


def add(owner: Owner, slug: str, quantity: int) -> Cart:
    """Put more of a product into the open cart of its currency; nothing is taken from stock yet.

    Raises product_not_found, quantity_limit, and out_of_stock when there is less than the line would hold.
    """
    product = find(slug)
    cart = _hold_open_cart(owner, product.currency)
    held = cart.lines.filter(product=product).values_list("quantity", flat=True).first() or 0
    _set_line(cart, product, held, held + quantity)
    return cart


def change(owner: Owner, slug: str, quantity: int) -> Cart:
    """Set how many of a product the open cart holds; 0 takes it out. Doing it twice changes nothing more."""
    product = find(slug)
    cart = _hold_open_cart(owner, product.currency)
    held = cart.lines.filter(product=product).values_list("quantity", flat=True).first() or 0
    _set_line(cart, product, held, quantity)
    return cart


def open_carts(owner: Owner) -> list[Cart]:
    """The owner's open carts that hold something, by currency."""
    carts = owner.papers(Cart.objects.filter(state=Cart.State.OPEN, lines__isnull=False)).distinct()
    return list(carts.order_by("currency").prefetch_related("lines__product"))


def held(owner: Owner, slug: str) -> int:
    """How many of a product are in the owner's open cart."""
    lines = CartLine.objects.filter(
        product=slug, cart__in=owner.papers(Cart.objects.filter(state=Cart.State.OPEN))
    )
    return lines.values_list("quantity", flat=True).first() or 0


def count(owner: Owner) -> int:
    """How many things are in the owner's open carts."""
    lines = CartLine.objects.filter(cart__in=owner.papers(Cart.objects.filter(state=Cart.State.OPEN)))
    found: int = lines.aggregate(count=Coalesce(Sum("quantity"), 0))["count"]
    return found


def describe(cart: Cart) -> CartContent:
    """The cart as agents read it. ``total`` is what an order would cost at this moment."""
    lines = lines_of(cart)
    total = sum(line.quantity * line.product.price for line in lines)
    return {
        "cart_id": cart.pk,
        "lines": [
            {
                "product_id": line.product_id,
                "name": line.product.name,
                "quantity": line.quantity,
                "price": amount(line.product.price, cart.currency),
            }
            for line in lines
        ],
        "total": amount(total, cart.currency),
        "currency": cast(Currency, cart.currency),
    }


def lines_of(cart: Cart) -> list[CartLine]:
    """The lines by name, each with its product; no query when ``open_carts`` has read them."""
    prefetched = "lines" in getattr(cart, "_prefetched_objects_cache", {})
    lines = cart.lines.all() if prefetched else cart.lines.select_related("product")
    return sorted(lines, key=lambda line: line.product.name)


def _hold_open_cart(owner: Owner, currency: str) -> Cart:
    """The open cart, made if need be; nobody else can change or order it before this transaction ends."""
    mine = owner.papers(Cart.objects.filter(currency=currency, state=Cart.State.OPEN))
    for _ in range(_TRIES):
        if mine.update(changed_at=timezone.now()):
            return mine.get()
        # None, or it was ordered while we waited for it. If another call makes one first, that one is taken.
        fresh = Cart(currency=currency, changed_at=timezone.now(), **owner.paper_columns())
        Cart.objects.bulk_create([fresh], ignore_conflicts=True)
    raise AgentError("conflict", "The cart is being changed by other calls; repeat this one.", retry_after=1)


def _set_line(cart: Cart, product: Product, held: int, quantity: int) -> None:
    if quantity > MAX_LINE:
        raise AgentError(
            "quantity_limit",
            f"A cart holds at most {MAX_LINE} of one product and has {held} of {product.name}. "
            + (f"Add at most {MAX_LINE - held} more." if held < MAX_LINE else "Order this cart first."),
            field="quantity",
            held=held,
            limit=MAX_LINE,
        )
    if quantity > held and quantity > product.stock:
        raise out_of_stock([(product, quantity)])
    if quantity == 0:
        cart.lines.filter(product=product).delete()
    else:
        CartLine.objects.update_or_create(cart=cart, product=product, defaults={"quantity": quantity})
