"""What a schema says outright about its values, and that what it does not say is not guessed."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.catalog.schema_shapes import is_flat, nested_members, required_member, resolved, types_of


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"const": None}, {"null"}),
        ({"const": True}, {"boolean"}),
        ({"enum": ["a", 1, 1.5, {}, [], False]}, {"string", "number", "object", "array", "boolean"}),
        ({"anyOf": [{"type": "string"}, {"const": 1}]}, {"string", "number"}),
        ({"oneOf": [{"type": "string"}, {}]}, set()),
        ({"anyOf": []}, set()),
        ({"minLength": 1}, set()),
        (True, set()),
        ({"$ref": "#/$defs/a"}, {"string"}),
        ({"$ref": "#/$defs/b"}, {"string"}),
        ({"$ref": "#/list/1"}, {"integer"}),
        ({"$ref": "#/list/9"}, set()),
        ({"$ref": "#/list/x"}, set()),
        ({"$ref": "#"}, {"object"}),
        ({"$ref": "#/$defs/a~1b"}, {"boolean"}),
        ({"$ref": "#/$defs/loop"}, set()),
        ({"$ref": "#/$defs/missing"}, set()),
        ({"$ref": "#anchor"}, set()),
        ({"$ref": "https://example.com/"}, set()),
        ({"$ref": 5}, set()),
    ],
)
def test_the_types_of_a_schema_are_those_that_it_states(schema: Any, kinds: set[str]) -> None:
    root = {
        "type": "object",
        "$defs": {
            "a": {"type": "string"},
            "b": {"$ref": "#/$defs/a"},
            "a/b": {"type": "boolean"},
            "loop": {"$ref": "#/$defs/loop"},
        },
        "list": [{}, {"type": "integer"}],
    }
    assert types_of(schema, root) == kinds


def test_a_reference_to_nowhere_is_an_empty_schema() -> None:
    assert resolved({"$ref": "#/nowhere"}, {}) == {}


def test_a_schema_that_contains_itself_is_looked_at_once() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "allOf": [{"$ref": "#"}],
        "else": {"$ref": "#"},
    }
    assert is_flat(schema) is True
    assert nested_members(schema) == ()


@pytest.mark.parametrize(
    ("member", "is_nested"),
    [
        ({"type": "array", "items": {"type": "string"}}, False),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, False),
        ({"type": "array", "prefixItems": [{"type": "object"}], "items": False}, True),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, True),
        ({"type": ["array", "null"], "items": {"type": "string"}}, True),
        ({"type": "object"}, True),
        ({}, True),
        ({"type": "null"}, False),
    ],
)
def test_lists_of_scalars_are_not_nested(member: dict[str, Any], is_nested: bool) -> None:
    assert nested_members({"type": "object", "properties": {"a": member}}) == (("a",) if is_nested else ())


def test_a_member_is_required_only_if_the_way_to_it_is() -> None:
    schema = {
        "type": "object",
        "required": ["a", "n"],
        "properties": {
            "a": {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}},
            "n": {"type": ["object", "null"], "required": ["b"], "properties": {"b": {"type": "string"}}},
            "o": {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}},
        },
    }
    assert required_member(schema, ("a", "b")) == ({"type": "string"}, True)
    assert required_member(schema, ("n", "b")) == ({"type": "string"}, False)
    assert required_member(schema, ("o", "b")) == ({"type": "string"}, False)
    assert required_member(schema, ("a", "c")) is None
