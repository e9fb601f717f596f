"""A range of numbers as a pattern takes the texts of exactly these numbers."""

import re
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentweb.aip.number_patterns import anchored, decimals, integers

bounds = st.none() | st.integers(-1_200, 1_200) | st.integers(-(10**20), 10**20)


@given(low=bounds, high=bounds, number=st.integers(-1_500, 1_500) | st.integers(-(10**20), 10**20))
def test_integers_of_a_range_match_and_others_do_not(low, high, number):
    assume(low is None or high is None or low <= high)
    fits = (low is None or low <= number) and (high is None or number <= high)
    pattern = anchored(integers(low, high))
    assert (re.search(pattern, str(number)) is not None) == fits
    for edge in (low, high):
        if edge is not None:
            assert re.search(pattern, str(edge))
            assert not re.search(pattern, f"0{edge}")


@given(
    low=bounds,
    high=bounds,
    number=st.decimals(-1_500, 1_500, places=2) | st.decimals(-(10**20) + 1, 10**20 - 1, places=2),
    opens=st.tuples(st.booleans(), st.booleans()),
    places=st.integers(2, 4),
)
def test_decimals_of_a_range_match_and_others_do_not(low, high, number, opens, places):
    assume(low is None or high is None or low < high)
    found, is_exact = decimals(low, high, is_low_open=opens[0], is_high_open=opens[1], places=places)
    assert is_exact
    pattern = anchored(found)
    for each in (
        number,
        *(Decimal(edge).quantize(Decimal("0.01")) for edge in (low, high) if edge is not None),
    ):
        above = low is None or low < each or (low == each and not opens[0])
        below = high is None or each < high or (high == each and not opens[1])
        text = format(each, "f")
        assume(text != "-0.00" and len(text) < 23)
        assert (re.search(pattern, text) is not None) == (above and below), text


@pytest.mark.parametrize(
    ("low", "high", "pattern"),
    [
        (1, 20, "^(?:[1-9]|1[0-9]|20)$"),
        (0, None, "^(?:0|[1-9][0-9]{0,38})$"),
        (1, None, "^[1-9][0-9]{0,38}$"),
        (None, None, "^-?(?:0|[1-9][0-9]{0,38})$"),
        (0, 100, "^(?:0|[1-9][0-9]?|100)$"),
        (-1, 1, "^(?:-1|0|1)$"),
        (5, 5, "^5$"),
    ],
)
def test_a_pattern_is_short_where_the_range_is_plain(low, high, pattern):
    assert anchored(integers(low, high)) == pattern


def test_a_price_has_as_many_digits_as_its_smallest_step():
    found, is_exact = decimals(Decimal("0.01"), None, places=2)
    texts = ["0", "0.00", "0.01", "0.1", "1", "1.5", "1.50", "-1", "1.005", "01", "1."]
    assert is_exact
    matching = [text for text in texts if re.search(anchored(found), text)]
    assert matching == ["0.01", "0.1", "1", "1.5", "1.50"]
    assert decimals(Decimal("0.5"), Decimal("1.5"))[1] is False
