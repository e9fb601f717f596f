"""The site's catalog in a test: what is declared, and fewer of it for a while."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Any, Final

from agentweb.catalog.actions import Action
from agentweb.catalog.faults import Fault
from agentweb.catalog.flows import Flow
from agentweb.catalog.pages import Page
from agentweb.catalog.registry import Registry, registry


class Catalog:
    """What the site has declared; ``only`` narrows it."""

    def only(self, *actions: str | Callable[..., Any]) -> Only:
        """Nothing but these actions, by name or by function, and the flows and pages that need no other.

        For a ``with`` block, over a test function, or with ``enterContext`` in ``setUp``. What is declared inside is
        forgotten afterwards. Without an action the catalog is empty. Raises LookupError, when it begins, for what is
        not declared.
        """
        return Only(actions)

    def get(self, name: str) -> Action | None:
        """The action of this name, whoever may see it."""
        return registry.get(name)

    def actions(self) -> tuple[Action, ...]:
        """All actions, sorted by name."""
        return registry.actions()

    def flows(self) -> tuple[Flow, ...]:
        """All flows without faults, sorted by name."""
        return registry.flows()

    def pages(self) -> tuple[Page, ...]:
        """All pages without faults, sorted by path."""
        return registry.pages()

    def faults(self) -> list[Fault]:
        """Everything that is wrong with the declarations; a site's test wants none."""
        return registry.faults()


class Only:
    """A narrowed catalog: a context manager and a decorator, which may be used again."""

    def __init__(self, wanted: tuple[str | Callable[..., Any], ...]) -> None:
        self._wanted = wanted
        self._open: list[AbstractContextManager[Registry]] = []

    def __enter__(self) -> Catalog:
        kept = tuple(dict.fromkeys(action for wanted in self._wanted for action in _found(wanted)))
        names = {action.name for action in kept}
        flows = tuple(flow for flow in registry.flows() if {step.action for step in flow.steps} <= names)
        pages = tuple(page for page in registry.declared_pages() if set(page.actions) <= names)
        narrowed = registry.only(*kept, flows=flows, pages=pages)
        narrowed.__enter__()
        self._open.append(narrowed)
        return catalog

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.pop().__exit__(kind, error, trace)

    def __call__(self, test: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(test, type):
            raise TypeError(
                "catalog.only goes over a function; in a class, write self.enterContext(catalog.only(...)) in setUp."
            )
        if iscoroutinefunction(test):

            @wraps(test)
            async def narrowed_later(*args: Any, **kwargs: Any) -> Any:
                with Only(self._wanted):
                    return await test(*args, **kwargs)

            return narrowed_later

        @wraps(test)
        def narrowed(*args: Any, **kwargs: Any) -> Any:
            with Only(self._wanted):
                return test(*args, **kwargs)

        return narrowed


def _found(wanted: str | Callable[..., Any]) -> list[Action]:
    """The actions of a name or of a function, which may have declared more than one."""
    found = [action for action in registry.actions() if wanted in (action.name, action.handler)]
    if not found:
        known = ", ".join(action.name for action in registry.actions()) or "nothing"
        raise LookupError(f"The catalog has no action {wanted!r}; it has {known}.")
    return found


catalog: Final = Catalog()
