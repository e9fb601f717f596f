"""System check of AIP: has every action that a page offers a form there? W072 for each that has none, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Warning

from agentweb.aip.bridge.actions import actions_of
from agentweb.aip.projection import NotOffered, project
from agentweb.catalog.actions import Action
from agentweb.catalog.registry import registry


def check_projections(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W072, once for each action however many pages offer it."""
    found: list[CheckMessage] = []
    for action, path, where in _on_pages():
        projection = project(action)
        if isinstance(projection, NotOffered):
            found.append(
                Warning(
                    f"The page {path} offers {action.name!r}, which its manifest leaves out: {projection.reason}.",
                    hint="There an input is one text or a flat object of texts. Declare another action beside it, with "
                    "flat input, or take it off the page; by its own path it can be called all the same.",
                    obj=where,
                    id="agentweb.W072",
                )
            )
    return found


def _on_pages() -> Iterator[tuple[Action, str, str]]:
    """Each action that pages offer, with the first of them and where it is declared."""
    seen: set[str] = set()
    for page in registry.pages():
        listed = [registry.get(name) for name in page.actions]
        own = [action for action in listed if action is not None and action.name not in seen]
        seen |= {action.name for action in own}
        yield from ((action, page.path, action.where) for action in own)
        yield from ((action, page.path, page.where) for action in actions_of(page))
