"""Derived schemas without numbers that JSON's readers do not share: databases have bounds such as 2^63-1.

A keyword that holds one is left out: the schema is laxer then, and what it was derived from decides.
"""

from __future__ import annotations

from typing import Any, Final

from agentweb.wire.safe_numbers import unsafe_numbers

_SCHEMAS: Final = frozenset(
    {"additionalProperties", "items", "not", "contains", "propertyNames", "if", "then", "else"}
    | {"unevaluatedItems", "unevaluatedProperties", "contentSchema"}
)
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})


def with_safe_numbers(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the keywords that hold a number beyond ±(2^53-1); the same one when there is none."""
    if next(unsafe_numbers(schema), None) is None:
        return schema
    found: dict[str, Any] = _without(schema)
    return found


def _without(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _SCHEMAS and isinstance(value, dict):
            found[word] = _without(value)
        elif word in _LISTS and isinstance(value, list):
            found[word] = [_without(each) for each in value]
        elif word in _MAPS and isinstance(value, dict):
            found[word] = {name: _without(each) for name, each in value.items()}
        elif next(unsafe_numbers(value), None) is None:
            found[word] = value
    return found
