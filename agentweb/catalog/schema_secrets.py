"""Secrets in an input: what a schema declares as typed unseen (``format: password``), at any depth.

A person who decides about a call must not read secrets, and must not overlook anything else: whoever writes the input
could otherwise hide what they want done under a name like ``secret``. So a member is hidden when the schema declares
it, by its format or by its name; under a name that no schema declares, one plain value is hidden, in other words, and
what holds more is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from agentweb.catalog.schema_shapes import Schema, resolved
from agentweb.wire.errors import InputError
from agentweb.wire.json_types import Json
from agentweb.wire.schema.patterns import compile_pattern

HIDDEN: Final = "[hidden]"
HIDDEN_UNDECLARED: Final = "[hidden, not declared]"
"""In place of a value whose name sounds secret and of which the action says nothing."""

_MARKS: Final = frozenset({HIDDEN, HIDDEN_UNDECLARED})
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONAL: Final = ("then", "else")
_REST: Final = ("additionalProperties", "unevaluatedProperties")
_MAX_SCHEMAS: Final = 200
_SHORTEST: Final = 3
"""A secret of a letter or two stands in any sentence, and leaving it out there would tell it."""


def concealed(value: Json, schema: Schema, is_sensitive: Callable[[str], bool]) -> Json:
    """The value as people may see it: its secrets replaced by ``HIDDEN`` or ``HIDDEN_UNDECLARED``.

    ``is_sensitive`` knows names of secrets. A text that is one of the marks itself is put in quotation marks.
    """
    return _concealed(value, _all_of([schema], schema), schema, is_sensitive)


def _concealed(value: Json, here: list[Schema], root: Schema, is_sensitive: Callable[[str], bool]) -> Json:
    if _is_secret(here):
        return HIDDEN
    if isinstance(value, dict):
        shown: dict[str, Json] = {}
        for name, member in value.items():
            inner, is_declared = _member(here, root, name)
            if is_sensitive(name) and is_declared:
                shown[name] = HIDDEN
            elif is_sensitive(name) and not isinstance(member, (dict, list)):
                shown[name] = HIDDEN if _is_secret(inner) else HIDDEN_UNDECLARED
            else:
                shown[name] = _concealed(member, inner, root, is_sensitive)
        return shown
    if isinstance(value, list):
        return [
            _concealed(item, _item(here, root, number), root, is_sensitive)
            for number, item in enumerate(value)
        ]
    return f'"{value}"' if isinstance(value, str) and value in _MARKS else value


def without_secrets(error: InputError, value: Json, schema: Schema) -> InputError:
    """The same error, whose messages do not repeat what the schema declares secret."""
    secrets = {text.strip() for text in _texts(value, _all_of([schema], schema), schema)}
    for problem in error.problems or []:
        for secret in secrets:
            if len(secret) >= _SHORTEST:
                problem["message"] = problem["message"].replace(secret, "…")
    return error


def _texts(value: Json, here: list[Schema], root: Schema) -> Iterator[str]:
    if _is_secret(here) and not isinstance(value, (dict, list)):
        yield str(value)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _texts(member, _member(here, root, name)[0], root)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, _item(here, root, number), root)


def _is_secret(here: Sequence[Schema]) -> bool:
    return any(each.get("format") == "password" for each in here)


def _all_of(schemas: Sequence[Any], root: Schema) -> list[Schema]:
    """Every schema that speaks of one value: behind references and in branches, whether they apply or not."""
    waiting, found, seen = list(schemas), list[Schema](), set[int]()
    while waiting and len(found) < _MAX_SCHEMAS:
        here = resolved(waiting.pop(0), root)
        if not here or id(here) in seen:
            continue
        seen.add(id(here))
        found.append(here)
        for word in _BRANCHES:
            branches = here.get(word)
            waiting += branches if isinstance(branches, list) else []
        waiting += [here[word] for word in _CONDITIONAL if word in here]
        dependent = here.get("dependentSchemas")
        waiting += dependent.values() if isinstance(dependent, dict) else []
    return found


def _member(here: Sequence[Schema], root: Schema, name: str) -> tuple[list[Schema], bool]:
    """(what the schemas say of a member, whether one of them declares it by its name)."""
    said: list[Any] = []
    is_declared = False
    for each in here:
        properties = each.get("properties")
        if isinstance(properties, dict) and name in properties:
            said.append(properties[name])
            is_declared = True
        patterns = each.get("patternProperties")
        if isinstance(patterns, dict):
            said += [inner for pattern, inner in patterns.items() if compile_pattern(pattern).matches(name)]
        said += [each[word] for word in _REST if word in each]
    return _all_of(said, root), is_declared


def _item(here: Sequence[Schema], root: Schema, number: int) -> list[Schema]:
    said: list[Any] = []
    for each in here:
        first = each.get("prefixItems")
        if isinstance(first, list) and number < len(first):
            said.append(first[number])
        elif "items" in each:
            said.append(each["items"])
        said += [each[word] for word in ("contains", "unevaluatedItems") if word in each]
    return _all_of(said, root)
