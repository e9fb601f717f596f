"""Is a Python value plain JSON? Asked of what handlers return, before it is used any further."""

from __future__ import annotations

import math
from decimal import Decimal
from types import NoneType
from typing import Any, Final

from agentweb.wire.json_types import MAX_EXPONENT, MAX_NUMBER_LENGTH

_MAX_BITS: Final = (10**MAX_NUMBER_LENGTH - 1).bit_length()


def check_value(value: object, *, max_depth: int = 64, max_nodes: int = 100_000) -> None:
    """Raise ValueError, naming the JSON pointer and the type, unless ``value`` is plain JSON.

    Plain JSON is dict with str keys, list, str, bool, None, int, float and Decimal: finite numbers that
    ``loads`` would read again, text without lone surrogates, at most ``max_nodes`` values, nested at most
    ``max_depth`` deep (so nothing contains itself).
    """
    if isinstance(value, (dict, list)):
        _Check(max_depth, max_nodes).visit(value, (), 1)
    else:
        _check_scalar(value, ())


class _Check:
    """One walk. A path is ``(parent path, key)`` or empty, made into a pointer only for a message."""

    __slots__ = ("max_depth", "nodes_left")

    def __init__(self, max_depth: int, max_nodes: int) -> None:
        self.max_depth = max_depth
        self.nodes_left = max_nodes

    def visit(self, container: dict[Any, Any] | list[Any], path: tuple[Any, ...], depth: int) -> None:
        if depth > self.max_depth:
            raise ValueError(f"{_at(path)} nests deeper than {self.max_depth} levels, or contains itself.")
        self.nodes_left -= len(container)
        if self.nodes_left < 0:
            raise ValueError("The value has too many parts.")
        if isinstance(container, dict):
            for key in container:
                _check_key(key, path)
            members = container.items()
        else:
            members = enumerate(container)  # type: ignore[assignment]
        for key, item in members:
            kind = type(item)
            if kind is NoneType or kind is bool or (kind is str and item.isascii()):
                continue
            if kind is dict or kind is list or isinstance(item, (dict, list)):
                self.visit(item, (path, key), depth + 1)
            else:
                _check_scalar(item, (path, key))


def _check_key(key: object, path: tuple[Any, ...]) -> None:
    if not isinstance(key, str):
        raise ValueError(f"{_at(path)} has a member name of type {type(key).__name__}; names are strings.")
    if not _is_text(key):
        raise ValueError(f"{_at(path)} has a member name with half of a surrogate pair.")


def _check_scalar(value: object, path: tuple[Any, ...]) -> None:
    problem: str | None
    if isinstance(value, str):
        problem = None if _is_text(value) else "holds half of a surrogate pair."
    elif isinstance(value, (bool, NoneType)):
        problem = None
    elif isinstance(value, int):
        # Not by its text: the text of a huge int is slow, or refused by the interpreter.
        problem = None if value.bit_length() <= _MAX_BITS else "is an integer with more than 40 digits."
    elif isinstance(value, float):
        problem = None if math.isfinite(value) else "is not a finite number."
    elif isinstance(value, Decimal):
        problem = _decimal_problem(value)
    else:
        problem = (
            f"is of type {type(value).__name__}; use dict, list, str, int, float, Decimal, bool or None."
        )
    if problem:
        raise ValueError(f"{_at(path)} {problem}")


def _decimal_problem(value: Decimal) -> str | None:
    if not value.is_finite():
        return "is not a finite number."
    if abs(value.adjusted()) > MAX_EXPONENT or len(value.as_tuple().digits) > MAX_NUMBER_LENGTH:
        return f"is a Decimal beyond {MAX_NUMBER_LENGTH} digits or 10^±{MAX_EXPONENT}."
    return None


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _at(path: tuple[Any, ...]) -> str:
    keys: list[str] = []
    while path:
        path, key = path
        keys.append(str(key).replace("~", "~0").replace("/", "~1"))
    if not keys:
        return "The value"
    # An RFC 6901 pointer; ascii() because a name may itself hold what cannot be printed.
    return "The value at " + ascii("".join(f"/{key}" for key in reversed(keys)))
