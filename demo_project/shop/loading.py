"""Stocking the shop. Loading again repairs names and texts, and leaves prices and stock to the staff."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from demo_project.shop.catalogue import CATEGORIES, ITEMS
from demo_project.shop.models import Category, Product


def load(progress: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Bring the catalogue into the database and answer its number of products.

    ``progress(done, total)`` is told after each category. An existing product keeps its price and stock, since
    it may have been sold or repriced since.
    """
    total = sum(len(items) for items in ITEMS.values())
    done = 0
    with transaction.atomic():
        for position, (slug, name) in enumerate(CATEGORIES.items(), start=1):
            Category.objects.update_or_create(slug=slug, defaults={"name": name, "position": position})
            Product.objects.bulk_create(
                [Product(**item._asdict(), category_id=slug) for item in ITEMS[slug]],
                update_conflicts=True,
                update_fields=["name", "description", "category"],
                unique_fields=["slug"],
            )
            done += len(ITEMS[slug])
            progress(done, total)
    return total


def refill(least: int = 10) -> int:
    """The morning delivery: products of which fewer than ``least`` are left get their first stock again.

    Answers how many products were refilled.
    """
    first = {item.slug: item.stock for items in ITEMS.values() for item in items}
    low = Product.objects.filter(pk__in=first, stock__lt=least).values_list("pk", flat=True)
    return sum(
        Product.objects.filter(pk=slug, stock__lt=least).update(stock=first[slug]) for slug in list(low)
    )
