"""JSON with parts that are texts already: an envelope is passed on as it was signed, never read and written anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentweb.wire import json_writing


@dataclass(frozen=True, slots=True)
class Raw:
    """A JSON text, to be written as it is."""

    text: str


def dumps(value: Any) -> bytes:
    """``value`` as compact JSON in UTF-8; wherever a ``Raw`` stands in it, its text. ValueError as json_writing."""
    return write(value).encode("utf-8")


def write(value: Any) -> str:
    """The same as text."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict) and _has_raw(value.values()):
        members = (f"{_plain(name)}:{write(item)}" for name, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, (list, tuple)) and _has_raw(value):
        return "[" + ",".join(map(write, value)) + "]"
    return _plain(value)


def _has_raw(items: Any) -> bool:
    return any(
        isinstance(item, Raw)
        or (isinstance(item, dict) and _has_raw(item.values()))
        or (isinstance(item, (list, tuple)) and _has_raw(item))
        for item in items
    )


def _plain(value: Any) -> str:
    return json_writing.dumps(value).decode("utf-8")
