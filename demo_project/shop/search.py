"""Finding products by words, and the nearest name to a mistaken id."""

from __future__ import annotations

import difflib
import re
from decimal import Decimal
from typing import Final

from agentweb import AgentError
from demo_project.shop.models import Product
from demo_project.shop.pricing import amount

_WORD: Final = re.compile(r"[^\W_]+")
_SMALL_WORDS: Final = frozenset({"a", "an", "and", "any", "for", "in", "of", "some", "the", "to", "with"})
_WEIGHTS: Final = (("name", 4), ("category", 2), ("description", 1))


def search(
    query: str, *, category: str | None = None, currency: str | None = None, max_price: Decimal | None = None
) -> list[Product]:
    """Products that match any word of the query, best first, equals by price.

    A product with more of the words stands before one with fewer. ``max_price`` is in the product's currency.
    """
    products = Product.objects.select_related("category")
    if category is not None:
        products = products.filter(category=category)
    if currency is not None:
        products = products.filter(currency=currency)
    words = {_stem(word) for word in _WORD.findall(query.casefold())} - _SMALL_WORDS
    scored = []
    for product in products:
        if max_price is not None and amount(product.price, product.currency) > max_price:
            continue
        found = _score(product, words)
        if found > (0, 0):
            scored.append((found, product))
    scored.sort(key=lambda pair: (-pair[0][0], -pair[0][1], pair[1].currency != "USD", pair[1].price))
    return [product for _, product in scored]


def find(slug: str) -> Product:
    """The product with this id, else product_not_found with the nearest ids."""
    product = Product.objects.select_related("category").filter(pk=slug).first()
    if product is None:
        raise product_not_found(slug)
    return product


def product_not_found(slug: str) -> AgentError:
    nearest = closest(slug)
    hint = f"Did you mean {nearest[0]}?" if nearest else "Use search_products to find ids."
    return AgentError(
        "product_not_found",
        f"No product has this id. {hint}",
        status=404,
        field="product_id",
        closest=nearest,
    )


def closest(text: str, *, limit: int = 3) -> list[str]:
    """Ids that look like ``text`` or are named like it, best first."""
    wanted = text.casefold()
    by_text = {}
    for slug, name in Product.objects.values_list("slug", "name"):
        by_text[slug] = slug
        by_text[name.casefold()] = slug
    near = difflib.get_close_matches(wanted, by_text, n=2 * limit, cutoff=0.5)
    return list(dict.fromkeys(by_text[match] for match in near))[:limit]


def _score(product: Product, words: set[str]) -> tuple[int, int]:
    """(how many of the words were found, how prominently)."""
    texts = {
        "name": product.name,
        "category": product.category.name,
        "description": product.description,
    }
    stems = {place: {_stem(word) for word in _WORD.findall(text.casefold())} for place, text in texts.items()}
    found = {word for word in words if any(word in stems[place] for place in stems)}
    weight = sum(weight for place, weight in _WEIGHTS for word in words if word in stems[place])
    return len(found), weight


def _stem(word: str) -> str:
    """A plural is its singular; that is all the English this shop needs."""
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word
