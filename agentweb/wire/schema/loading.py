"""Load a schema: copy it, check it, resolve its references, refuse what is unsafe.

A loaded schema is a private copy in which numbers are int or Decimal, ``enum`` lists are Choices, no
``$schema`` is left, and every ``$ref`` has been looked up without any retrieval. Schemas of other sites
(``foreign``) are hostile until they have passed further limits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from agentweb.wire.schema.equality import Choices
from agentweb.wire.schema.failures import Path
from agentweb.wire.schema.numbers import normal
from agentweb.wire.schema.pattern_shapes import shape_problem
from agentweb.wire.schema.patterns import compile_pattern
from agentweb.wire.schema.problems import Problem, make_problem, settle
from agentweb.wire.schema.regex import PatternError

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

ONE_SCHEMA: Final = (
    "additionalProperties",
    "items",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
)
LIST_OF_SCHEMAS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
MAP_OF_SCHEMAS: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
_REFERENCES: Final = ("$ref", "$dynamicRef")
_TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")
_SHOWN: Final = 60

_META_VALIDATOR: Final = Draft202012Validator(Draft202012Validator.META_SCHEMA)


class SchemaError(ValueError):
    """The schema is broken or unsafe. ``problems`` lists what is wrong; pointers are into the schema."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        first = problems[0]
        more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{first['pointer'] or 'the schema'}: {first['message']}{more}")


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a schema may be: levels of nesting, nodes, characters in all."""

    depth: int
    nodes: int
    characters: int


FOREIGN_SECONDS: Final = 2.0
"""Processor time that the patterns of another site's schema may take to be read: a few hundred costly ones fit in."""

OWN: Final = Limits(depth=100, nodes=200_000, characters=5_000_000)
FOREIGN: Final = Limits(depth=40, nodes=5_000, characters=100_000)


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A checked copy of a schema, and the target of each ``$ref`` by the id of the node that holds it.

    ``is_static``: no inner ``$id`` starts a resource of its own, so that ``targets`` holds whatever the way by
    which a reference is reached, and no node has two references.
    """

    schema: Any
    targets: dict[int, Any]
    is_static: bool

    def target(self, node: dict[str, Any]) -> Any:
        """The schema that ``node``'s ``$ref`` (or else ``$dynamicRef``) points at, or None without one."""
        return self.targets.get(id(node))


def copy_schema(schema: Any, *, foreign: bool = False) -> Any:
    """A deep copy with exact numbers. Raises SchemaError when it is not plain JSON or too large."""
    return _Copier(FOREIGN if foreign else OWN).copy(schema, ())


def load(copied: Any, *, foreign: bool = False) -> Loaded:
    """Check a schema made by ``copy_schema`` and resolve its references. Raises SchemaError."""
    _check_shape(copied)
    nodes = list(subschemas(copied))
    problems: list[Problem] = []
    end = time.thread_time() + FOREIGN_SECONDS
    for path, node in nodes:
        problems += _node_problems(path, node, foreign)
        if foreign and time.thread_time() > end:
            raise _refusal((), "too_complex", "The patterns of this schema take too long to be read.")
    if problems:
        raise SchemaError(settle(problems)[0])
    for _, node in nodes:
        node.pop("$schema", None)  # a validator that meets it would replace itself by the stock one
        if "enum" in node:
            node["enum"] = Choices(node["enum"])
    is_static = not any(
        (path and "$id" in node) or ("$ref" in node and "$dynamicRef" in node) for path, node in nodes
    )
    loaded = Loaded(copied, _resolve(copied, {id(node) for _, node in nodes}), is_static)
    _refuse_loops(loaded, nodes)
    return loaded


def subschemas(schema: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every schema object inside ``schema``, itself first, with its path. Boolean schemas are left out."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for below, child in _children(schema):
        yield from subschemas(child, path + below)


def _children(schema: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    for keyword in ONE_SCHEMA:
        if keyword in schema:
            yield (keyword,), schema[keyword]
    for keyword in LIST_OF_SCHEMAS:
        for position, child in enumerate(schema.get(keyword, ())):
            yield (keyword, position), child
    for keyword in MAP_OF_SCHEMAS:
        for name, child in schema.get(keyword, {}).items():
            yield (keyword, name), child


class _Copier:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.nodes = 0
        self.characters = 0

    def copy(self, value: Any, path: Path) -> Any:
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            raise _refusal((), "too_large", f"The schema has more than {self.limits.nodes} nodes.")
        if len(path) > self.limits.depth:
            raise _refusal(path, "too_deep", f"The schema is nested deeper than {self.limits.depth} levels.")
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float, Decimal)):
            try:
                return normal(value)
            except ValueError as error:
                raise _refusal(path, "number_out_of_range", f"Here {error}.") from None
        if isinstance(value, (list, tuple)):
            return [self.copy(each, (*path, position)) for position, each in enumerate(value)]
        if isinstance(value, dict):
            for name in value:
                if not isinstance(name, str):
                    raise _refusal(path, "type", "A member name is not a string.")
            return {self.text(name): self.copy(each, (*path, str(name))) for name, each in value.items()}
        raise _refusal(path, "type", f"A {type(value).__name__} is not JSON.")

    def text(self, value: str) -> str:
        self.characters += len(value)
        if self.characters > self.limits.characters:
            raise _refusal((), "too_large", f"The schema has more than {self.limits.characters} characters.")
        return str(value)


def _refusal(path: Path, code: str, message: str) -> SchemaError:
    return SchemaError([make_problem(path, code, message)])


