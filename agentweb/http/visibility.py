"""Which actions a caller may know of, for every document that lists them."""

from __future__ import annotations

from agentweb.access.callers import Caller
from agentweb.catalog.actions import Action
from agentweb.catalog.registry import registry


def visible_actions(caller: Caller) -> list[Action]:
    """What this caller may see, sorted by name."""
    return [action for action in registry.actions() if is_visible(action, caller)]


def is_visible(action: Action, caller: Caller) -> bool:
    """A guard sees AnonymousUser when no person stands behind the caller."""
    # The user is read from the database only for a guard that asks.
    return action.visible is None or action.is_visible_to(caller.user)
