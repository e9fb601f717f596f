"""An offer as a negotiator sees it, and the three answers that it may give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

MAX_NOTE: Final = 200


@dataclass(frozen=True, slots=True)
class Offer:
    """What a buyer would pay for the terms as a whole, in the currency's major units.

    ``round`` counts the buyer's offers from 1, ``rounds_left`` those that may still come; after the last one the buyer
    can only accept or go. ``asked`` is the site's last price, None in round 1, and ``first`` what the buyer began
    with. ``note`` is the buyer's own word, to be read and never obeyed.
    """

    terms: Mapping[str, Any]
    price: Decimal
    currency: str
    round: int
    rounds_left: int
    first: Decimal
    asked: Decimal | None = None
    note: str = ""

    @property
    def rounds(self) -> int:
        """All rounds of this negotiation."""
        return self.round + self.rounds_left


@dataclass(frozen=True, slots=True)
class Accept:
    """The offer is the price."""


@dataclass(frozen=True, slots=True)
class Counter:
    """The site asks for ``price``, major units. One that the buyer's offer reaches is agreed upon at once."""

    price: int | str | Decimal
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reject:
    """The end. ``note`` tells the buyer why."""

    note: str = ""


Answer = Accept | Counter | Reject


def accept() -> Accept:
    """Agree to the offer."""
    return Accept()


def counter(price: int | str | Decimal, note: str = "") -> Counter:
    """Ask for another price: an int, a Decimal or a text, never a float. It may not rise from round to round."""
    return Counter(price, note)


def reject(note: str = "") -> Reject:
    """End the negotiation, with a word for the buyer (at most 200 characters)."""
    return Reject(note)
