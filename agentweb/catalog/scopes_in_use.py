"""Scopes in words: what of the catalog each scope lets an agent do, for the people who give it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agentweb.catalog.effects import Effect
from agentweb.catalog.pages import page_at
from agentweb.catalog.registry import registry


@dataclass(frozen=True, slots=True)
class Use:
    """One action of a scope, or one browser action of a page. ``is_consequential``: it is not taken back easily."""

    name: str
    title: str
    description: str
    effect: Effect
    is_consequential: bool


def scopes_in_use(user: Any, *, pages: Iterable[str] | None = None) -> dict[str, list[Use]]:
    """Each scope that something asks for which this user may see -> what asks for it; sorted by scope, then title.

    Under ``""`` stands what needs a grant but no scope. Reads without a scope need neither and are left out. With
    ``pages`` (paths as they are visited), only what these offer.
    """
    names: set[str] | None = None
    if pages is None:
        # Who may see a page with parameters depends on them, and there are none yet.
        shown = [page for page in registry.pages() if not page.parameters and page.is_visible_to(user, {})]
    else:
        found_at = [found for found in map(page_at, pages) if found is not None]
        shown = [page for page, kwargs in found_at if page.is_visible_to(user, kwargs)]
        names = {name for page in shown for name in page.actions}
    found: defaultdict[str, list[Use]] = defaultdict(list)
    for action in registry.actions():
        if action.scope is None and action.effect is Effect.READ:
            continue
        if (names is None or action.name in names) and action.is_visible_to(user):
            found[action.scope or ""].append(
                Use(action.name, action.title, action.description, action.effect, action.consequential)
            )
    for page in shown:
        for each in page.browser_actions:
            if each.scope is not None or each.effect is not Effect.READ:
                title = f"{page.title}: {each.description}"
                found[each.scope or ""].append(Use(each.name, title, "", each.effect, each.consequential))
    return {scope: sorted(found[scope], key=lambda use: use.title) for scope in sorted(found)}
