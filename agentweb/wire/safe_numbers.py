"""Numbers that every reader of JSON reads alike: none is beyond ±(2^53-1), where doubles stop being exact.

What is published holds no others, because a document with one has no canonical form (RFC 8785), and so no digest.
What comes from elsewhere may hold them; its digest takes the nearest double.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from agentweb.wire.json_types import MAX_SAFE_INTEGER, Json
from agentweb.wire.json_values import check_value

Path = tuple[str | int, ...]


def is_safe(value: object) -> bool:
    """False for a number beyond ±(2^53-1); True for whatever else, also for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return True
    return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER


def unsafe_numbers(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every number in ``value`` that is not safe, with the keys and places that lead to it."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from unsafe_numbers(member, (*path, name))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from unsafe_numbers(item, (*path, place))
    elif not is_safe(value):
        yield path, value


def check_published(value: Json) -> None:
    """Raise ValueError, naming the place, unless ``value`` is plain JSON (``check_value``) with safe numbers only."""
    check_value(value)
    for path, number in unsafe_numbers(value):
        at = "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)
        raise ValueError(
            f"The number {number} at {at or 'the top'!a} is beyond ±(2^53-1), where other programs read another "
            "number. Leave it out and check it in the handler, or write it as a text."
        )


def nearest_doubles(value: Json) -> Json:
    """A copy in which each integer that is not safe is its nearest double."""
    if isinstance(value, dict):
        return {name: nearest_doubles(member) for name, member in value.items()}
    if isinstance(value, list):
        return [nearest_doubles(item) for item in value]
    return float(value) if isinstance(value, int) and not is_safe(value) else value
