import json
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.errors import MoneyError
from agentweb.wire.money import CURRENCIES, MAX_MINOR, format_amount, parse_amount
from agentweb.wire.strict_json import loads

currencies = st.sampled_from(sorted(CURRENCIES))
minors = st.integers(min_value=1, max_value=MAX_MINOR)


def reason(value, currency="USD"):
    """The reason of the refusal, or the minor units."""
    try:
        return parse_amount(value, currency)
    except MoneyError as error:
        assert_is_amount_invalid(error)
        return error.extra["reason"]


def assert_is_amount_invalid(error):
    assert (error.code, error.status, error.field) == ("amount_invalid", 422, "amount")


@pytest.mark.parametrize(
    ("value", "currency", "minor"),
    [
        (25, "USD", 2500),
        ("19.99", "USD", 1999),
        ("19.9", "USD", 1990),
        ("0.01", "USD", 1),
        (Decimal("0.29"), "USD", 29),
        (Decimal("25"), "USD", 2500),
        (Decimal("25.0"), "JPY", 25),
        (Decimal("19.990"), "USD", 1999),
        (Decimal("1E+2"), "USD", 10000),
        (1000, "JPY", 1000),
        ("1000", "JPY", 1000),
        ("1.234", "KWD", 1234),
        ("1.2345", "CLF", 12345),
        ("10000000000000.00", "USD", 10**15),
        (10**13, "USD", 10**15),
        (10**15, "JPY", 10**15),
    ],
)
def test_amounts_are_read_as_exact_minor_units(value, currency, minor):
    assert parse_amount(value, currency) == minor


@pytest.mark.parametrize(
    ("value", "currency", "expected"),
    [
        (1.0, "USD", "float"),
        (float("nan"), "USD", "float"),
        (True, "USD", "format"),
        (None, "USD", "format"),
        (b"1", "USD", "format"),
        ([1], "USD", "format"),
        ("", "USD", "format"),
        (" 1", "USD", "format"),
        ("1\n", "USD", "format"),
        ("+1", "USD", "format"),
        ("01", "USD", "format"),
        (".5", "USD", "format"),
        ("1.", "USD", "format"),
        ("1,5", "USD", "format"),
        ("1_000", "USD", "format"),
        ("1e2", "USD", "format"),
        ("0x10", "USD", "format"),
        ("١", "USD", "format"),
        ("$1", "USD", "format"),
        ("NaN", "USD", "format"),
        ("9" * 41, "USD", "format"),
        (Decimal("NaN"), "USD", "format"),
        (Decimal("sNaN"), "USD", "format"),
        (Decimal("Infinity"), "USD", "format"),
        ("1.001", "USD", "precision"),
        ("1.000", "USD", "precision"),
        ("1.0", "JPY", "precision"),
        (Decimal("0.5"), "JPY", "precision"),
        (Decimal("0.001"), "USD", "precision"),
        (Decimal("1E-1000000"), "USD", "precision"),
        (Decimal("1." + "0" * 50), "USD", "precision"),
        ("1.2345", "KWD", "precision"),
        (0, "USD", "range"),
        ("0.00", "USD", "range"),
        (Decimal("0E+1000000"), "USD", "range"),
        (-1, "USD", "range"),
        ("-0.01", "USD", "range"),
        (Decimal("-5"), "USD", "range"),
        (10**13 + 1, "USD", "range"),
        ("10000000000000.01", "USD", "range"),
        (10**100_000, "USD", "range"),
        (Decimal("1E+1000000"), "USD", "range"),
        (Decimal("1E+30"), "USD", "range"),
        (1, "usd", "currency"),
        (1, "US", "currency"),
        (1, "XXX", "currency"),
        (1, "XAU", "currency"),
        (1, "BTC", "currency"),
        (1, "", "currency"),
        (1, None, "currency"),
        (1, ["USD"], "currency"),
        (1.5, "BTC", "currency"),
    ],
    ids=lambda value: f"{value!r:.30}" if not isinstance(value, int) else f"{value.bit_length()}bit",
)
def test_every_refusal_has_its_reason(value, currency, expected):
    assert reason(value, currency) == expected


def test_the_field_can_be_named():
    with pytest.raises(MoneyError) as caught:
        parse_amount("x", "USD", field="mandate.per_tx")
    assert caught.value.field == "mandate.per_tx"


def test_all_two_decimal_budgets_up_to_a_thousand_are_exact():
    # Scaling a float by 100 and truncating loses a cent in 4,586 of these.
    for cents in range(1, 100_001):
        text = f"{cents // 100}.{cents % 100:02d}"
        assert parse_amount(text, "USD") == cents
        assert parse_amount(Decimal(text), "USD") == cents
        assert format_amount(cents, "USD") == text


def test_numbers_of_a_json_body_are_exact():
    body = json.dumps([cents / 100 for cents in range(1, 20_001)]).encode()
    assert [parse_amount(price, "USD") for price in loads(body)] == list(range(1, 20_001))


@given(minors, currencies)
def test_what_is_written_is_read_back(minor, currency):
    text = format_amount(minor, currency)
    assert parse_amount(text, currency) == minor
    assert parse_amount(Decimal(text), currency) == minor
    _, _, fraction = text.partition(".")
    assert len(fraction) == CURRENCIES[currency]


@given(st.decimals(min_value=0, max_value=10**14, allow_nan=False, allow_infinity=False), currencies)
def test_a_decimal_is_exact_or_refused(number, currency):
    outcome = reason(number, currency)
    minor = Fraction(number) * 10 ** CURRENCIES[currency]
    if minor.denominator != 1:
        assert outcome == "precision"
    elif not 0 < minor <= MAX_MINOR:
        assert outcome == "range"
    else:
        assert outcome in {minor, "precision"}
        assert outcome == minor or len(number.as_tuple().digits) > 40


@given(minors, currencies)
def test_the_decimal_context_changes_nothing(minor, currency):
    with localcontext() as context:
        context.prec = 2
        assert parse_amount(Decimal(format_amount(minor, currency)), currency) == minor


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [
        (1999, "USD", "19.99"),
        (5, "USD", "0.05"),
        (0, "USD", "0.00"),
        (1000, "JPY", "1000"),
        (0, "JPY", "0"),
        (1, "KWD", "0.001"),
        (12345, "UYW", "1.2345"),
    ],
)
def test_amounts_are_written_with_the_currency_s_digits(minor, currency, text):
    assert format_amount(minor, currency) == text


@pytest.mark.parametrize(
    ("minor", "currency"), [(-1, "USD"), (1.0, "USD"), (True, "USD"), ("1", "USD"), (1, "XXX")]
)
def test_what_is_no_amount_is_not_written(minor, currency):
    with pytest.raises(ValueError):  # noqa: PT011 - several reasons
        format_amount(minor, currency)


def test_the_table_has_the_active_currencies():
    assert len(CURRENCIES) == 165
    by_exponent = {}
    for code, exponent in CURRENCIES.items():
        by_exponent.setdefault(exponent, set()).add(code)
    assert {exponent: len(codes) for exponent, codes in by_exponent.items()} == {0: 17, 2: 139, 3: 7, 4: 2}
    assert by_exponent[3] == {"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"}
    assert by_exponent[4] == {"CLF", "UYW"}
    assert {"JPY", "KRW", "ISK", "VND", "CLP", "XOF"} <= by_exponent[0]
    # Withdrawn, or never money to pay with.
    assert not {"HRK", "BGN", "SLL", "ZWL", "ANG", "CUC", "XAU", "XDR", "XTS", "XXX"} & CURRENCIES.keys()


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        CURRENCIES["USD"] = 3
