"""Stock goes down and up by conditional updates: the row count is the verdict, a race has one winner."""

from __future__ import annotations

from django.db.models import F

from agentweb import AgentError
from demo_project.shop.models import Product


def take(wanted: dict[str, int]) -> dict[str, Product]:
    """Take ``{slug: quantity}`` out of stock, all or nothing, and answer the products as they now are.

    Call it in a transaction: it raises out_of_stock, with what is left of every product that is short, and the
    rollback puts the others back. Rows are taken in one order everywhere, so two orders cannot deadlock.
    """
    short = []
    for slug in sorted(wanted):
        quantity = wanted[slug]
        taken = Product.objects.filter(pk=slug, stock__gte=quantity).update(stock=F("stock") - quantity)
        if not taken:
            short.append(slug)
    products = Product.objects.in_bulk(list(wanted))
    if short:
        raise out_of_stock([(products[slug], wanted[slug]) for slug in short])
    return products


def put_back(returned: dict[str, int]) -> None:
    """The reverse of ``take``, for a cancelled order."""
    for slug in sorted(returned):
        Product.objects.filter(pk=slug).update(stock=F("stock") + returned[slug])


def out_of_stock(short: list[tuple[Product, int]]) -> AgentError:
    """Says of every product how many are left, so that the next call can be right."""
    lines = [
        f"{product.name}: {quantity} wanted, " + (f"{product.stock} left" if product.stock else "none left")
        for product, quantity in short
    ]
    return AgentError(
        "out_of_stock",
        f"Not enough in stock. {'; '.join(lines)}. Order what is left, or search for another product.",
        field="quantity",
        unavailable=[
            {"product_id": product.slug, "wanted": quantity, "left": product.stock}
            for product, quantity in short
        ],
    )
