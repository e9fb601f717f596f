"""Questions about a schema's shape: is it flat, is a member required, what does a pointer lead to.

They read only what the schema says outright (``type``, ``properties``, ``required``, local ``$ref``): a schema
that is clever about it counts as not flat and its members as not known, which is the safe side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentweb.wire.schema.shapes import Schema, properties_of, resolved

__all__ = [
    "MAX_CHOICES",
    "MAX_ROWS",
    "SCALARS",
    "Schema",
    "is_flat",
    "is_list_of_scalars",
    "is_object",
    "is_scalar",
    "nested_members",
    "properties_of",
    "required_member",
    "required_of",
    "resolved",
    "types_of",
]

SCALARS: Final = frozenset({"string", "integer", "number", "boolean", "null"})
MAX_CHOICES: Final = 500
"""Choices of a serializer or form that are written out; of more, a schema says the type alone. Clients refuse schemas
of more than 5,000 nodes, and each reader pays for every choice."""
MAX_ROWS: Final = 200
"""Rows that one call may choose in one field: Django REST framework asks the database for each of them."""

_REST: Final = ("additionalProperties", "unevaluatedProperties")


def types_of(schema: Any, root: Schema) -> frozenset[str]:
    """Every JSON type that a value may have, by ``type``, ``enum``, ``const``, ``anyOf`` or ``oneOf``.

    Empty when the schema does not say.
    """
    schema = resolved(schema, root)
    kinds = schema.get("type")
    if isinstance(kinds, str):
        return frozenset({kinds})
    if isinstance(kinds, list):
        return frozenset(str(kind) for kind in kinds)
    if "const" in schema:
        return frozenset({_type_of(schema["const"])})
    if isinstance(schema.get("enum"), list):
        return frozenset(_type_of(value) for value in schema["enum"])
    for word in ("anyOf", "oneOf"):
        branches = schema.get(word)
        if isinstance(branches, list) and branches:
            found = [types_of(branch, root) for branch in branches]
            return frozenset().union(*found) if all(found) else frozenset()
    return frozenset()


def is_scalar(schema: Any, root: Schema) -> bool:
    """Whether every value is a string, number, boolean or null."""
    kinds = types_of(schema, root)
    return bool(kinds) and kinds <= SCALARS


def required_of(schema: Any, root: Schema) -> tuple[str, ...]:
    """The names of the members that must be there."""
    names = resolved(schema, root).get("required", ())
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, (list, tuple)) else ()


def is_object(schema: Any, root: Schema) -> bool:
    """Whether the schema says that its value is an object and nothing else."""
    return types_of(schema, root) == {"object"}


def is_list_of_scalars(schema: Any, root: Schema) -> bool:
    """Whether every value is a list of scalars, which a query string can write by repeating a name."""
    found = resolved(schema, root)
    items = [*found.get("prefixItems", ()), found.get("items")]
    return types_of(found, root) == {"array"} and all(
        each is False or is_scalar(each, root) for each in items
    )


def nested_members(schema: Schema) -> tuple[str, ...]:
    """Members of an object schema that cannot be written in a query string, or of which nothing is said."""
    return tuple(
        name
        for name, stated in _stated_members(schema).items()
        if not stated
        or not all(is_scalar(each, schema) or is_list_of_scalars(each, schema) for each in stated)
    )


def is_flat(schema: Schema) -> bool:
    """Whether the input is an object of scalars."""
    return is_object(schema, schema) and all(
        stated and all(is_scalar(each, schema) for each in stated)
        for stated in _stated_members(schema).values()
    )


def _stated_members(schema: Schema) -> dict[str, list[Schema]]:
    """Member -> everything that states a type for it, also in branches; undeclared members are ``*``."""
    found: dict[str, list[Schema]] = {}
    waiting: list[Any] = [schema]
    seen: list[Schema] = []
    while waiting:
        here = resolved(waiting.pop(0), schema)
        if not here or any(here is each for each in seen):
            continue
        seen.append(here)
        members = [*properties_of(here, schema).items()]
        members += [("*", each) for each in _values(here.get("patternProperties"))]
        members += [("*", here[word]) for word in _REST if isinstance(here.get(word), Mapping) and here[word]]
        for name, member in members:
            stated = found.setdefault(name, [])
            if types_of(member, schema):
                stated.append(member)
        for word in ("allOf", "anyOf", "oneOf"):
            waiting += here.get(word, ())
        waiting += [here.get(word) for word in ("then", "else")]
        waiting += _values(here.get("dependentSchemas"))
    return found


def _values(schemas: Any) -> list[Any]:
    return list(schemas.values()) if isinstance(schemas, Mapping) else []


def required_member(schema: Schema, pointer: tuple[str, ...]) -> tuple[Schema, bool] | None:
    """The schema that a path of member names leads to, and whether every member on the way is required.

    None when a member on the way is not declared.
    """
    here: Schema = schema
    is_required = True
    for name in pointer:
        members = properties_of(here, schema)
        if name not in members:
            return None
        # An object that may also be null can leave its members out.
        is_required = (
            is_required and name in required_of(here, schema) and types_of(here, schema) <= {"object"}
        )
        here = resolved(members[name], schema)
    return here, is_required


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, (list, tuple)) else "number"
