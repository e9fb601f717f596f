"""Prices that agents negotiate: of several of one product, bought at once with ``buy_in_bulk``."""

from __future__ import annotations

from typing import Any, Final

from agentweb.negotiation import Bargain, Offer, reject
from agentweb.negotiation.answers import Answer
from demo_project.shop.models import MAX_LINE, Currency, Product
from demo_project.shop.pricing import amount

FEWEST: Final = 5
"""From so many of one product on, the shop bargains."""
LOWEST_PERCENT: Final = 85
"""Of the list price; never told, and never reached."""
CURRENCY: Final = Currency.USD.value


def terms(slug: str, quantity: int) -> dict[str, Any]:
    """What is agreed about; a purchase looks its agreement up by all of it."""
    return {"product_id": slug, "quantity": quantity}


def negotiate(offer: Offer, ctx: Any) -> Answer:
    """The shop's answer to an offer, which it makes for the terms as a whole."""
    slug, quantity = offer.terms.get("product_id"), offer.terms.get("quantity")
    # Not True, and not 5.0: an agreement about those would be one about something else.
    if type(quantity) is not int or not FEWEST <= quantity <= MAX_LINE:
        return reject(f"The terms are product_id and quantity, a whole number from {FEWEST} to {MAX_LINE}.")
    if set(offer.terms) != set(terms("", 0)):
        return reject("The terms are product_id and quantity, and nothing else.")
    product = Product.objects.filter(pk=slug).first() if isinstance(slug, str) and "\0" not in slug else None
    if product is None:
        return reject("There is no such product. Use an id that search_products gives.")
    if product.currency != CURRENCY:
        return reject(
            f"The price of goods in {product.currency} is not negotiated, only of those in {CURRENCY}."
        )
    whole = product.price * quantity
    floor = -(-whole * LOWEST_PERCENT // 100)
    return Bargain(amount(whole, CURRENCY), floor=amount(floor, CURRENCY), currency=CURRENCY).answer(offer)
