"""What a page offers to a caller: its actions in their order, and which of them this caller may call."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from agentweb.access import authorization
from agentweb.access.callers import Caller
from agentweb.aip.bridge.actions import actions_of
from agentweb.aip.projection import Projection, project
from agentweb.catalog.actions import Action
from agentweb.catalog.pages import Page
from agentweb.catalog.registry import registry
from agentweb.http.visibility import is_visible
from agentweb.wire.errors import AgentError


@dataclass(frozen=True, slots=True)
class Offer:
    """An action on AIP. ``is_allowed``: whether this caller's grant covers it, and a browser that runs it is there."""

    action: Action
    projection: Projection
    is_allowed: bool


def offers(page: Page, caller: Caller, *, connected: Collection[str] = ()) -> Iterator[Offer]:
    """All that the caller may know of. ``connected`` are the browser actions that an open page runs.

    What is hidden from the caller, or has no form on AIP, is left out.
    """
    for name in page.actions:
        action = registry.get(name)
        if action is None or not is_visible(action, caller):
            continue
        projection = project(action)
        if isinstance(projection, Projection):
            yield Offer(action, projection, _may_call(caller, action))
    for each in actions_of(page):
        projection = project(each)
        if isinstance(projection, Projection):
            yield Offer(each, projection, each.name in connected and _may_call(caller, each))


def _may_call(caller: Caller, action: Action) -> bool:
    try:
        authorization.authorize(caller, action=action.name, effect=action.effect, scope=action.scope)
    except AgentError:
        return False
    return True
