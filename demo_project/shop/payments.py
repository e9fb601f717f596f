"""How agents pay here: at a test provider, which writes down what it would have taken. NO MONEY MOVES.

The shop is a demo and says so on every page, also where DEBUG is off. A real shop names a provider of its own in
``AGENTWEB["PAYMENTS"]`` (docs/how-to/take-payments.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal

from django.db import connection
from django.utils import timezone

from agentweb.ledger.providers import ChargeOrder
from agentweb.testing.payments import ENVIRONMENT, TestProvider
from demo_project.shop.models import Order

NO_MONEY: Final = (
    "NO MONEY MOVES: this is a demo, and its payment provider is a test that only writes things down."
)
SMALL: Final[dict[str, Decimal]] = {"USD": Decimal(20), "JPY": Decimal(3_000)}
"""Up to this the shop gives money back without asking its staff, within a day of the purchase."""


class TestPayments(TestProvider):
    """The bundled test provider, whose books lie beside the shop's database."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(path or os.environ.get(ENVIRONMENT) or books_of(current_database()))

    def behaviour(self, order: ChargeOrder) -> str:
        """Every payment succeeds. By the provider's own table a cart of 14.03 would wait for an hour."""
        return "ok"


def current_database() -> Path | None:
    """The SQLite file that the shop works on; None on another engine."""
    return Path(connection.settings_dict["NAME"]) if connection.vendor == "sqlite" else None


def books_of(database: Path | None) -> Path | None:
    """The file of the test provider's books; None for the one that the provider chooses itself."""
    return None if database is None else database.with_name(f"{database.name}-payments")


def refund_policy(receipt: Mapping[str, Any], amount: Decimal, ctx: Any) -> Literal["approve", "pending"]:
    """What is small and was bought within a day goes back at once; about everything else the staff decide.

    So they do about an order that was cancelled: they have been asked to pay that one back already.
    """
    order = Order.objects.filter(receipt=receipt["id"]).exclude(state=Order.State.CANCELLED).first()
    if order is None or order.placed_at < timezone.now() - timedelta(days=1):
        return "pending"
    return "approve" if amount <= SMALL[order.currency] else "pending"
