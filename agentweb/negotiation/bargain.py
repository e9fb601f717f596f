"""The bundled strategy: from the list price down, a step each round, and never to the floor."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from django.utils.crypto import salted_hmac

from agentweb.negotiation.answers import Answer, Counter, Offer, accept
from agentweb.wire.errors import AgentError, Code, MoneyError
from agentweb.wire.money import format_amount, parse_amount

_SALT: Final = "agentweb.negotiation.bargain"
_LEAST, _MOST = 100, 300
"""Thousandths of the way from the floor up to the list price at which it stops."""


class Bargain:
    """Between a list price and a floor, for the terms as a whole.

    In each round it asks for a step less, in the last one for a tenth to three tenths of the way above the floor, and
    takes what reaches that. Where exactly it stops is drawn with the site's SECRET_KEY, one place for everything that
    has the same floor in percent of its list price: neither what it says, nor negotiating again, nor other terms,
    quantities or products tell the floor. Whoever offers the list price or more pays the list price.
    """

    def __init__(self, list_price: int | str | Decimal, *, floor: int | str | Decimal, currency: str) -> None:
        """Raises ValueError for prices that are none, and for a floor above the list price."""
        try:
            self._list = parse_amount(list_price, currency)
            self._floor = parse_amount(floor, currency)
        except MoneyError as error:
            raise ValueError(f"Bargain: {error.message}") from None
        if self._floor > self._list:
            raise ValueError("Bargain: the floor is above the list price.")
        self.currency = currency

    def answer(self, offer: Offer) -> Answer:
        """Accept, or ask for the price of this round. Raises offer_invalid for another currency."""
        if offer.currency != self.currency:
            raise AgentError(
                Code.OFFER_INVALID,
                f"The price is in {self.currency}; begin again in {self.currency}.",
                field="currency",
                reason="currency",
                currency=self.currency,
            )
        offered = parse_amount(offer.price, self.currency)
        asking = self._asking(offer)
        if asking <= offered < self._list:
            return accept()
        return Counter(
            format_amount(min(asking, self._list) if offered < asking else self._list, self.currency)
        )

    def _asking(self, offer: Offer) -> int:
        """What this round asks for, in minor units: on a straight line from the list price to where it stops."""
        room = self._list - self._floor
        stop = self._floor + -(-room * self._share() // 1_000)
        return self._list - (self._list - stop) * offer.round // offer.rounds

    def _share(self) -> int:
        # Not for the terms, which are the buyer's own words: with other ones drawn as often as the buyer likes, the
        # lowest draw would tell where the least is. So little of the prices that rounding them to cents, or taking
        # more of a thing, draws no other place either.
        percent = (200 * self._floor + self._list) // (2 * self._list)
        said = f"{self.currency} {percent}"
        drawn = int.from_bytes(salted_hmac(_SALT, said, algorithm="sha256").digest()[:8])
        return _LEAST + drawn % (_MOST - _LEAST + 1)
