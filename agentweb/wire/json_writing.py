"""JSON as answers carry it: compact, in UTF-8, exact."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any, Final

from agentweb.wire.json_types import MAX_EXPONENT, MAX_NUMBER_LENGTH, Json

_LARGE: Final = 10.0**MAX_EXPONENT


class _TextNeededError(Exception):
    """A Decimal has no int or float of the same text, so the whole document is written by hand."""


def dumps(value: Json) -> bytes:
    """Compact JSON in UTF-8 for answers: members in their order, a Decimal as a number of its exact value.

    Raises ValueError for NaN and infinities, member names that are not strings, lone surrogates, cycles and
    values that are not JSON.
    """
    try:
        text = _encode(value)
    except TypeError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("The value nests too deep to be written.") from None
    # After encoding, because encoding proved that the value has no cycle.
    _refuse_other_keys(value)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("A string holds half of a surrogate pair.") from None


def _decimal_number(value: Any) -> int | float:
    """The int or float whose JSON text is the exact Decimal, for the C encoder."""
    if not isinstance(value, Decimal):
        raise TypeError(f"A value of type {type(value).__name__} is not JSON.")
    if not value.is_finite():
        raise ValueError("NaN and infinities are not JSON.")
    number = float(value)
    if number.is_integer() and abs(number) < _LARGE:
        integer = int(value)
        if integer == value:
            return integer
    elif math.isfinite(number) and Decimal(repr(number)) == value:
        return number
    raise _TextNeededError


_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_decimal_number
)


def _encode(value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    except _TextNeededError:
        return _write(value)


def _write(value: Any) -> str:
    if isinstance(value, Decimal):
        try:
            return _ENCODER.encode(value)
        except _TextNeededError:
            return _decimal_text(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_ENCODER.encode(key)}:{_write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_write, value)) + "]"
    return _ENCODER.encode(value)


def _decimal_text(value: Decimal) -> str:
    """All digits but trailing zeros after the point, in scientific notation for very large and small numbers."""
    plain = format(value, "f") if abs(value.adjusted()) <= MAX_NUMBER_LENGTH else None
    if plain is not None:
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    sign, digits, _exponent = value.as_tuple()
    first, *others = map(str, digits)
    fraction = "".join(others).rstrip("0")
    point = "." if fraction else ""
    return f"{'-' if sign else ''}{first}{point}{fraction}e{value.adjusted()}"


def _refuse_other_keys(value: Any) -> None:
    # The standard encoder turns 1, None and True into member names without a word.
    stack: list[Any] = [value]
    while stack:
        container = stack.pop()
        if isinstance(container, dict):
            for kind in set(map(type, container)):
                if not issubclass(kind, str):
                    raise ValueError(f"Member names are strings, not {kind.__name__}.")
            container = container.values()
        elif not isinstance(container, (list, tuple)):
            continue
        stack.extend([item for item in container if isinstance(item, (dict, list, tuple))])
