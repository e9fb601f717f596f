"""OpenAPI's dialect of JSON Schema as JSON Schema 2020-12 (AGENT_ACTIONS section 12).

``nullable`` becomes a type, boolean ``exclusiveMinimum`` a number, ``example`` ``examples``; members for the other
direction go, and what only OpenAPI knows (``x-…``, ``discriminator``, formats of numbers). Components become
``$defs`` when they are recursive or used more than once, and are written out in place otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final

COMPONENTS: Final = "#/components/schemas/"
_DEFS: Final = "#/$defs/"

_SCHEMAS: Final = ("additionalProperties", "items", "not", "contains", "propertyNames", "if", "then", "else")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS: Final = ("properties", "patternProperties", "dependentSchemas")
_UNKNOWN: Final = frozenset(
    {"nullable", "readOnly", "writeOnly", "discriminator", "xml", "externalDocs", "example"}
)
_NUMBER_FORMATS: Final = frozenset({"int32", "int64", "float", "double", "decimal", "byte", "binary"})
_BOUNDS: Final = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))

Schema = dict[str, Any]


def converted(schema: Mapping[str, Any] | bool, *, drop: str) -> Any:
    """The schema in 2020-12; ``drop`` (``readOnly`` or ``writeOnly``) marks members that are left out."""
    if isinstance(schema, bool):
        return schema
    found = {
        word: copy.deepcopy(value)
        for word, value in schema.items()
        if word not in _UNKNOWN and not word.startswith("x-")
    }
    if schema.get("format") == "password" and schema.get("writeOnly") is True:
        found["writeOnly"] = True
    if found.get("format") in _NUMBER_FORMATS:
        del found["format"]
    if "example" in schema:
        found.setdefault("examples", [schema["example"]])
    for bound, exclusive in _BOUNDS:
        if isinstance(found.get(exclusive), bool) and found.pop(exclusive) and bound in found:
            found[exclusive] = found.pop(bound)
    _convert_parts(found, drop)
    return _or_null(found) if schema.get("nullable") is True else found


def _convert_parts(found: Schema, drop: str) -> None:
    left_out = [name for name, member in found.get("properties", {}).items() if _is_marked(member, drop)]
    for name in left_out:
        del found["properties"][name]
    if left_out and "required" in found:
        found["required"] = [name for name in found["required"] if name not in left_out]
    if not found.get("required", True):
        del found["required"]
    for word in _SCHEMAS:
        if isinstance(found.get(word), Mapping):
            found[word] = converted(found[word], drop=drop)
    for word in _LISTS:
        if isinstance(found.get(word), list):
            found[word] = [converted(each, drop=drop) for each in found[word]]
    for word in _MAPS:
        if isinstance(found.get(word), Mapping):
            found[word] = {name: converted(each, drop=drop) for name, each in found[word].items()}
    if len(found.get("allOf", ())) == 1 and not found.keys() & found["allOf"][0].keys():
        # Only there so that a $ref could have words beside it, which it may in 2020-12.
        found.update(found.pop("allOf")[0])


def _is_marked(member: Any, drop: str) -> bool:
    return isinstance(member, Mapping) and member.get(drop) is True


def _or_null(schema: Schema) -> Schema:
    """The schema, or null: also beside ``enum``, ``$ref`` and branches."""
    if not schema.keys() - {"title", "description", "default", "examples", "deprecated"}:
        return schema
    kinds = schema.get("type")
    if schema.keys() & {"$ref", "allOf", "oneOf", "anyOf", "not", "const", "if"} or kinds is None:
        if "enum" in schema and kinds is None:
            return _with_null_choice(schema)
        words: Schema = {
            word: schema.pop(word)
            for word in ("title", "description", "default", "deprecated")
            if word in schema
        }
        branches = schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]
        return {**words, "anyOf": [*branches, {"type": "null"}]}
    listed = [kinds] if isinstance(kinds, str) else list(kinds)
    schema["type"] = listed if "null" in listed else [*listed, "null"]
    return _with_null_choice(schema) if "enum" in schema else schema


def _with_null_choice(schema: Schema) -> Schema:
    if None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


def or_null(schema: Schema) -> Schema:
    """A copy of a 2020-12 schema that also accepts null."""
    return _or_null(dict(schema))


def assembled(root: Schema, components: Mapping[str, Schema]) -> Schema:
    """The root with what it refers to: in place, or under ``$defs`` what is recursive or used more than once."""
    used = _reached(root, components)
    counts = dict.fromkeys(used, 0)
    for each in (root, *(components[name] for name in used)):
        for name in _references(each):
            counts[name] += 1
    kept = {name for name in used if counts[name] > 1 or name in _reached(components[name], components)}
    placed: Schema = _placed(root, components, kept)
    reference = placed.get("$ref", "")
    if reference.startswith(_DEFS) and placed.keys() == {"$ref"}:
        # The outermost schema says its type and members where every reader looks for them.
        placed = _placed(components[reference.removeprefix(_DEFS)], components, kept)
    names = [name for name in used if name in kept]
    if not names:
        return placed
    return {**placed, "$defs": {name: _placed(components[name], components, kept) for name in names}}


def _reached(schema: Schema, components: Mapping[str, Schema]) -> list[str]:
    """The names of the components that a schema leads to, in the order in which they are met."""
    found: list[str] = []
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.append(name)
            waiting += _references(components[name])
    return found


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str) and reference.startswith(COMPONENTS):
            yield reference.removeprefix(COMPONENTS)
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _placed(value: Any, components: Mapping[str, Schema], kept: set[str]) -> Any:
    if isinstance(value, list):
        return [_placed(each, components, kept) for each in value]
    if not isinstance(value, Mapping):
        return value
    reference = value.get("$ref")
    if not isinstance(reference, str) or not reference.startswith(COMPONENTS):
        return {word: _placed(each, components, kept) for word, each in value.items()}
    name = reference.removeprefix(COMPONENTS)
    beside = {word: _placed(each, components, kept) for word, each in value.items() if word != "$ref"}
    if name in kept:
        return {"$ref": _DEFS + name, **beside}
    return {**_placed(components[name], components, kept), **beside}
