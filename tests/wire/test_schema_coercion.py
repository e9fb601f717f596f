"""Query strings become typed values by the schema, without guessing."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.wire.errors import InputError
from agentweb.wire.schema import compile_schema


def coerce(rule, *texts):
    compiled = compile_schema({"type": "object", "properties": {"a": rule}, "additionalProperties": False})
    values, problems = compiled.coerce_strings([("a", text) for text in texts])
    return values["a"], [(problem["pointer"], problem["code"]) for problem in problems]


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ({"type": "string"}, "12", "12"),
        ({"type": "string"}, "", ""),
        ({"type": "string"}, "true", "true"),
        ({"type": "integer"}, "12", 12),
        ({"type": "integer"}, "-3", -3),
        ({"type": "integer"}, "0", 0),
        ({"type": "number"}, "4.02", Decimal("4.02")),
        ({"type": "number"}, "4", 4),
        ({"type": "number"}, "-1.5e3", Decimal("-1500")),
        ({"type": "number"}, "1E-2", Decimal("0.01")),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "null"}, "null", None),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"type": ["string", "null"]}, "null", "null"),
        ({"type": ["string", "integer"]}, "5", "5"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, "true", True),
        ({"allOf": [{"type": "number"}, {"minimum": 1}]}, "1.5", Decimal("1.5")),
        ({"enum": [1, 2, 3]}, "2", 2),
        ({"enum": [1, "one", True, None]}, "one", "one"),
        ({"enum": [1, "one", True, None]}, "1", 1),
        ({"enum": [1, "1"]}, "1", "1"),
        ({"enum": [1, "one", True, None]}, "true", True),
        ({"enum": [1, "one", True, None]}, "two", "two"),
        ({"enum": [1.5]}, "1.50", Decimal("1.50")),
        ({"const": False}, "false", False),
        ({"type": "string", "enum": ["1"]}, "1", "1"),
        ({}, "5", "5"),
        (True, "5", "5"),
    ],
)
def test_a_text_is_read_as_the_schema_says(rule, text, expected):
    value, problems = coerce(rule, text)
    assert (value, type(value), problems) == (expected, type(expected), [])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(("integer", text) for text in ("1e3", "1.0", "+5", "007", " 5", "5 ", "٣", "5\n", "", "0x10", "1_0")),
        *(("integer", text) for text in ("9" * 41, "null", "true", "Infinity")),
        *(("number", text) for text in (".5", "5.", "1e", "1e400", "1e31", "NaN", "1,5", "٣", " 1", "0" * 50)),
        *(("boolean", text) for text in ("yes", "no", "1", "0", "True", "TRUE", "on", "", " true")),
        *(("null", text) for text in ("", "None", "NULL")),
    ],
)  # fmt: skip
def test_a_text_that_is_not_what_the_schema_says_is_a_problem_and_not_a_guess(kind, text):
    value, problems = coerce({"type": kind}, text)
    assert (value, problems) == (text, [("/a", "type")])


def test_repetition_makes_an_array():
    numbers = {"type": "array", "items": {"type": "integer"}}
    assert coerce(numbers, "1", "2") == ([1, 2], [])
    assert coerce(numbers, "1") == ([1], [])
    assert coerce(numbers, "1", "x", "y") == ([1, "x", "y"], [("/a/1", "type"), ("/a/2", "type")])
    assert coerce({"type": "array"}, "1", "x") == (["1", "x"], [])
    assert coerce({"anyOf": [numbers, {"type": "null"}]}, "1", "2") == ([1, 2], [])
    pair = {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "boolean"}],
        "items": {"type": "integer"},
    }
    assert coerce(pair, "1", "true", "3") == (["1", True, 3], [])


def test_a_scalar_given_twice_is_a_problem():
    assert coerce({"type": "string"}, "x", "y") == ("x", [("/a", "duplicate")])
    assert coerce({}, "x", "y") == ("x", [("/a", "duplicate")])


def test_what_can_be_several_kinds_says_so():
    compiled = compile_schema({"properties": {"a": {"type": ["integer", "number", "boolean"]}}})
    _, [problem] = compiled.coerce_strings([("a", "x")])
    assert problem["message"] == "'a' must be a number, such as 12.5 or true or false."
    assert problem["expected"] == ["number", "boolean"]


def test_an_object_has_no_way_to_travel():
    assert coerce({"const": {}}, "{}") == ("{}", [("/a", "type")])
    assert coerce({"type": "object"}, "{}") == ("{}", [("/a", "type")])


def test_unknown_names_stay_texts_so_that_the_schema_refuses_them():
    compiled = compile_schema({"properties": {"a": {"type": "integer"}}, "additionalProperties": False})
    values, problems = compiled.coerce_strings([("a", "1"), ("b", "2")])
    assert (values, problems) == ({"a": 1, "b": "2"}, [])
    assert [problem["code"] for problem in compiled.problems(values)[0]] == ["unknown_field"]


def test_types_are_found_through_references_composition_and_patterns():
    later = {"if": {"required": ["b"]}, "then": {"properties": {"b": {"type": "integer"}}}}
    schema = {
        "$defs": {"count": {"type": "integer"}, "page": {"properties": {"page": {"$ref": "#/$defs/count"}}}},
        "allOf": [{"$ref": "#/$defs/page"}, later],
        "patternProperties": {"^n_": {"type": "number"}},
        "properties": {"self": {"$ref": "#"}},
    }  # fmt: skip
    values, problems = compile_schema(schema).coerce_strings(
        [("page", "2"), ("b", "3"), ("n_x", "1.5"), ("c", "4")]
    )
    assert (values, problems) == ({"page": 2, "b": 3, "n_x": Decimal("1.5"), "c": "4"}, [])
    open_numbers = compile_schema({"additionalProperties": {"type": "integer"}})
    assert open_numbers.coerce_strings([("x", "5")]) == ({"x": 5}, [])


def test_unreadable_texts_and_everything_else_are_reported_together():
    compiled = compile_schema(
        {
            "properties": {"count": {"type": "integer"}, "size": {"type": "integer", "maximum": 3}},
            "required": ["count", "size", "name"],
            "additionalProperties": False,
        }
    )
    values, problems = compiled.coerce_strings([("count", "many"), ("size", "9"), ("nmae", "x")])
    with pytest.raises(InputError) as caught:
        compiled.check(values, also=problems)
    assert [(each["pointer"], each["code"]) for each in caught.value.problems] == [
        ("/count", "type"),
        ("/name", "required"),
        ("/nmae", "unknown_field"),
        ("/size", "maximum"),
    ]
    assert caught.value.problems[0]["message"] == "'count' must be a whole number in digits, such as 12."


def test_no_text_is_repeated_in_a_problem():
    compiled = compile_schema({"properties": {"a": {"type": "integer"}}})
    assert "hunter2" not in str(compiled.coerce_strings([("a", "hunter2")])[1])
    assert "hunter2" not in str(compiled.coerce_strings([("a", "hunter2"), ("a", "hunter2")])[1])


@given(st.lists(st.tuples(st.sampled_from(["i", "n", "b", "s", "l", "x"]), st.text(max_size=8)), max_size=6))
def test_any_query_string_gives_a_valid_object_or_a_problem(pairs):
    compiled = compile_schema(
        {
            "properties": {
                "i": {"type": "integer"},
                "n": {"type": "number"},
                "b": {"type": "boolean"},
                "s": {"type": "string"},
                "l": {"type": "array", "items": {"type": "integer"}},
            }
        }
    )
    values, problems = compiled.coerce_strings(pairs)
    assert set(values) == {name for name, _ in pairs}
    assert problems or compiled.is_valid(values)
