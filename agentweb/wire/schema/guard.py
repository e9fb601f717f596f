"""Limits on a value before any keyword sees it: depth, number of nodes, numbers too extreme to compute with.

A validator is recursive and a schema multiplies work by the value's size, so both are bounded first. The
survey costs about a tenth of a microsecond for each node.
"""

from __future__ import annotations

from decimal import Decimal
from enum import Enum, auto
from types import NoneType
from typing import Any, Final

from agentweb.wire.schema.failures import Path
from agentweb.wire.schema.numbers import is_extreme
from agentweb.wire.schema.problems import Problem, make_problem

MAX_DEPTH: Final = 64
MAX_NODES: Final = 100_000

_SAFE: Final = 2**53
_MAX_BITS: Final = 1_400  # more than any double; an integer's decimal text costs its length squared
_LEAVES: Final = frozenset({str, bool, NoneType})


class Survey(Enum):
    """What a look at a whole value found."""

    PLAIN = auto()  # texts, truth values, null, integers below 2**53, and containers of these
    NUMERIC = auto()  # Decimal, float or larger integers too
    UNUSUAL = auto()  # values of other Python types, subclasses included
    TOO_DEEP = auto()
    TOO_LARGE = auto()
    EXTREME = auto()


def survey(value: Any) -> Survey:
    """Look at every node once; circular values are TOO_DEEP or TOO_LARGE."""
    kinds = Survey.PLAIN
    nodes = 1
    level = [[value]]
    # One level more than the limit: the list around ``value`` is not part of it.
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for container in level:
            nodes += len(container)
            for each in container.values() if isinstance(container, dict) else container:
                kind = type(each)
                if kind in _LEAVES:
                    continue
                if kind is dict or kind is list:
                    below.append(each)
                elif kind is int:
                    if not -_SAFE < each < _SAFE:
                        kinds = Survey.NUMERIC if kinds is Survey.PLAIN else kinds
                        if each.bit_length() > _MAX_BITS:
                            return Survey.EXTREME
                elif kind is Decimal or kind is float:
                    kinds = Survey.NUMERIC if kinds is Survey.PLAIN else kinds
                    if is_extreme(each):
                        return Survey.EXTREME
                else:
                    kinds = Survey.UNUSUAL
                    if isinstance(each, (dict, list)):
                        below.append(each)
                    elif _is_extreme(each):
                        return Survey.EXTREME
            if nodes > MAX_NODES:
                return Survey.TOO_LARGE
        if not below:
            return kinds
        level = below
    return Survey.TOO_DEEP


def guard_problem(value: Any, found: Survey) -> Problem | None:
    """The one problem of a value that is not looked at further; None when it may be."""
    if found is Survey.TOO_DEEP:
        path = _first_path(value, lambda each, depth: depth > MAX_DEPTH and isinstance(each, (dict, list)))
        return make_problem(
            path,
            "too_deep",
            f"The input is nested deeper than {MAX_DEPTH} levels; flatten it.",
            expected=MAX_DEPTH,
        )
    if found is Survey.TOO_LARGE:
        message = f"The input has more than {MAX_NODES} values; send less at once."
        return make_problem((), "too_large", message, expected=MAX_NODES)
    if found is Survey.EXTREME:
        path = _first_path(value, lambda each, depth: _is_extreme(each))
        message = "This number is too large, too small or not finite; send one with an exponent within ±30."
        return make_problem(path, "number_out_of_range", message)
    return None


def _is_extreme(value: Any) -> bool:
    if isinstance(value, int):
        return value.bit_length() > _MAX_BITS
    return isinstance(value, (float, Decimal)) and is_extreme(value)


def _first_path(value: Any, offends: Any) -> Path:
    """Where the first offending node is, level by level; the root when it cannot be told."""
    level: list[tuple[Path, Any]] = [((), value)]
    for depth in range(1, MAX_DEPTH + 2):
        below: list[tuple[Path, Any]] = []
        for path, each in level:
            if offends(each, depth):
                return path
            if isinstance(each, dict):
                below.extend(((*path, name), inner) for name, inner in each.items())
            elif isinstance(each, list):
                below.extend(((*path, position), inner) for position, inner in enumerate(each))
        if len(below) > MAX_NODES:
            return ()
        level = below
    return ()
