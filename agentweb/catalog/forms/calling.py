"""Calling a form and its ``save``, with ``request`` and ``user`` where they name them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

GIVEN: Final = ("request", "user")
"""What a form may ask for by the name of a parameter."""

_FILLED: Final = frozenset({"data", "files", *GIVEN})


def wanted(function: Callable[..., Any], owner: type | None = None) -> frozenset[str]:
    """Which of ``request`` and ``user`` a function names; of ``owner``, its ``__init__`` and those that it calls on."""
    names: set[str] = set()
    for each in _inits(owner) if owner is not None else [function]:
        names |= _parameters(each).keys() & set(GIVEN)
    return frozenset(names)


def unknown(function: Callable[..., Any]) -> list[str]:
    """The parameters without a default that nothing can be given for."""
    return [
        name
        for name, parameter in _parameters(function).items()
        if parameter.default is parameter.empty
        and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
        and (name not in _FILLED or parameter.kind is parameter.POSITIONAL_ONLY)
    ]


def given(names: frozenset[str], ctx: Any) -> dict[str, Any]:
    """``request`` and ``user`` of this call, as keyword arguments."""
    return {name: getattr(ctx, name) for name in names}


def _inits(owner: type) -> list[Callable[..., Any]]:
    """``__init__`` of the class, and those behind it as long as each hands on what it does not know."""
    found: list[Callable[..., Any]] = []
    for each in owner.__mro__:
        init = vars(each).get("__init__")
        if init is None:
            continue
        found.append(init)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in _parameters(init).values()):
            break
    return found


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Without the first of a plain function that is a method, which is ``self``."""
    try:
        found = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}
    if inspect.isfunction(function) and found:
        del found[next(iter(found))]
    return found
