"""JSON equality for JSON Schema: 1 equals 1.0, true does not equal 1, member order does not count.

JSON Schema 2020-12 core 4.2.2. Python's ``==`` says ``True == 1``, and ``0.1 != Decimal("0.1")``; comparing
3,000 objects pairwise for ``uniqueItems`` takes 14 seconds. So each value gets a hashable key instead, and
two values are equal exactly when their keys are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from decimal import Decimal
from typing import Any, Final

_BOOLEAN: Final = "boolean"
_ARRAY: Final = "array"
_OBJECT: Final = "object"


def key_of(value: Any) -> Hashable:
    """A hashable key; equal keys mean equal JSON values. ``value`` is plain JSON, no deeper than 64."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return (_BOOLEAN, value)
    if kind is float:
        # The shortest decimal text of the double, so that a parsed 0.1 equals a schema's Decimal("0.1").
        return Decimal(repr(value))
    if kind is list:
        return (_ARRAY, tuple([key_of(each) for each in value]))
    if kind is dict:
        return (_OBJECT, frozenset([(name, key_of(each)) for name, each in value.items()]))
    if isinstance(value, bool):
        return (_BOOLEAN, bool(value))
    if isinstance(value, list):
        return (_ARRAY, tuple([key_of(each) for each in value]))
    if isinstance(value, dict):
        return (_OBJECT, frozenset([(name, key_of(each)) for name, each in value.items()]))
    return value  # type: ignore[no-any-return]  # Decimal hashes and compares like the int it equals


def are_equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same value."""
    return key_of(one) == key_of(other)


def first_duplicate(values: Iterable[Any]) -> tuple[int, int] | None:
    """Positions ``(first, again)`` of the first repeated value, or None when all differ."""
    seen: dict[Hashable, int] = {}
    for position, value in enumerate(values):
        first = seen.setdefault(key_of(value), position)
        if first != position:
            return first, position
    return None


class Choices(list[Any]):
    """The values of an ``enum``, with their keys made once when the schema is loaded."""

    __slots__ = ("keys",)

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.keys = frozenset(key_of(each) for each in self)

    def has(self, value: Any) -> bool:
        """Whether ``value`` is one of the choices."""
        return key_of(value) in self.keys