def _check_shape(schema: Any) -> None:
    problems = [
        make_problem(
            tuple(error.absolute_path),
            str(error.validator),
            _why(error),
        )
        for error in _META_VALIDATOR.iter_errors(schema)
    ]
    if problems:
        raise SchemaError(settle(problems)[0])


def _why(error: Any) -> str:
    """What is wrong with a keyword, and what it may be; the author of a schema reads it, or an agent's owner."""
    value, place = error.instance, list(error.absolute_path)
    if place[-1:] == ["type"] and isinstance(value, list):
        value = next((each for each in value if each not in _TYPES), value)
    shown = f"{json.dumps(value)[:_SHOWN]}" if isinstance(value, (str, int, bool, type(None))) else ""
    is_type = "type" in place[-2:] and not set(place[-2:-1]) & set(MAP_OF_SCHEMAS)
    if is_type and shown:
        near = get_close_matches(str(value), _TYPES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"{shown} is no type; allowed are {', '.join(_TYPES)}.{hint}"
    wanted = error.validator_value
    if error.validator == "type":
        kinds = wanted if isinstance(wanted, list) else [wanted]
        return f"{shown or 'This'} is not allowed here; allowed is a value of type {' or '.join(kinds)}."
    if error.validator == "enum" and shown:
        return f"{shown} is not allowed here; allowed are {', '.join(map(str, wanted))}."
    said = f"{shown} is not allowed here: it" if shown else "The value of this keyword"
    return f"{said} breaks the 2020-12 meta-schema (rule {error.validator})."


def _node_problems(path: Path, node: dict[str, Any], foreign: bool) -> Iterator[Problem]:
    if node.get("$schema", DIALECT).rstrip("#") != DIALECT:
        yield make_problem((*path, "$schema"), "$schema", f"Only {DIALECT} is understood.")
    if "$vocabulary" in node:
        yield make_problem((*path, "$vocabulary"), "$vocabulary", "Custom vocabularies are not understood.")
    if "dependencies" in node and not foreign:
        message = (
            "Draft 7's dependencies asserts nothing in 2020-12; use dependentRequired or dependentSchemas."
        )
        yield make_problem((*path, "dependencies"), "dependencies", message)
    for keyword in _REFERENCES:
        if not node.get(keyword, "#").startswith("#"):
            message = "Only references inside the schema are followed; they start with '#'."
            yield make_problem((*path, keyword), keyword, message)
    patterns: list[tuple[Path, str]] = [
        (("patternProperties", text), text) for text in node.get("patternProperties", ())
    ]
    if "pattern" in node:
        patterns.append((("pattern",), node["pattern"]))
    for below, text in patterns:
        trouble = _pattern_problem(text, foreign)
        if trouble is not None:
            yield make_problem(path + below, "pattern", trouble)


def _pattern_problem(text: str, foreign: bool) -> str | None:
    if foreign and len(text) > 200:
        return "A pattern of another site may have at most 200 characters."
    try:
        node = compile_pattern(text).node
    except PatternError as error:
        return f"This is not an ECMA-262 regular expression: {error}."
    return shape_problem(node) if foreign else None


def _resolve(root: Any, known: set[int]) -> dict[int, Any]:
    targets: dict[int, Any] = {}
    problems: list[Problem] = []

    def visit(node: Any, path: Path, resolver: Any) -> None:
        if not isinstance(node, dict):
            return
        resolver = resolver.in_subresource(DRAFT202012.create_resource(node))
        for keyword in _REFERENCES:
            if keyword not in node:
                continue
            try:
                target = resolver.lookup(node[keyword]).contents
            except (Unresolvable, ValueError, TypeError, LookupError):
                message = "This reference points at nothing in the schema."
                problems.append(make_problem((*path, keyword), keyword, message))
                continue
            if not isinstance(target, bool) and id(target) not in known:
                message = "This reference points at no schema; keep shared schemas under $defs."
                problems.append(make_problem((*path, keyword), keyword, message))
                continue
            targets.setdefault(id(node), target)
        for below, child in _children(node):
            visit(child, path + below, resolver)

    # An empty registry has nothing to retrieve with: neither network nor files are ever touched.
    visit(root, (), Registry().resolver_with_root(DRAFT202012.create_resource(root)))
    if problems:
        raise SchemaError(settle(problems)[0])
    return targets


def _refuse_loops(loaded: Loaded, nodes: list[tuple[Path, dict[str, Any]]]) -> None:
    """Refuse references that come back to themselves without going into the value: they never end."""
    done: set[int] = set()
    for path, start in nodes:
        if id(start) in done:
            continue
        open_nodes: set[int] = {id(start)}
        stack = [(start, iter(_in_place(loaded, start)))]
        while stack:
            node, steps = stack[-1]
            for following in steps:
                if id(following) in open_nodes:
                    raise _refusal(
                        path, "$ref", "A reference leads back to itself without consuming any input."
                    )
                if id(following) not in done:
                    open_nodes.add(id(following))
                    stack.append((following, iter(_in_place(loaded, following))))
                    break
            else:
                stack.pop()
                open_nodes.discard(id(node))
                done.add(id(node))


def _in_place(loaded: Loaded, node: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas that are applied to the same value as ``node``."""
    found: list[Any] = [loaded.target(node)]
    for keyword in _IN_PLACE:
        value = node.get(keyword)
        if keyword in LIST_OF_SCHEMAS and isinstance(value, list):
            found.extend(value)
        elif keyword in MAP_OF_SCHEMAS and isinstance(value, dict):
            found.extend(value.values())
        else:
            found.append(value)
    return [each for each in found if isinstance(each, dict)]
