"""Pages: what the site's own pages show and offer to agents (AIP section 2), and the word ``page`` that declares one.

::

    page("/cart", title="Cart", state=cart_state, actions=["add_to_cart"])
    page("/orders/<int:pk>", title="Order", state=order_state, permission=may_see_order)

A page may be declared before its actions, so these are looked up when the catalog is read.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from django.urls.resolvers import RoutePattern

from agentweb.catalog import page_paths
from agentweb.catalog.browser_actions import BrowserAction, read_browser_actions
from agentweb.catalog.declaring import MAX_TITLE, Findings, check_description, place_of, text_of
from agentweb.catalog.faults import Fault, FaultId
from agentweb.catalog.registry import registry

if TYPE_CHECKING:  # actions know nothing of pages, and pages only what the registry hands them
    from agentweb.catalog.actions import Action

logger = logging.getLogger("agentweb.catalog")

__all__ = ["BrowserAction", "Page", "page", "page_at"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Page:
    """A published page.

    ``path`` has no slash at its end, except ``/`` itself. ``state(ctx)``, which may be async, answers what the page
    shows to ``ctx.user``; ``markdown`` is the page's text, or ``markdown(ctx)`` answers it. ``permission(user,
    **parameters of the path)`` says who may know of the page; None is everybody. ``actions`` are names of actions of
    the catalog, those given first, then those that name the page, in the order of declaration.
    """

    path: str
    title: str
    description: str
    state: Callable[[Any], Any] | None
    markdown: str | Callable[[Any], Any] | None
    permission: Callable[..., bool] | None
    actions: tuple[str, ...]
    browser_actions: tuple[BrowserAction, ...]
    where: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters of the path, in order."""
        return page_paths.parameters_of(self.path)

    def is_visible_to(self, user: Any, kwargs: Mapping[str, Any]) -> bool:
        """Whether this user may know of the page, with the parameters ``kwargs`` of its path.

        A permission that fails hides the page and is logged.
        """
        if self.permission is None:
            return True
        try:
            answer: Any = self.permission(user, **kwargs)
        except KeyboardInterrupt:
            raise
        except BaseException:
            # SystemExit too, which would end the worker.
            logger.exception("permission() of the page %s failed; the page is hidden", self.path)
            return False
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            logger.error("permission() of the page %s is async; the page is hidden", self.path)
            return False
        return bool(answer)

    def resolve(self, actions: Mapping[str, Action]) -> tuple[Page | None, list[Fault]]:
        """The page with all of its actions, or None when an error forbids to publish it; and every fault."""
        findings = Findings(self.where)
        for name in self.actions:
            if name not in actions:
                findings.note(
                    FaultId.PAGE_ACTION,
                    f"The page {self.path} offers {name!r}, and no action of this name is published.",
                    "Correct the name; an action with faults of its own is not published.",
                )
        for each in self.browser_actions:
            if each.name in actions:
                findings.note(
                    FaultId.BROWSER_ACTION,
                    f"{each.name!r} names a browser action of {self.path} and {actions[each.name].where}.",
                    "Rename one of them; agents call both by the name alone.",
                )
        if findings.has_errors:
            return None, findings.faults
        shape = page_paths.named_shape_of(self.path)
        naming = [
            action.name
            for action in actions.values()
            if any(page_paths.named_shape_of(each) == shape for each in action.pages)
        ]
        return replace(self, actions=tuple(dict.fromkeys([*self.actions, *naming]))), findings.faults


