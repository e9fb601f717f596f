"""Which actions a caller may know of, for every document that lists them and every call that names one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from agentweb.access.callers import Caller
from agentweb.catalog.actions import Action
from agentweb.catalog.registry import registry
from agentweb.wire.errors import Code, RequestError

_LONGEST_GUESS: Final = 100


def visible_actions(caller: Caller) -> list[Action]:
    """What this caller may see, sorted by name."""
    return [action for action in registry.actions() if is_visible(action, caller)]


def is_visible(action: Action, caller: Caller) -> bool:
    """A guard sees AnonymousUser when no person stands behind the caller."""
    # The user is read from the database only for a guard that asks.
    return action.visible is None or action.is_visible_to(caller.user)


def action_not_found(asked: str, actions: Iterable[Action], *, missing: str, listed: str) -> RequestError:
    """404 with the names among ``actions`` that look like the one asked for.

    ``missing`` and ``listed`` are sentences: what is not there, and where all of them stand.
    """
    closest = get_close_matches(asked[:_LONGEST_GUESS].lower(), [action.name for action in actions], n=3)
    advice = f"Did you mean {' or '.join(closest)}? " if closest else ""
    return RequestError(Code.ACTION_NOT_FOUND, f"{missing} {advice}{listed}", closest=closest)
