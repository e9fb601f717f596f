"""What the shop's pages show to the person for whom an agent looks, as plain data; ``agents.py`` publishes them."""

from __future__ import annotations

from typing import Any, Final, cast

from django.db.models import Avg, Count
from django.shortcuts import get_object_or_404

from demo_project.shop import carts, orders, staff_requests
from demo_project.shop.models import Category, Product
from demo_project.shop.ownership import Owner
from demo_project.shop.pricing import amount
from demo_project.shop.shapes import Currency, ProductSummary

REVIEWS: Final = 10
ORDERS: Final = 20
REQUESTS: Final = 50

State = dict[str, Any]


def front(ctx: Any) -> State:
    """The shelves: what is for sale, at which price."""
    products = Product.objects.order_by("category__position", "name")
    return {
        **_head(ctx, "shop"),
        "categories": list(Category.objects.values("slug", "name")),
        "products": [summary(product) for product in products],
    }


def product(ctx: Any) -> State:
    """One product, and what people say about it."""
    found = get_object_or_404(Product, pk=ctx.kwargs["slug"])
    verdict = found.reviews.aggregate(stars=Avg("stars"), count=Count("pk"))
    return {
        **_head(ctx, "product"),
        "product": {**summary(found), "description": found.description},
        "stars": verdict["stars"] and round(verdict["stars"], 1),
        "reviews": [
            {"author": review.author.get_username(), "stars": review.stars, "text": review.text}
            for review in found.reviews.select_related("author")[:REVIEWS]
        ],
        "reviews_in_all": verdict["count"],
        "in_cart": carts.held(Owner.of(ctx.caller), found.pk),
    }


def cart(ctx: Any) -> State:
    """What is in the carts, with what checkout would take."""
    held = carts.open_carts(Owner.of(ctx.caller))
    return {**_head(ctx, "cart"), "carts": [carts.describe(each) for each in held]}


def order_list(ctx: Any) -> State:
    """The newest orders, whoever placed them for the person."""
    newest = orders.visible(Owner.of(ctx.caller))[:ORDERS]
    return {**_head(ctx, "orders"), "orders": [orders.describe(order) for order in newest]}


def control_panel(ctx: Any) -> State:
    """What waits for a decision, oldest first; amounts in minor units."""
    waiting = staff_requests.pending()[:REQUESTS]
    return {**_head(ctx, "control-panel"), "requests": [staff_requests.describe(each) for each in waiting]}


def summary(product: Product) -> ProductSummary:
    """A product in a list."""
    return {
        "id": product.slug,
        "name": product.name,
        "category": product.category_id,
        "price": amount(product.price, product.currency),
        "currency": cast(Currency, product.currency),
        "in_stock": product.stock,
    }


def _head(ctx: Any, view: str) -> State:
    return {"authenticated": ctx.user.is_authenticated, "view": view}
