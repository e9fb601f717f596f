"""The bundled strategy: steps down, never to the floor, and nothing that tells the floor."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agentweb import AgentError
from agentweb.negotiation import Accept, Bargain, Counter, Offer

TERMS = {"product_id": "sku-1", "quantity": 2}


def offer(price: str, made: int = 1, rounds: int = 5, **changes: Any) -> Offer:
    members: dict[str, Any] = {
        "terms": TERMS,
        "price": Decimal(price),
        "currency": "USD",
        "round": made,
        "rounds_left": rounds - made,
        "first": Decimal(price),
    }
    return Offer(**(members | changes))


def asked(bargain: Bargain, made: int, price: str = "0.01", **changes: Any) -> Decimal:
    answer = bargain.answer(offer(price, made, **changes))
    assert isinstance(answer, Counter)
    return Decimal(str(answer.price))


def test_it_asks_for_less_each_round_and_stops_a_tenth_to_three_tenths_above_the_floor() -> None:
    bargain = Bargain("100.00", floor="70.00", currency="USD")
    prices = [asked(bargain, made) for made in range(1, 6)]
    assert prices == sorted(prices, reverse=True)
    assert len(set(prices)) == 5
    assert prices[0] < 100
    assert Decimal("73.00") <= prices[-1] <= Decimal("79.00")


def test_it_takes_what_reaches_the_price_of_the_round_and_not_a_cent_less() -> None:
    bargain = Bargain("100.00", floor="70.00", currency="USD")
    for made in range(1, 6):
        asking = asked(bargain, made)
        assert bargain.answer(offer(str(asking), made)) == Accept()
        assert bargain.answer(offer(str(asking - Decimal("0.01")), made)) == Counter(str(asking))


def stop_of(floor: int, *, list_price: int = 10_000_000, **changes: Any) -> Decimal:
    """Where it stops, in thousandths of the way up from the floor."""
    bargain = Bargain(list_price, floor=floor, currency="USD")
    return (asked(bargain, 5, **changes) - floor) * 1_000 / (list_price - floor)


def test_negotiating_again_says_the_same() -> None:
    bargain = Bargain("10000.00", floor="7000.00", currency="USD")
    assert asked(bargain, 5) == asked(bargain, 5, "1.00")


def test_another_discount_stops_elsewhere() -> None:
    assert len({stop_of(percent * 100_000) for percent in range(50, 70)}) > 10


def test_no_other_words_or_quantities_draw_another_place_until_the_lowest_tells_the_floor() -> None:
    """What a buyer can vary: members of the terms that mean nothing, how much, and which product of one discount."""
    bargain = Bargain("100.00", floor="70.00", currency="USD")
    assert len({asked(bargain, 5, terms={**TERMS, "x": number}) for number in range(50)}) == 1
    assert len({stop_of(7 * many, list_price=10 * many) for many in range(1_000, 30_000, 1_000)}) == 1
    shares = {
        Bargain(Decimal(cents) / 100, floor=Decimal(cents * 70 // 100) / 100, currency="USD")._share()
        for cents in range(1_999, 9_999, 100)
    }
    assert len(shares) == 1, "a floor of 70 % that was rounded to cents"


def test_another_secret_key_stops_elsewhere(settings: Any) -> None:
    before = [stop_of(percent * 100_000) for percent in (60, 70, 80, 90)]
    settings.SECRET_KEY = "another secret key of the site, as long as one should be"
    assert before != [stop_of(percent * 100_000) for percent in (60, 70, 80, 90)]


@pytest.mark.parametrize("price", ["100.00", "150.00"])
def test_whoever_offers_the_list_price_or_more_is_asked_for_the_list_price(price: str) -> None:
    bargain = Bargain("100.00", floor="70.00", currency="USD")
    assert bargain.answer(offer(price)) == Counter("100.00")


def test_a_floor_that_is_the_list_price_is_a_fixed_price() -> None:
    bargain = Bargain(50, floor=50, currency="USD")
    assert [bargain.answer(offer(price)) for price in ("49.99", "50.00")] == [Counter("50.00")] * 2


@pytest.mark.parametrize("room", [1, 2, 3, 7])
def test_the_floor_itself_is_never_asked_for_however_little_room_there_is(room: int) -> None:
    bargain = Bargain(100 + room, floor=100, currency="JPY")
    for rounds in (1, 5, 100):
        answer = bargain.answer(offer("1", rounds, rounds, currency="JPY"))
        assert isinstance(answer, Counter)
        assert 100 < int(str(answer.price)) <= 100 + room


def test_another_currency_is_told_the_right_one() -> None:
    with pytest.raises(AgentError) as caught:
        Bargain(100, floor=70, currency="USD").answer(offer("80", currency="EUR"))
    assert (caught.value.code, caught.value.status, caught.value.field) == ("offer_invalid", 422, "currency")
    assert caught.value.extra["currency"] == "USD"


@pytest.mark.parametrize(
    ("list_price", "floor", "currency", "said"),
    [
        ("70.00", "100.00", "USD", "above the list price"),
        (1.5, 1, "USD", "float"),
        (1, "0", "USD", "more than 0"),
        (1, 1, "usd", "ISO 4217"),
        ("1.005", 1, "USD", "never rounded"),
    ],
)
def test_prices_that_are_none_are_the_sites_mistake(
    list_price: Any, floor: Any, currency: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        Bargain(list_price, floor=floor, currency=currency)
