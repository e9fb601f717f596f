"""Declaring actions in a registry of their own, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentweb import action
from agentweb.catalog.actions import Action
from agentweb.catalog.faults import Fault
from agentweb.catalog.registry import registry


def handler(_inp: Any, ctx: Any) -> Any:
    """Do the thing.

    Not published.
    """


def declared(
    name: Any = "thing", by: Callable[..., Any] = handler, **words: Any
) -> tuple[Action | None, list[Fault]]:
    """The published action, if it was published, and the faults of its declaration."""
    with registry.only():
        action(name, **words)(by)
        actions = registry.actions()
        return (actions[0] if actions else None), registry.faults()


def published(name: Any = "thing", by: Callable[..., Any] = handler, **words: Any) -> Action:
    """The action, declared without an error."""
    found, faults = declared(name, by, **words)
    assert found is not None, faults
    return found


def refused(**words: Any) -> Fault:
    """The only fault of a declaration that was not published."""
    found, faults = declared(**words)
    assert found is None
    assert len(faults) == 1, faults
    return faults[0]


def warned(**words: Any) -> Fault:
    """The only fault of a declaration that was published all the same."""
    found, faults = declared(**words)
    assert found is not None, faults
    assert len(faults) == 1, faults
    return faults[0]
