"""JSON equality for JSON Schema: 1 equals 1.0, true does not equal 1, member order does not count.

JSON Schema 2020-12 core 4.2.2. Python's ``==`` says ``True == 1``, and ``0.1 != Decimal("0.1")``; comparing
3,000 objects pairwise for ``uniqueItems`` takes 14 seconds. So each value gets a hashable key instead, and
two values are equal exactly when their keys are.

A number's key is its canonical text. Python's hash of a number is known to everyone: 40,000 different multiples of
2**61 - 1 all hash to 0, and putting them into one set takes a minute. The hash of a text is random.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, Final

from agentweb.wire.schema.run import running

_BOOLEAN: Final = "boolean"
_NUMBER: Final = "number"
_ARRAY: Final = "array"
_OBJECT: Final = "object"

# Exact: nothing is rounded, nothing raises.
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_SHORT: Final = 10**18


def key_of(value: Any) -> Hashable:
    """A hashable key; equal keys mean equal JSON values. ``value`` is plain JSON, no deeper than 64."""
    kind = type(value)
    if kind is str or value is None:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return _number_key(value)
    if kind is bool:
        return (_BOOLEAN, value)
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
    if isinstance(value, (int, float, Decimal)):
        return _number_key(value)
    return value  # type: ignore[no-any-return]


def _number_key(value: int | float | Decimal) -> Hashable:
    if isinstance(value, int) and value % 10 and -_SHORT < value < _SHORT:
        return (_NUMBER, int.__repr__(value))  # as the rest of this function would write it
    # The shortest decimal text of a double, so that a parsed 0.1 equals a schema's Decimal("0.1").
    number = Decimal(float.__repr__(value)) if isinstance(value, float) else Decimal(value)
    return (_NUMBER, str(number.normalize(_EXACT)) if number else "0")


def are_equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same value."""
    return key_of(one) == key_of(other)


def first_duplicate(values: Iterable[Any]) -> tuple[int, int] | None:
    """Positions ``(first, again)`` of the first repeated value, or None when all differ.

    Inside a validation each value is a step of its Run. Raises LimitExceeded.
    """
    run = running()
    seen: dict[Hashable, int] = {}
    for position, value in enumerate(values):
        if run is not None:
            run.step()
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
