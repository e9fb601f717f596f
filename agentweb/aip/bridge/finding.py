"""Which page a browser action is to run on, when an agent names it."""

from __future__ import annotations

from urllib.parse import unquote

from agentweb.access.callers import Caller
from agentweb.aip.bridge import live
from agentweb.aip.bridge.actions import action_at
from agentweb.catalog.actions import Action
from agentweb.catalog.pages import page_at
from agentweb.catalog.registry import registry
from agentweb.http.mount import mount_prefix


def browser_action(name: str, caller: Caller, path: str | None) -> Action | None:
    """The browser action of this name on the page at ``path``, as a manifest has it; None where there is none.

    What the caller may not know of is none. Without a path: on the page that the person used last of those that can
    do it, else on any page that has it, where the call says that nobody has it open.
    """
    if path is not None:
        prefix = mount_prefix()
        return (
            _at(unquote(path.removeprefix(prefix)), name, caller) if path.startswith(f"{prefix}/") else None
        )
    declaring = [page for page in registry.pages() if any(each.name == name for each in page.browser_actions)]
    if not declaring:
        return None
    open_at = [*live.paths_offering(name, caller.user_id), *(page.path for page in declaring)]
    return next((found for each in open_at if (found := _at(each, name, caller)) is not None), None)


def _at(path: str, name: str, caller: Caller) -> Action | None:
    found = page_at(path)
    if found is None or not found[0].is_visible_to(caller.user, found[1]):
        return None
    return action_at(found[0], path, name)
