"""Bargaining about a price: the words of the site's own negotiator.

::

    # shop/prices.py, named by AGENTWEB["NEGOTIATOR"] = "shop.prices.negotiate"
    from agentweb.negotiation import Bargain, reject


    def negotiate(offer, ctx):
        product = Product.objects.filter(sku=offer.terms.get("product_id")).first()
        if product is None:
            return reject("We do not sell that.")
        return Bargain(product.price, floor=product.lowest, currency="USD").answer(offer)
"""

from __future__ import annotations

from agentweb.negotiation.answers import Accept, Counter, Offer, Reject, accept, counter, reject
from agentweb.negotiation.bargain import Bargain

__all__ = ["Accept", "Bargain", "Counter", "Offer", "Reject", "accept", "counter", "reject"]