def page(
    path: str,
    *,
    title: str,
    description: str | None = None,
    state: Callable[[Any], Any] | None = None,
    markdown: str | Callable[[Any], Any] | None = None,
    permission: Callable[..., bool] | None = None,
    actions: Iterable[str] = (),
    browser_actions: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Publish a page of the site to agents: what it shows to the person for whom they act, and what can be done there.

    - ``path``: the page's own path as in ``urls.py``, ``/orders/<int:pk>``. Its manifest is ``/orders/42.json``, and
      ``/index.json`` for ``/``.
    - ``title``, ``description``: what the page is, for everybody.
    - ``state(ctx)``: plain JSON, dates, Decimals, models or querysets of what the page shows to ``ctx.user``;
      ``ctx.kwargs`` has the parameters of the path. Nobody else sees it, and without a session nobody does.
    - ``markdown``: the page's text, the name of a template of it (one word that ends in .md, .markdown or .txt), or a
      function of ``ctx`` that answers it: what everybody may read, asked for an anonymous visitor.
    - ``permission(user, **kwargs)``: False hides the page as if it did not exist; kwargs are the path's parameters.
    - ``actions``: names of actions that the page offers, beside those whose ``pages`` name it.
    - ``browser_actions``: what the open page does in the browser, each a dict with ``name``, ``description`` and,
      if need be, ``effect``, ``scope``, ``input``, ``example``; never spend.

    Faults are recorded (``manage.py check`` shows them), not raised; a page with one is not published.
    """
    module = sys._getframe(1).f_globals.get("__name__", "?")
    reader = _Reader(Findings(f"{module}: page {path!r}"))
    found = Page(
        path=reader.path(path),
        title=reader.title(title),
        description=reader.description(description),
        state=reader.function("state", state),
        markdown=text_of(markdown) or reader.function("markdown", markdown),
        permission=reader.permission(permission, path),
        actions=reader.actions(actions),
        browser_actions=read_browser_actions(browser_actions, reader.findings),
        where=reader.findings.where,
    )
    registry.record(*reader.findings.faults)
    if not reader.findings.has_errors:
        registry.register_page(found)


class _Reader:
    """One declaration. Each method reads one argument, notes its faults, and answers with a usable value."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.note = findings.note

    def path(self, given: Any) -> str:
        wrong = page_paths.problem_of(given)
        if wrong is None:
            return page_paths.canonical(given)
        self.note(FaultId.PAGE_PATH, f"The path {given!r} {wrong}.", page_paths.HINT)
        return "/"

    def title(self, given: Any) -> str:
        text = (text_of(given) or "").strip()
        if not 0 < len(text) <= MAX_TITLE:
            self.note(
                FaultId.WORDING,
                f"The title is not a text of 1 to {MAX_TITLE} characters.",
                "Write title='Cart'.",
            )
        return text

    def description(self, given: Any) -> str:
        return "" if given is None else check_description(given, self.findings)

    def function(self, word: str, given: Any) -> Callable[[Any], Any] | None:
        if given is None or _takes(given, 1):
            return given  # type: ignore[no-any-return]
        self.note(
            FaultId.PAGE_STATE,
            f"{word}={_shown(given)} cannot be called with one argument.",
            f"Write {word} as a function of ctx, which has user, caller, request and kwargs; it may be async.",
        )
        return None

    def permission(self, given: Any, path: Any) -> Callable[..., bool] | None:
        if given is None:
            return None
        names = page_paths.parameters_of(path) if isinstance(path, str) else ()
        if not inspect.iscoroutinefunction(given) and _takes(given, 1, names):
            return given  # type: ignore[no-any-return]
        arguments = ", ".join(("user", *names))
        self.note(
            FaultId.PAGE_PERMISSION,
            f"permission={_shown(given)} cannot be called as permission({arguments}).",
            f"Write it as a plain function, def may_see({arguments}): …, which may not be async.",
        )
        return None

    def actions(self, given: Any) -> tuple[str, ...]:
        names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
        if all(isinstance(name, str) for name in names):
            return tuple(dict.fromkeys(names))
        self.note(
            FaultId.PAGE_ACTION,
            f"actions={given!r} is not a list of names of actions.",
            "Write actions=['add_to_cart'].",
        )
        return ()


def _takes(given: Any, positional: int, keywords: tuple[str, ...] = ()) -> bool:
    """Whether it can be called with so many positional arguments, and these by name."""
    if not callable(given):
        return False
    try:
        inspect.signature(given).bind(*[None] * positional, **dict.fromkeys(keywords))
    except TypeError:
        return False
    except ValueError:
        return True  # a callable written in C that does not tell its signature
    return True


def _shown(given: Any) -> str:
    return place_of(given) if callable(given) else repr(given)


class _Table:
    """The pages of one state of the catalog, to be found by a URL's path."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.fixed: dict[str, Page] = {}
        self.parametrised: list[tuple[RoutePattern, Page]] = []
        self.is_complete = True
        for each in sorted(registry.pages(), key=lambda found: page_paths.order_of(found.path)):
            if not each.parameters:
                self.fixed[each.path] = each
                continue
            pattern = page_paths.pattern_of(each.path)
            if pattern is None:
                self.is_complete = False
            else:
                self.parametrised.append((pattern, each))


_kept: Final[list[_Table]] = []


def page_at(path: str) -> tuple[Page, dict[str, Any]] | None:
    """The page at the path of a URL of the site, with or without a slash at its end, and the parameters in it.

    ``path`` is decoded and does not hold the prefix of a site that is mounted under one. Whoever may see the page is
    another question.
    """
    version = registry.version
    table = _kept[0] if _kept else None
    if table is None or table.version != version or not table.is_complete:
        table = _Table(version)
        _kept[:] = [table]
    found = page_paths.canonical(path)
    fixed = table.fixed.get(found)
    if fixed is not None:
        return fixed, {}
    for pattern, each in table.parametrised:
        kwargs = page_paths.match(pattern, found[1:])
        if kwargs is not None:
            return each, kwargs
    return None
