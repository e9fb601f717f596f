"""Handlers get int for ``integer`` and Decimal for ``number``, wherever the schema says so."""

from decimal import Decimal

import pytest

from agentweb.wire.schema import compile_schema

WHOLE = {"type": "integer"}
AMOUNT = {"type": "number"}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (WHOLE, Decimal("2.0"), 2),
        (WHOLE, 2.0, 2),
        (AMOUNT, 5, Decimal(5)),
        (AMOUNT, 0.1, Decimal("0.1")),
        (AMOUNT, Decimal("4.02"), Decimal("4.02")),
        ({"type": ["integer", "null"]}, None, None),
        ({"type": ["number", "string"]}, "5", "5"),
        ({"type": ["integer", "number"]}, Decimal("2.5"), Decimal("2.5")),
        ({"type": ["integer", "number"]}, Decimal("2.0"), 2),
        ({"type": "boolean"}, True, True),
        ({"type": ["number", "boolean"]}, True, True),
        ({"properties": {"a": WHOLE, "b": AMOUNT}}, {"a": 1.0, "b": 2, "c": 3.0}, {"a": 1, "b": Decimal(2), "c": 3.0}),
        ({"additionalProperties": AMOUNT, "properties": {"a": WHOLE}}, {"a": 1.0, "b": 2}, {"a": 1, "b": Decimal(2)}),
        ({"items": AMOUNT}, [1, 2], [Decimal(1), Decimal(2)]),
        ({"prefixItems": [WHOLE, {}], "items": AMOUNT}, [1.0, 1.0, 1], [1, 1.0, Decimal(1)]),
        ({"$ref": "#/$defs/a", "$defs": {"a": WHOLE}}, 1.0, 1),
        ({"allOf": [{"items": AMOUNT}, {"maxItems": 3}]}, [1, 2], [Decimal(1), Decimal(2)]),
        ({"anyOf": [AMOUNT, {"type": "null"}]}, 5, Decimal(5)),
        ({"anyOf": [AMOUNT, {"type": "null"}]}, None, None),
        (
            {
                "oneOf": [
                    {"properties": {"kind": {"const": "a"}, "x": WHOLE}},
                    {"properties": {"kind": {"const": "b"}, "x": AMOUNT}},
                ]
            },
            {"kind": "b", "x": 5},
            {"kind": "b", "x": Decimal(5)},
        ),
        ({"properties": {"a": WHOLE}, "items": AMOUNT}, [1], [Decimal(1)]),
        ({"properties": {"a": WHOLE}, "items": AMOUNT}, {"a": 1.0}, {"a": 1}),
        ({"properties": {"a": WHOLE}, "items": AMOUNT}, "x", "x"),
        ({"anyOf": [{"maximum": 1}, AMOUNT]}, 1, 1),
        ({"const": 1.0}, 1.0, 1.0),
        (True, {"a": 1.5}, {"a": 1.5}),
    ],
)  # fmt: skip
def test_numbers_become_what_the_schema_calls_them(schema, value, expected):
    prepared = compile_schema(schema).prepare(value)
    assert (prepared, repr(prepared)) == (expected, repr(expected))


def test_recursive_schemas_are_prepared_at_every_level():
    schema = {"properties": {"n": WHOLE, "children": {"items": {"$ref": "#"}}}}
    value = {"n": 1.0, "children": [{"n": 2.0, "children": [{"n": Decimal("3.0")}]}]}
    expected = {"n": 1, "children": [{"n": 2, "children": [{"n": 3}]}]}
    assert repr(compile_schema(schema).prepare(value)) == repr(expected)


def test_the_value_that_came_in_is_left_alone():
    value = {"a": [1.0]}
    compiled = compile_schema({"properties": {"a": {"items": WHOLE}}})
    assert repr(compiled.prepare(value)) == "{'a': [1]}"
    assert repr(value) == "{'a': [1.0]}"


def test_a_schema_without_numbers_hands_the_value_on_itself():
    value = {"a": "x"}
    assert compile_schema({"properties": {"a": {"type": "string"}}}).prepare(value) is value
