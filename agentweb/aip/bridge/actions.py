"""Browser actions as the one door runs them: an ``Action`` each, whose handler asks the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from agentweb.aip.bridge import calls
from agentweb.catalog.actions import Action
from agentweb.catalog.browser_actions import BrowserAction
from agentweb.catalog.declaring import humanised
from agentweb.catalog.effects import IDEMPOTENT, Effect
from agentweb.catalog.page_paths import canonical
from agentweb.catalog.pages import Page
from agentweb.invoke.context import Context
from agentweb.invoke.later import Later
from agentweb.wire.strict_json import Json


def actions_of(page: Page) -> tuple[Action, ...]:
    """The browser actions of a page, as they are published; the same objects each time."""
    return tuple(_action(page.path, each) for each in page.browser_actions)


def action_at(page: Page, path: str, name: str) -> Action | None:
    """The browser action of this name, to be run where the page is open at ``path``; None when the page has none.

    ``path`` is the decoded path of a URL, ``/orders/42``, without the prefix of a site that is mounted under one.
    """
    for action in actions_of(page):
        if action.name == name:
            return replace(action, handler=_handler(canonical(path), name))
    return None


@lru_cache(maxsize=1_024)
def _action(path: str, declared: BrowserAction) -> Action:
    if declared.effect is Effect.SPEND:
        raise ValueError(f"The browser action {declared.name} may not spend.")
    return Action(
        name=declared.name,
        title=humanised(declared.name),
        description=declared.description,
        effect=declared.effect,
        scope=declared.scope,
        input_schema=declared.input_schema,
        input=declared.input,
        output_schema=None,
        output=None,
        example=declared.example,
        has_example=declared.has_example,
        method="POST",
        path=path,
        cost=None,
        consequential=declared.consequential,
        idempotent=declared.effect in IDEMPOTENT,
        confirm=None,
        pages=(path,),
        tags=(),
        visible=None,
        rate=None,
        handler=_handler(path, declared.name),
        to_python=_as_it_is,
    )


def _handler(path: str, name: str) -> Callable[[Any, Context], Later]:
    return partial(_ask, path, name)


def _ask(path: str, name: str, inp: Json, ctx: Context) -> Later:
    return calls.ask(path, name, inp, ctx)


def _as_it_is(value: Json, ctx: Any) -> Json:
    return value
