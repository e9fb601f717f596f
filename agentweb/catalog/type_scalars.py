"""The scalar types of hints: what each is in JSON Schema, and how its JSON value becomes it.

Every value that the schema accepts converts without an error, also where RFC 3339 allows what Python's
``datetime`` does not have: the year 0 (refused by a pattern) and the second 60 (read as 59).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any, Final
from uuid import UUID

from agentweb.wire.strict_json import Json

Convert = Callable[[Any], Any]

_LEAP_SECOND: Final = re.compile(r":60(?=[.Zz+-])")
_NO_YEAR_0: Final = "^(?!0000)"


def to_int(value: Any) -> int:
    """A JSON integer, which may be written 2.0."""
    return int(value)


def to_float(value: Any) -> float:
    """By way of its text, so that a huge integer becomes infinity rather than an OverflowError."""
    return float(Decimal(value)) if isinstance(value, int) else float(value)


def to_decimal(value: Any) -> Decimal:
    """The decimal that was written; a float is read as its shortest text."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def to_date(value: str) -> date:
    return date.fromisoformat(value)


def to_datetime(value: str) -> datetime:
    """Always aware: RFC 3339 wants an offset."""
    return datetime.fromisoformat(_pythonic(value))


def to_time(value: str) -> time:
    """Always aware: RFC 3339 wants an offset."""
    return time.fromisoformat(_pythonic(value))


def _pythonic(value: str) -> str:
    return _LEAP_SECOND.sub(":59", value.upper())


def scalar_schema(hint: Any) -> tuple[dict[str, Any], Convert | None] | None:
    """A fresh schema and the conversion (None: as it is) of a scalar type, or None when ``hint`` is none."""
    try:
        found = _SCALARS.get(hint)
    except TypeError:  # unhashable
        return None
    return None if found is None else (dict(found[0]), found[1])


_SCALARS: Final[dict[Any, tuple[dict[str, Any], Convert | None]]] = {
    str: ({"type": "string"}, None),
    int: ({"type": "integer"}, to_int),
    bool: ({"type": "boolean"}, None),
    float: ({"type": "number"}, to_float),
    Decimal: ({"type": "number"}, to_decimal),
    None: ({"type": "null"}, None),
    NoneType: ({"type": "null"}, None),
    date: ({"type": "string", "format": "date", "pattern": _NO_YEAR_0}, to_date),
    datetime: ({"type": "string", "format": "date-time", "pattern": _NO_YEAR_0}, to_datetime),
    time: ({"type": "string", "format": "time"}, to_time),
    UUID: ({"type": "string", "format": "uuid"}, UUID),
}


class NotJson(ValueError):
    """A default that has no JSON form."""


def as_json(value: Any) -> Json:
    """The JSON of a default value, as it would be sent. Raises NotJson."""
    if isinstance(value, Enum):
        return as_json(value.value)
    if isinstance(value, (str, int, float, Decimal, NoneType)):
        return value
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, (set, frozenset)):
        # Sorted: the order of a set differs between processes, a published document must not.
        return sorted((as_json(item) for item in value), key=repr)
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {name: as_json(member) for name, member in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: as_json(getattr(value, each.name)) for each in dataclasses.fields(value) if each.init
        }
    raise NotJson(type(value).__name__)
