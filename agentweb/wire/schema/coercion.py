"""Query strings into typed values, by the schema (AGENT_ACTIONS sections 11 and "Where input travels").

A query string knows texts only, so the schema says what a text means: digits for ``integer``, a JSON number
for ``number``, ``true`` or ``false`` for ``boolean``, repetition for ``array``. Nothing is guessed: ``1e3`` is
no integer, ``yes`` is no boolean, ``" 5"`` and ``"٣"`` are no numbers. Where a string is allowed, the text is
a string. A text that cannot be read stays as it is and is a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from agentweb.wire.json_types import MAX_EXPONENT, MAX_NUMBER_LENGTH
from agentweb.wire.schema.equality import key_of
from agentweb.wire.schema.failures import Path
from agentweb.wire.schema.loading import Loaded
from agentweb.wire.schema.numbers import is_integer, is_number
from agentweb.wire.schema.patterns import compile_pattern
from agentweb.wire.schema.problems import Problem, field_of, make_problem, settle
from agentweb.wire.schema.wording import quoted

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_MAX_SCHEMAS: Final = 1_000

_EXPECTED: Final = {
    "integer": "a whole number in digits, such as 12",
    "number": "a number, such as 12.5",
    "boolean": "true or false",
    "null": "null",
}


def coerce_strings(loaded: Loaded, pairs: list[tuple[str, str]]) -> tuple[dict[str, Any], list[Problem]]:
    """The input object that ``pairs`` (decoded names and texts, in order) stand for, and what is wrong.

    Members that could not be read are still there as text, unknown members too, so that checking the object
    afterwards finds everything else.
    """
    texts: dict[str, list[str]] = {}
    for name, text in pairs:
        texts.setdefault(name, []).append(text)
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, given in texts.items():
        values[name], found = _member(loaded, name, given)
        problems.extend(found)
    return values, settle(problems)[0]


def coerce_text(loaded: Loaded, text: str) -> tuple[Any, list[Problem]]:
    """The value that one text stands for, where the whole input is a scalar, and what is wrong."""
    return _scalar((), text, _meaning(loaded, [loaded.schema]))


def _member(loaded: Loaded, name: str, texts: list[str]) -> tuple[Any, list[Problem]]:
    schemas = list(_member_schemas(loaded, name))
    meaning = _meaning(loaded, schemas)
    if "array" in meaning.kinds:
        items: list[Any] = []
        problems: list[Problem] = []
        for position, text in enumerate(texts):
            item_schemas = list(_item_schemas(loaded, schemas, position))
            item, found = _scalar((name, position), text, _meaning(loaded, item_schemas))
            items.append(item)
            problems.extend(found)
        return items, problems
    if len(texts) > 1:
        message = f"{quoted(name)} is given {len(texts)} times; give it once."
        return texts[0], [make_problem((name,), "duplicate", message)]
    return _scalar((name,), texts[0], meaning)


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a text may stand for: types that are open to any value, and single values (``enum``, ``const``)."""

    open_kinds: set[str]
    choices: list[Any]

    @property
    def kinds(self) -> set[str]:
        return self.open_kinds | {_kind_of(choice) for choice in self.choices}


def _scalar(path: Path, text: str, meaning: _Meaning) -> tuple[Any, list[Problem]]:
    kinds = meaning.kinds
    if not kinds or "string" in meaning.open_kinds or text in meaning.choices:
        return text, []
    read = _read(text, kinds)
    if "string" in kinds:
        # Some choices are texts and some are not: the text is the choice it spells.
        return (read[0] if read and key_of(read[0]) in map(key_of, meaning.choices) else text), []
    if read:
        return read[0], []
    name = quoted(field_of(path))
    readable = [kind for kind in _EXPECTED if kind in kinds]
    if "integer" in readable and "number" in readable:
        readable.remove("integer")
    if not readable:
        message = f"{name} is an object, and an object cannot travel in the query string; leave it out."
        return text, [make_problem(path, "type", message, expected="object")]
    message = f"{name} must be {' or '.join(_EXPECTED[kind] for kind in readable)}."
    return text, [
        make_problem(path, "type", message, expected=readable[0] if len(readable) == 1 else readable)
    ]


def _read(text: str, kinds: set[str]) -> tuple[Any] | None:
    """The value that ``text`` spells in one of ``kinds`` other than string, or None."""
    if kinds & {"integer", "number"} and len(text) <= MAX_NUMBER_LENGTH:
        if _INTEGER.fullmatch(text):
            return (int(text),)
        if "number" in kinds and _NUMBER.fullmatch(text):
            number = Decimal(text)
            exponent = number.as_tuple().exponent
            if isinstance(exponent, int) and max(abs(exponent), abs(number.adjusted())) <= MAX_EXPONENT:
                return (number,)
    if "boolean" in kinds and text in {"true", "false"}:
        return (text == "true",)
    if "null" in kinds and text == "null":
        return (None,)
    return None


def _reach(loaded: Loaded, schemas: list[Any]) -> Iterator[dict[str, Any]]:
    """``schemas`` and all that apply in place to the same value, each once."""
    waiting = list(schemas)
    seen: set[int] = set()
    while waiting and len(seen) < _MAX_SCHEMAS:
        schema = waiting.pop(0)
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        waiting.append(loaded.target(schema))
        for keyword in ("allOf", "anyOf", "oneOf"):
            waiting.extend(schema.get(keyword, ()))
        waiting.extend(schema.get(keyword) for keyword in ("if", "then", "else"))
        waiting.extend(schema.get("dependentSchemas", {}).values())


def _member_schemas(loaded: Loaded, name: str) -> Iterator[Any]:
    for schema in _reach(loaded, [loaded.schema]):
        known = name in schema.get("properties", {})
        if known:
            yield schema["properties"][name]
        for pattern, child in schema.get("patternProperties", {}).items():
            if _fits(pattern, name):
                known = True
                yield child
        if not known:
            yield schema.get("additionalProperties")
            yield schema.get("unevaluatedProperties")


def _fits(pattern: str, name: str) -> bool:
    try:
        return compile_pattern(pattern).matches(name)
    except TimeoutError:
        return False


def _item_schemas(loaded: Loaded, schemas: list[Any], position: int) -> Iterator[Any]:
    for schema in _reach(loaded, schemas):
        first = schema.get("prefixItems", ())
        yield first[position] if position < len(first) else schema.get("items")


def _meaning(loaded: Loaded, schemas: list[Any]) -> _Meaning:
    kinds: set[str] = set()
    choices: list[Any] = []
    for schema in _reach(loaded, schemas):
        if "const" in schema or "enum" in schema:
            choices.extend([schema["const"]] if "const" in schema else schema["enum"])
        else:
            declared = schema.get("type", ())
            kinds.update([declared] if isinstance(declared, str) else declared)
    return _Meaning(kinds, choices)


def _kind_of(value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    if is_number(value):
        return "integer" if is_integer(value) else "number"
    return "array" if isinstance(value, list) else "object"
