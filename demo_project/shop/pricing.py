"""Prices as people and as agents read them. Rows hold minor units; JSON holds exact decimal numbers."""

from __future__ import annotations

from decimal import Decimal

from agentweb.wire.money import CURRENCIES, format_amount

_SYMBOLS = {"USD": "$", "JPY": "¥"}


def amount(minor: int, currency: str) -> Decimal:
    """Major units with exactly the currency's digits: 749 cents are ``Decimal("7.49")``."""
    return Decimal(minor).scaleb(-CURRENCIES[currency])


def price_text(minor: int, currency: str) -> str:
    """For people: ``$7.49``, ``¥1,200``."""
    whole, _, rest = format_amount(minor, currency).partition(".")
    return f"{_SYMBOLS.get(currency, currency + ' ')}{int(whole):,}{'.' + rest if rest else ''}"
