"""The action that an invocation names, among those that its caller may know of and that AIP offers."""

from __future__ import annotations

from agentweb.access.callers import Caller
from agentweb.aip.bridge.finding import browser_action
from agentweb.aip.projection import Projection, project
from agentweb.catalog.actions import Action
from agentweb.catalog.registry import registry
from agentweb.http.visibility import action_not_found, is_visible, visible_actions


def find(action_id: str, caller: Caller, page: str | None) -> tuple[Action, Projection]:
    """The action and its form on AIP: one of the site, or a browser action (of ``page``, a path, when it is named).

    Raises ``action_not_found``, the same for what is hidden, what has no form on AIP and what is nothing.
    """
    action = registry.get(action_id)
    if action is None:
        action = browser_action(action_id, caller, page)
    if action is not None and is_visible(action, caller):
        projection = project(action)
        if isinstance(projection, Projection):
            return action, projection
    raise action_not_found(
        action_id,
        [each for each in visible_actions(caller) if isinstance(project(each), Projection)],
        missing="This site offers no action with this id here.",
        listed="The manifest of each page lists its actions.",
    )
