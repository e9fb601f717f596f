"""A little life for a shop that has just opened: reviews, and orders about which the staff are asked."""

from __future__ import annotations

from typing import Any, Final

from django.db import transaction

from demo_project.shop import carts, orders, slips, staff_requests
from demo_project.shop.models import Order, Review, StaffRequest
from demo_project.shop.ownership import Owner

_REVIEWS: Final = (
    ("ada", "copy-paper-a4", 5, "Never jams, not even in our old printer."),
    ("grace", "copy-paper-a4", 4, "Good paper. The box could be easier to open."),
    ("ada", "teapot-glass-1l", 4, "Lovely, and the strainer is fine enough for rooibos."),
    ("grace", "book-repairing-bicycles", 5, "With its help I changed a chain in half an hour."),
    ("grace", "matcha-ceremonial-30", 3, ""),
    ("ada", "watering-can-8l", 5, "Heavy when full, as it should be."),
)


@transaction.atomic
def load(ada: Any, grace: Any, staff: Any) -> None:
    """Write them, unless the shop has had such a life already."""
    if StaffRequest.objects.exists():
        return
    authors = {"ada": ada, "grace": grace}
    Review.objects.bulk_create(
        [
            Review(author=authors[author], product_id=product, stars=stars, text=text)
            for author, product, stars, text in _REVIEWS
        ],
        ignore_conflicts=True,
    )
    _order(ada, "cordless-drill-12v", 3)
    staff_requests.approve(staff_requests.pending()[0].ident, by=staff)
    _order(grace, "watering-can-8l", 12)
    orders.cancel(Owner.at_the_pages(grace.pk), _order(grace, "ring-binder-a4", 10).pk)


def _order(user: Any, product: str, quantity: int) -> Order:
    owner = Owner.at_the_pages(user.pk)
    cart = carts.add(owner, product, quantity)
    return orders.place(owner, cart.pk, carts.describe(cart)["total"], cart.currency, slips.pay)
