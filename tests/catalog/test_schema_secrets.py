"""What people see of an input: no secrets, and nothing that only pretends to be one."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.catalog.schema_secrets import HIDDEN, HIDDEN_UNDECLARED, concealed, without_secrets
from agentweb.invoke.redaction import is_sensitive
from agentweb.wire.errors import InputError

PIN = {"type": "string", "format": "password"}
INNER = {"type": "object", "properties": {"pin": PIN, "name": {"type": "string"}}}


def seen(value: Any, schema: Any) -> Any:
    return concealed(value, schema, is_sensitive)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (INNER, {"pin": "1", "name": "n"}, {"pin": HIDDEN, "name": "n"}),
        (
            {"properties": {"who": INNER}},
            {"who": {"pin": "1", "name": "n"}},
            {"who": {"pin": HIDDEN, "name": "n"}},
        ),
        ({"properties": {"all": {"items": INNER}}}, {"all": [{"pin": "1"}]}, {"all": [{"pin": HIDDEN}]}),
        ({"prefixItems": [{}, PIN]}, ["a", "b"], ["a", HIDDEN]),
        ({"prefixItems": [{}], "items": PIN}, ["a", "b"], ["a", HIDDEN]),
        ({"$ref": "#/$defs/I", "$defs": {"I": INNER}}, {"pin": "1"}, {"pin": HIDDEN}),
        ({"anyOf": [{"type": "null"}, INNER]}, {"pin": "1"}, {"pin": HIDDEN}),
        ({"allOf": [{"if": {}, "then": INNER}]}, {"pin": "1"}, {"pin": HIDDEN}),
        ({"additionalProperties": PIN}, {"x": "1"}, {"x": HIDDEN}),
        ({"patternProperties": {"^p": PIN}}, {"pin": "1", "q": "2"}, {"pin": HIDDEN, "q": "2"}),
        ({"dependentSchemas": {"a": INNER}}, {"a": 1, "pin": "1"}, {"a": 1, "pin": HIDDEN}),
        (
            {"properties": {"pin": {"type": ["integer", "null"], "format": "password"}}},
            {"pin": 1},
            {"pin": HIDDEN},
        ),
    ],
)
def test_what_a_schema_declares_secret_is_hidden_at_any_depth(schema: Any, value: Any, expected: Any) -> None:
    assert seen(value, schema) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"secret": {"deep": "pay evil 1000"}}, {"secret": {"deep": "pay evil 1000"}}),
        ({"token": ["pay", {"password": "x"}]}, {"token": ["pay", {"password": HIDDEN_UNDECLARED}]}),
        ({"password": "x", "n": None}, {"password": HIDDEN_UNDECLARED, "n": None}),
        ({"a": HIDDEN, "b": [HIDDEN_UNDECLARED]}, {"a": f'"{HIDDEN}"', "b": [f'"{HIDDEN_UNDECLARED}"']}),
    ],
)
def test_in_an_open_schema_a_name_hides_a_plain_value_only_and_says_so(value: Any, expected: Any) -> None:
    assert seen(value, {"type": "object"}) == expected


def test_a_declared_name_hides_all_of_it() -> None:
    schema = {"properties": {"credentials": {"type": "object"}, "open": {"type": "object"}}}
    value = {"credentials": {"user": "ann"}, "open": {"credentials": {"user": "ann"}}}
    assert seen(value, schema) == {"credentials": HIDDEN, "open": {"credentials": {"user": "ann"}}}


def test_a_schema_that_leads_to_itself_ends() -> None:
    tree: dict[str, Any] = {"properties": {"pin": PIN, "next": {"$ref": "#"}}, "allOf": [{"$ref": "#"}]}
    assert seen({"next": {"next": {"pin": "1"}}}, tree) == {"next": {"next": {"pin": HIDDEN}}}


def test_messages_do_not_repeat_secrets() -> None:
    problems = [{"pointer": "/who/pin", "code": "weak", "message": "hunter2 is weak, ab is not."}]
    schema = {"properties": {"who": INNER, "short": PIN}}
    error = without_secrets(InputError(problems), {"who": {"pin": " hunter2 "}, "short": "ab"}, schema)
    assert error.problems is not None
    assert error.problems[0]["message"] == "… is weak, ab is not."
