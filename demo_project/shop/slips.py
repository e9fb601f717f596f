"""Paying as a person. A real shop would send people to a payment provider here; this one writes a slip."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from agentweb.wire.encoding import random_id


def pay(amount: Decimal, currency: str, *, item: str) -> dict[str, Any]:
    """Take the money; the slip has the shape of what ``ctx.charge`` answers to an agent's order."""
    return {"id": random_id("ps_"), "amount": str(amount), "currency": currency, "item": item}
