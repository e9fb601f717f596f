"""Is a Python value plain JSON? Asked of what handlers return, before it is used any further."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from agentweb.wire.json_types import MAX_EXPONENT, MAX_NUMBER_LENGTH


def check_value(value: object, *, max_depth: int = 64, max_nodes: int = 100_000) -> None:
    """Raise ValueError, naming the JSON pointer and the type, unless ``value`` is plain JSON.

    Plain JSON is dict with str keys, list, str, bool, None, int, float and Decimal: finite numbers that
    ``loads`` would read again, text without lone surrogates, at most ``max_nodes`` values, nested at most
    ``max_depth`` deep (so nothing contains itself).
    """
    _Check(max_depth, max_nodes).visit(value, (), 0)


class _Check:
    __slots__ = ("max_depth", "max_nodes", "nodes")

    def __init__(self, max_depth: int, max_nodes: int) -> None:
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.nodes = 0

    def visit(self, value: object, path: tuple[Any, ...], depth: int) -> None:
        """``path`` is (parent path, key) or empty; it becomes a pointer only when something is wrong."""
        self.nodes += 1
        if self.nodes > self.max_nodes:
            raise ValueError(f"The value has more than {self.max_nodes} parts.")
        if value is None or isinstance(value, bool):
            return
        if isinstance(value, str):
            if not _is_text(value):
                raise ValueError(f"{_at(path)} holds half of a surrogate pair.")
        elif isinstance(value, (int, float, Decimal)):
            problem = _number_problem(value)
            if problem:
                raise ValueError(f"{_at(path)} {problem}")
        elif isinstance(value, (dict, list)):
            if depth >= self.max_depth:
                raise ValueError(
                    f"{_at(path)} nests deeper than {self.max_depth} levels, or contains itself."
                )
            if isinstance(value, list):
                for index, item in enumerate(value):
                    self.visit(item, (path, index), depth + 1)
                return
            for key, item in value.items():
                if not isinstance(key, str):
                    raise ValueError(
                        f"{_at(path)} has a member name of type {type(key).__name__}; names are strings."
                    )
                if not _is_text(key):
                    raise ValueError(f"{_at(path)} has a member name with half of a surrogate pair.")
                self.visit(item, (path, key), depth + 1)
        else:
            raise ValueError(
                f"{_at(path)} is of type {type(value).__name__}; JSON has dict, list, str, int, float, "
                "Decimal, bool and None."
            )


def _number_problem(value: float | Decimal) -> str | None:
    if isinstance(value, int):
        # 40 characters are at most 133 bits; the text of a huge int is slow or refused by the interpreter.
        return "is an integer with more than 40 digits." if value.bit_length() > 133 else None
    if isinstance(value, float):
        return None if math.isfinite(value) else "is not a finite number."
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
    # RFC 6901; ascii() because a name may itself hold what cannot be printed.
    return "The value at " + ascii("".join(f"/{key}" for key in reversed(keys)))
