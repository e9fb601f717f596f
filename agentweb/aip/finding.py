"""The action that an invocation names, among those that its caller may know of and that AIP offers."""

from __future__ import annotations

from dataclasses import dataclass

from agentweb.access.callers import Caller
from agentweb.aip.addresses import named_page
from agentweb.aip.bridge.finding import browser_action
from agentweb.aip.bridge.live import paths_offering
from agentweb.aip.projection import Projection, project
from agentweb.catalog.actions import Action
from agentweb.catalog.page_paths import canonical
from agentweb.catalog.registry import registry
from agentweb.http.mount import mount_prefix
from agentweb.http.page_urls import published_path
from agentweb.http.visibility import action_not_found, is_visible, visible_actions


@dataclass(frozen=True, slots=True)
class Found:
    """An action and its form on AIP.

    ``page`` is the path of the page in whose browser it is done, ``named`` the same if the caller named it; both are
    empty for an action of the site, and where no page is open.
    """

    action: Action
    projection: Projection
    page: str = ""
    named: str = ""


def find(action_id: str, caller: Caller, page: str | None) -> Found:
    """An action of the site, or a browser action (of ``page``, a path as its manifest has it, when it is named).

    Raises ``action_not_found``, the same for what is hidden, what has no form on AIP and what is nothing.
    """
    action, at = registry.get(action_id), ""
    is_in_a_browser = action is None
    if action is None:
        action, at = _in_a_browser(action_id, caller, page)
    if action is not None and is_visible(action, caller):
        projection = project(action)
        if isinstance(projection, Projection):
            named = at if is_in_a_browser and page is not None else ""
            return Found(action, projection, page=at, named=named)
    raise action_not_found(
        action_id,
        [each for each in visible_actions(caller) if isinstance(project(each), Projection)],
        missing="This site offers no action with this id here.",
        listed="The manifest of each page lists its actions.",
    )


def _in_a_browser(name: str, caller: Caller, page: str | None) -> tuple[Action | None, str]:
    """The browser action, and the path of the page on which it is to run."""
    if page is not None:
        found = named_page(page)
        return (None, "") if found is None else (browser_action(name, caller, page), canonical(found[2]))
    if any(each.name == name for declared in registry.pages() for each in declared.browser_actions):
        prefix = mount_prefix()
        for path in paths_offering(name, caller.user_id):
            action = browser_action(name, caller, published_path(path, prefix))
            if action is not None:
                return action, path
    return browser_action(name, caller, None), ""
