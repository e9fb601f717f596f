"""What is declared, for the site's own people: every action with what it may do, where it is and who may see it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentweb.catalog.actions import Action
from agentweb.catalog.declaring import place_of


def entry(action: Action, prefix: str = "") -> dict[str, Any]:
    """One action. ``visible`` is ``everyone`` or where the guard is that decides."""
    return {
        "name": action.name,
        "effect": str(action.effect),
        "scope": action.scope,
        "method": action.method,
        "path": prefix + action.path,
        "visible": "everyone" if action.visible is None else place_of(action.visible),
        "confirm": action.confirm,
        "source": action.where,
    }


def inventory(actions: Iterable[Action], prefix: str = "") -> list[dict[str, Any]]:
    """The entries in the order of ``actions``; ``prefix`` stands before every path."""
    return [entry(action, prefix) for action in actions]
