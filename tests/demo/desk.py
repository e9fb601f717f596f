"""The shop's back office for tests: a process with the demo's settings that does what is asked, one JSON line each.

``{"do": "stock", "with": {"slug": "hojicha-100"}}`` is answered ``{"answer": 41}``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import django


def prepare() -> int:
    """Tables, products, and the key of the site; the number of products."""
    from demo_project import staging

    staging.migrate()
    staging.create_site_key()
    return staging.fill()


def issue(subject: str, scopes: list[str], site: str, user: str | None, spending: str | None) -> list[Any]:
    """A grant for an agent's key; the chain's documents."""
    from agentweb.testing import grant
    from demo_project.staging import person

    given = grant(
        subject, scopes, spending=spending, user=person(user) if user else None, origin=f"http://{site}"
    )
    return given.documents


def password(name: str) -> str:
    """A new password of a person or of the staff."""
    from demo_project.staging import renew_password

    return renew_password(name)


def token(name: str, scopes: list[str], site: str) -> str:
    """The token of a new session of a person or of the staff."""
    from agentweb.access import sessions
    from demo_project.staging import STAFF, person, staff

    user = staff() if name == STAFF else person(name)
    return sessions.create(user=user, scopes=scopes, expires_in=3600, site=site)[1]


def price(slug: str, minor: int) -> int:
    from demo_project.shop.models import Product

    return Product.objects.filter(pk=slug).update(price=minor)


def order_of(name: str, products: dict[str, int]) -> str:
    """What a person ordered at the pages; the order's id."""
    from demo_project.shop import carts, orders, slips
    from demo_project.shop.ownership import Owner
    from demo_project.staging import person

    owner = Owner.at_the_pages(person(name).pk)
    for slug, quantity in products.items():
        cart = carts.add(owner, slug, quantity)
    return orders.place(owner, cart.pk, carts.describe(cart)["total"], cart.currency, slips.pay).pk


def cancel(name: str, order_id: str) -> str:
    """Cancel an order; the id of the request that comes of it."""
    from demo_project.shop import orders
    from demo_project.shop.ownership import Owner
    from demo_project.staging import person

    order = orders.cancel(Owner.at_the_pages(person(name).pk), order_id)
    return order.requests.get(kind="refund").ident


def send_off(order_id: str) -> int:
    """Ship an order, as the admin does; how many were shipped."""
    from demo_project.shop import orders
    from demo_project.shop.models import Order

    return orders.ship(Order.objects.filter(pk=order_id))


def requests_of(order_id: str) -> list[list[str]]:
    from demo_project.shop.models import StaffRequest

    found = StaffRequest.objects.filter(order=order_id)
    return [[each.ident, each.kind, each.status] for each in found]


def queries(origin: str, path: str, name: str | None = None, token: str | None = None) -> list[int]:
    """[status, queries] of a page of the site at ``origin``, for somebody who is logged in or shows a token."""
    from django.conf import settings
    from django.db import connection
    from django.test import Client, override_settings
    from django.test.utils import CaptureQueriesContext

    from demo_project.staging import STAFF, person, staff

    headers = {"host": origin.partition("://")[2]} | ({"authorization": f"Bearer {token}"} if token else {})
    client = Client(headers=headers)
    if name:
        client.force_login(staff() if name == STAFF else person(name))
    with override_settings(AGENTWEB={**settings.AGENTWEB, "ORIGIN": origin}):
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            answer = client.get(path)
    return [answer.status_code, len(seen)]


def stock(slug: str) -> int:
    from demo_project.shop.models import Product

    return Product.objects.get(pk=slug).stock


def set_stock(slug: str, left: int) -> int:
    from demo_project.shop.models import Product

    return Product.objects.filter(pk=slug).update(stock=left)


def ship(order_id: str) -> int:
    from demo_project.shop.models import Order

    return Order.objects.filter(pk=order_id).update(state=Order.State.SHIPPED)


def letters() -> list[list[str]]:
    from demo_project.shop.models import ContactMessage

    return [[letter.topic, letter.text] for letter in ContactMessage.objects.all()]


def spent(subject: str) -> int:
    """Minor units spent under all grants of an agent."""
    from agentweb.access.models import Grant, Mandate

    ids = Grant.objects.filter(subject=subject).values_list("pk", flat=True)
    return sum(row.spent for row in Mandate.objects.filter(pk__in=list(ids)))


def booked(receipt: str) -> dict[str, Any]:
    """What the payment provider has in its books of a purchase: minor units taken, and given back."""
    from demo_project.shop.payments import TestPayments

    provider = TestPayments()
    return {
        "taken": [each["amount"] for each in provider.charges() if each["id"] == receipt],
        "given": [each["amount"] for each in provider.refunds() if each["charge"] == receipt],
    }


def age(order_id: str, hours: int) -> int:
    """Let an order be placed so many hours earlier."""
    from datetime import timedelta

    from django.db.models import F

    from demo_project.shop.models import Order

    return Order.objects.filter(pk=order_id).update(placed_at=F("placed_at") - timedelta(hours=hours))


def main() -> None:
    django.setup()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = globals()[asked["do"]](**asked["with"])
        print(json.dumps({"answer": answer}), flush=True)


if __name__ == "__main__":
    main()
