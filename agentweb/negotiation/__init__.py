"""Bargaining about a price: the words of the site's own negotiator.

::

    # shop/prices.py, named by AGENTWEB["NEGOTIATOR"] = "shop.prices.negotiate"
    from agentweb.negotiation import Bargain, reject


    def negotiate(offer, ctx):
        sku = offer.terms.get("product_id")
        product = Product.objects.filter(sku=sku).first() if isinstance(sku, str) else None
        if product is None or len(offer.terms) > 1:
            return reject("Name the product_id of something that we sell, and nothing else.")
        return Bargain(product.price, floor=product.lowest, currency="USD").answer(offer)
"""

from __future__ import annotations

from agentweb.negotiation.answers import Accept, Counter, Offer, Reject, accept, counter, reject
from agentweb.negotiation.bargain import Bargain

__all__ = ["Accept", "Bargain", "Counter", "Offer", "Reject", "accept", "counter", "reject"]
