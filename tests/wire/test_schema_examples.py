"""Examples are small, valid, always the same, or absent."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings

from agentweb.wire.schema import NO_EXAMPLE, compile_schema, example_from
from agentweb.wire.schema.formats import SAMPLES
from tests.support.examples import examples
from tests.vectors_dir import VECTORS
from tests.wire.test_schema_oracle import DEFINITIONS, SCHEMAS, with_definitions


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "maxLength": 2}, "x"),
        ({"type": "string", "maxLength": 0}, ""),
        ({"type": "string", "minLength": 6}, "textxx"),
        ({"type": "string", "examples": [5, "sku-1"]}, "sku-1"),
        ({"type": "string", "default": "red"}, "red"),
        ({"const": {"a": 1}}, {"a": 1}),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -5}, -5),
        ({"type": "integer", "exclusiveMaximum": -5}, -6),
        ({"type": "integer", "minimum": 5, "multipleOf": 4}, 8),
        ({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.01}, Decimal("0.01")),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, Decimal("0.5")),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["null", "string"]}, "text"),
        ({"type": "array"}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True}, [1, 0, 2]),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2},
            ["text", 1],
        ),
        ({"type": "array", "contains": {"const": 5}}, [5]),
        ({"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}, "AAA-1"),
        ({"type": "string", "pattern": "^sku-", "minLength": 6}, "sku-xx"),
        ({"type": "object"}, {}),
        (
            {
                "properties": {"b": {"type": "string"}, "a": {"type": "integer"}, "c": {}},
                "required": ["a", "b"],
            },
            {"b": "text", "a": 1},
        ),
        ({"required": ["anything"]}, {"anything": "text"}),
        ({"type": "object", "minProperties": 1, "properties": {"a": {"type": "integer"}}}, {"a": 1}),
        ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}, {"member1": 1}),
        ({"required": ["a"], "dependentRequired": {"a": ["b"]}}, {"a": "text", "b": "text"}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer", "minimum": 3}}}, 3),
        ({"allOf": [{"required": ["a"]}, {"properties": {"a": {"const": 1}}}]}, {"a": 1}),
        ({"allOf": [{"type": "number"}, {"type": "integer"}, {"minimum": 2}, {"minimum": 7}]}, 7),
        ({"oneOf": [{"type": "integer", "minimum": 5}, {"type": "string"}]}, 5),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}], "not": {"type": "null"}}, 1),
        (
            {"type": "object", "if": {}, "then": {"required": ["a"], "properties": {"a": {"const": 2}}}},
            {"a": 2},
        ),
        ({"allOf": [{"maximum": 7}, {"maximum": 3, "minimum": 3}]}, 3),
        ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["c", "b"]}]}, "b"),
        ({"allOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}, 1),
        (
            {"allOf": [{"properties": {"a": True}}, {"properties": {"a": False}}], "required": ["a"]},
            NO_EXAMPLE,
        ),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 4, "uniqueItems": True},
            ["text", "x", "", "1"],
        ),
        (False, NO_EXAMPLE),
        ({"type": "string", "pattern": "^a$", "maxLength": 0}, NO_EXAMPLE),
        ({"type": "array", "items": False, "minItems": 1}, NO_EXAMPLE),
        ({"type": "string", "minLength": 10**9}, NO_EXAMPLE),
        ({"type": "array", "minItems": 10**9}, NO_EXAMPLE),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, NO_EXAMPLE),
        ({"not": {}}, NO_EXAMPLE),
    ],
)
def test_an_example_is_the_smallest_that_the_schema_gives(schema, expected):
    example = example_from(schema)
    if expected is NO_EXAMPLE or example is NO_EXAMPLE:
        assert example is expected
    else:
        assert (example, repr(example)) == (expected, repr(expected))


@pytest.mark.parametrize("name", SAMPLES)
def test_every_asserted_format_has_a_sample(name):
    example = example_from({"type": "string", "format": name})
    assert example == SAMPLES[name]
    assert compile_schema({"format": name}).is_valid(example)


def test_no_example_is_falsy_and_says_its_name():
    assert not NO_EXAMPLE
    assert repr(NO_EXAMPLE) == "NO_EXAMPLE"


def official_schemas():
    for path in sorted((VECTORS / "json-schema-2020-12/tests").glob("*.json")):
        for group in json.loads(path.read_text()):
            if "http" not in json.dumps(group["schema"]).replace(
                "https://json-schema.org/draft/2020-12/schema", ""
            ):
                yield group["schema"]


def test_examples_of_the_official_schemas_are_valid_and_found_nearly_always():
    found = total = 0
    for schema in official_schemas():
        try:
            example = example_from(schema)
        except ValueError:
            continue
        total += 1
        if example is not NO_EXAMPLE:
            found += 1
            assert compile_schema(schema, accelerate=False).is_valid(example)
    assert found / total > 0.9


@settings(max_examples=examples(100))
@given(SCHEMAS, DEFINITIONS)
def test_an_example_is_valid_and_always_the_same(schema, definitions):
    schema = with_definitions(schema, definitions)
    compiled = compile_schema(schema, accelerate=False)
    example = compiled.example()
    assert repr(example) == repr(compiled.example())
    if example is not NO_EXAMPLE:
        assert compiled.problems(example) == ([], False)
