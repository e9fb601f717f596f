"""``Annotated[int, ...]``: what the extras say about a value, as keywords of JSON Schema.

A dict holds keywords, a text is the description, and objects in the manner of ``annotated_types`` are known by
their attributes (``ge``, ``max_length`` …). A keyword may only be added, never replaced, so an extra can narrow
what the type accepts but not widen it, and the conversion to the type still holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from agentweb.catalog.declaring import text_of

_NUMBERS: Final = frozenset({"integer", "number"})
_BOUNDS: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_LENGTHS: Final = {
    "min_length": {"string": "minLength", "array": "minItems", "object": "minProperties"},
    "max_length": {"string": "maxLength", "array": "maxItems", "object": "maxProperties"},
}
_WORDS: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
)
"""Keywords that assert nothing, and so may be replaced."""


class ConstraintError(ValueError):
    """An extra that does not go with its type; the text says why."""


def constrained(schema: Mapping[str, Any], extras: Iterable[Any], kinds: frozenset[str]) -> dict[str, Any]:
    """The schema with the keywords of the extras; ``kinds`` are the JSON types of its values.

    Extras that say nothing known are passed over, as is the custom of Annotated. Raises ConstraintError.
    """
    result = dict(schema)
    for extra in extras:
        for keyword, value in _keywords(extra, kinds):
            if keyword in _WORDS:
                result[keyword] = value
            elif keyword.startswith("$"):
                raise ConstraintError(f"{keyword} cannot be added to a type")
            elif result.setdefault(keyword, value) != value:
                raise ConstraintError(f"{keyword} is already {result[keyword]!r}")
    return result


def _keywords(extra: Any, kinds: frozenset[str]) -> list[tuple[str, Any]]:
    description = text_of(extra)
    if description is not None:
        return [("description", description)]
    if isinstance(extra, Mapping):
        if not all(isinstance(keyword, str) for keyword in extra):
            raise ConstraintError("a dict of keywords has texts as names")
        return list(extra.items())
    if isinstance(extra, re.Pattern):
        return [_for(kinds, frozenset({"string"}), "pattern", extra.pattern)]
    if isinstance(extra, type):
        return []
    found: list[tuple[str, Any]] = []
    documentation = getattr(extra, "documentation", None)  # typing_extensions.Doc
    if isinstance(documentation, str):
        found.append(("description", documentation))
    for attribute, keyword in _BOUNDS.items():
        value = getattr(extra, attribute, None)
        if _is_set(value):
            found.append(_for(kinds, _NUMBERS, keyword, value))
    for attribute, by_kind in _LENGTHS.items():
        value = getattr(extra, attribute, None)
        if _is_set(value) and value != 0:
            fitting = [keyword for kind, keyword in by_kind.items() if kind in kinds]
            if not fitting:
                raise ConstraintError(f"{attribute} does not go with {_said(kinds)}")
            found += [(keyword, value) for keyword in fitting]
    pattern = getattr(extra, "pattern", None)
    if _is_set(pattern):
        text = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
        found.append(_for(kinds, frozenset({"string"}), "pattern", text))
    return found


def _is_set(value: Any) -> bool:
    return value is not None and not callable(value)


def _for(kinds: frozenset[str], wanted: frozenset[str], keyword: str, value: Any) -> tuple[str, Any]:
    if not kinds & wanted:
        raise ConstraintError(f"{keyword} does not go with {_said(kinds)}")
    return keyword, value


def _said(kinds: frozenset[str]) -> str:
    return " or ".join(sorted(kinds)) or "a value of any type"
