"""Where an action's schemas come from: a dict that the author wrote, or types.

A hand-written schema stays as it is and the handler gets plain JSON values. A schema derived from types is
closed, and ``to_python`` turns an input that it accepts into the typed value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentweb.wire.strict_json import Json, check_value

EMPTY_INPUT: Final[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}
"""The schema of an action that says nothing about its input."""


class SourceError(ValueError):
    """No schema can be made of what was given; the text says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """A schema, and what makes the handler's value of an input that the schema accepts."""

    schema: dict[str, Any]
    to_python: Callable[[Json], Any]


def input_source(handler: Callable[..., Any], given: Any) -> Source:
    """The input's source: ``given`` (a dict or a type), else the hint of the handler's first parameter, else nothing.

    Raises SourceError.
    """
    if isinstance(given, Mapping):
        return Source(_written(given), as_it_is)
    if given is None:
        return Source(copy.deepcopy(EMPTY_INPUT), as_it_is)
    raise SourceError(f"{given!r} is neither a schema nor a type")


def output_schema(handler: Callable[..., Any], given: Any) -> dict[str, Any] | None:
    """The output's schema, if there is one; raises SourceError."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return _written(given)
    raise SourceError(f"{given!r} is neither a schema nor a type")


def as_it_is(value: Json) -> Any:
    """The conversion of hand-written schemas: none."""
    return value


def _written(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy, so that what is published cannot change later."""
    plain = dict(schema)
    check_value(plain)
    return copy.deepcopy(plain)
