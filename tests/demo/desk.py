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


def main() -> None:
    django.setup()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = globals()[asked["do"]](**asked["with"])
        print(json.dumps({"answer": answer}), flush=True)


if __name__ == "__main__":
    main()
