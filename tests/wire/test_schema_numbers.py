"""int, Decimal and float are one kind of number, compared exactly."""

from decimal import Decimal

import pytest

from agentweb.wire.schema import SchemaError, compile_schema

both = pytest.mark.parametrize("accelerate", [True, False], ids=["quick", "plain"])


@both
def test_ten_thousand_prices_are_multiples_of_a_cent(accelerate):
    compiled = compile_schema({"type": "number", "multipleOf": 0.01}, accelerate=accelerate)
    wrong = [cents for cents in range(1, 10_001) if not compiled.is_valid(Decimal(cents) / 100)]
    wrong += [cents for cents in range(1, 10_001) if not compiled.is_valid(cents / 100)]
    wrong += [
        cents for cents in range(1, 10_001) if compiled.is_valid(Decimal(cents) / 100 + Decimal("0.001"))
    ]
    assert wrong == []
    assert compiled.is_valid(4.02)


@both
@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, Decimal("2.0"), True),
        ({"type": "integer"}, Decimal("2.5"), False),
        ({"type": "integer"}, Decimal("1e3"), True),
        ({"type": "integer"}, 2.0, True),
        ({"type": "integer"}, True, False),
        ({"type": "number"}, False, False),
        ({"type": "number"}, Decimal("0.1"), True),
        ({"type": "integer"}, 10**39, True),
        ({"minimum": 0.1}, 0.1, True),
        ({"maximum": 0.1}, 0.1, True),  # the double is a little more than the Decimal
        ({"maximum": 0.1}, Decimal("0.1"), True),
        ({"maximum": 0.1}, Decimal("0.10000000000000001"), False),
        ({"exclusiveMaximum": Decimal("0.1")}, 0.1, False),
        ({"minimum": 10**20}, Decimal("1e20"), True),
        ({"minimum": 1}, True, True),
        ({"const": 1.0}, 1, True),
        ({"const": 1}, Decimal("1.00"), True),
        ({"const": 0.1}, Decimal("0.1"), True),
        ({"const": Decimal("0.1")}, 0.1, True),
        ({"const": 1}, True, False),
        ({"const": False}, 0, False),
        ({"enum": [0.5, 2]}, Decimal("2.0"), True),
        ({"enum": [0.5, 2]}, 0.5, True),
        ({"enum": [True]}, 1, False),
        ({"const": {"a": [1]}}, {"a": [1.0]}, True),
        ({"const": {"a": [1]}}, {"a": [True]}, False),
        ({"uniqueItems": True}, [1, True, 0, False, None, "1"], True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"uniqueItems": True}, [0.1, Decimal("0.1")], False),
        ({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}], False),
        ({"uniqueItems": True}, [[1], [True]], True),
        ({"uniqueItems": True}, [["array", 1], {"array": 1}], True),
        ({"multipleOf": 0.5}, Decimal("1e28"), True),
        ({"multipleOf": Decimal("1e-28")}, 1, True),
        ({"multipleOf": 0.0001}, 1e300, True),
        ({"multipleOf": 3}, Decimal("9.0"), True),
        ({"multipleOf": 3}, Decimal("10.0"), False),
        ({"maxLength": 2.0}, "ab", True),
    ],
)
def test_numbers_compare_as_numbers(schema, value, expected, accelerate):
    assert compile_schema(schema, accelerate=accelerate).is_valid(value) is expected


@both
@pytest.mark.parametrize(
    "value",
    [
        *(Decimal("1e100000"), Decimal("1e-100000"), Decimal("NaN"), Decimal("Infinity"), Decimal("sNaN")),
        *(float("nan"), float("inf"), 10**4000),
    ],
)
def test_extreme_numbers_are_refused_before_any_arithmetic(value, accelerate):
    compiled = compile_schema(
        {"additionalProperties": {"type": ["integer", "number"], "multipleOf": 0.01, "minimum": 0}},
        accelerate=accelerate,
    )
    [problem], _ = compiled.problems({"a": value})
    assert (problem["pointer"], problem["code"]) == ("/a", "number_out_of_range")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), Decimal("1e9999"), Decimal("NaN")])
def test_a_schema_with_an_extreme_number_is_refused(number):
    with pytest.raises(SchemaError) as caught:
        compile_schema({"properties": {"a": {"minimum": number}}})
    assert caught.value.problems[0]["pointer"] == "/properties/a/minimum"


def test_decimal_texts_and_numbers_are_different_schemas():
    assert compile_schema({"const": Decimal("0.1")}).is_valid(0.1)
    assert not compile_schema({"const": "0.1"}).is_valid(0.1)
    assert not compile_schema({"const": "Decimal('0.1')"}).is_valid(0.1)
