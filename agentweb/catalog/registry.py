"""The catalog: every action, flow and page that the site has declared, and what is wrong with the declarations.

One ``registry`` for the process. Writing takes a lock and replaces the whole state at once, so a reader never
waits and never sees half of a change.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from agentweb.catalog import page_paths
from agentweb.catalog.faults import Fault, FaultId, fault

if TYPE_CHECKING:  # the registry keeps declarations; the modules that make them import it
    from agentweb.catalog.actions import Action
    from agentweb.catalog.flows import DeclaredFlow, Flow
    from agentweb.catalog.pages import Page

_PARAMETER: Final = re.compile(r"\{[^{}/]*\}")


def route_of(path: str) -> str:
    """What two paths have in common when they answer the same URLs: no parameter names, no slash at the end."""
    return _PARAMETER.sub("{}", path).rstrip("/")


@dataclass(frozen=True)
class _State:
    """Everything that is declared at one moment; never changed, only replaced."""

    version: int
    actions: Mapping[str, Action] = field(default_factory=dict)
    routes: Mapping[str, Mapping[str, Action]] = field(default_factory=dict)
    flows: tuple[DeclaredFlow | Flow, ...] = ()
    pages: Mapping[str, Page] = field(default_factory=dict)
    recorded: tuple[Fault, ...] = ()

    @cached_property
    def sorted_actions(self) -> tuple[Action, ...]:
        return tuple(self.actions[name] for name in sorted(self.actions))

    @cached_property
    def resolved(self) -> tuple[tuple[Flow, ...], tuple[Fault, ...]]:
        """The flows that hold, sorted by name, and the faults of the others.

        Flows may be declared before the actions that they call, so they are checked when they are asked for.
        """
        flows: dict[str, Flow] = {}
        faults: list[Fault] = []
        for declared in self.flows:
            flow, wrong = declared.resolve(self.actions)
            faults += wrong
            if flow is None:
                continue
            if flow.name in flows:
                faults.append(
                    fault(
                        FaultId.DUPLICATE_FLOW,
                        f"Two flows are named {flow.name!r}.",
                        "Rename one of them; a flow's name is unique in the site.",
                        declared.where,
                    )
                )
                continue
            flows[flow.name] = flow
        return tuple(flows[name] for name in sorted(flows)), tuple(faults)

    @cached_property
    def resolved_pages(self) -> tuple[tuple[Page, ...], tuple[Fault, ...]]:
        """The pages that hold, sorted by path, and the faults of the others: their actions may be declared later."""
        pages: list[Page] = []
        faults: list[Fault] = []
        for declared in self.pages.values():
            page, wrong = declared.resolve(self.actions)
            faults += wrong
            if page is not None:
                pages.append(page)
        return tuple(sorted(pages, key=lambda page: page.path)), tuple(faults)


class Registry:
    """See the module. ``version`` names the state: equal versions mean equal contents, so caches key on it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._versions = count(1)
        self._state = _State(version=0)

    @property
    def version(self) -> int:
        return self._state.version

    def register(self, action: Action) -> None:
        """Publish an action. If its name or its route is taken, a fault is recorded instead."""
        with self._lock:
            wrong = self._collision(action)
            if wrong is not None:
                self.record(wrong)
                return
            state, route = self._state, route_of(action.path)
            beside = {**state.routes.get(route, {}), action.method: action}
            self._change(
                actions={**state.actions, action.name: action},
                routes={**state.routes, route: MappingProxyType(beside)},
            )

    def register_flow(self, flow: DeclaredFlow | Flow) -> None:
        """Keep a flow; whether it holds is decided when flows or faults are asked for."""
        with self._lock:
            self._change(flows=(*self._state.flows, flow))

    def register_page(self, page: Page) -> None:
        """Keep a page; its actions are looked up when pages or faults are asked for. A taken path is a fault."""
        with self._lock:
            shape = page_paths.shape_of(page.path)
            other = self._state.pages.get(shape)
            if other is not None:
                self.record(
                    fault(
                        FaultId.DUPLICATE_PAGE,
                        f"Two pages have one path, {page.path}; the other is {other.where}.",
                        "Declare the page once; /index is the front page, /.",
                        page.where,
                    )
                )
                return
            self._change(pages={**self._state.pages, shape: page})

    def record(self, *faults: Fault) -> None:
        """Note what is wrong with a declaration."""
        with self._lock:
            self._change(recorded=(*self._state.recorded, *faults))

    def get(self, name: str) -> Action | None:
        """The action of this name, whoever may see it."""
        return self._state.actions.get(name)

    def actions(self) -> tuple[Action, ...]:
        """All actions, sorted by name."""
        return self._state.sorted_actions

    def flows(self) -> tuple[Flow, ...]:
        """All flows without faults, sorted by name, with their input schemas derived."""
        return self._state.resolved[0]

    def pages(self) -> tuple[Page, ...]:
        """All pages without faults, sorted by path, with all of their actions."""
        return self._state.resolved_pages[0]

    def declared_pages(self) -> tuple[Page, ...]:
        """All pages in the order of declaration, each with those actions only that it names itself."""
        return tuple(self._state.pages.values())

    def by_route(self, method: str, path: str) -> Action | None:
        """The action declared for a method and a path as declared (``/orders/{id}``), the last slash aside."""
        return self._state.routes.get(route_of(path), {}).get(method)

    def routes(self) -> Mapping[str, Mapping[str, Action]]:
        """Route (``/orders/{}``: parameters without names, no slash at the end) -> method -> action."""
        return MappingProxyType(self._state.routes)

    def faults(self) -> list[Fault]:
        """Everything that is wrong, in the order of declaration, flows and the actions of pages last."""
        return [*self._state.recorded, *self._state.resolved[1], *self._state.resolved_pages[1]]

    @contextmanager
    def only(
        self,
        *actions: Action,
        flows: tuple[DeclaredFlow | Flow, ...] = (),
        pages: tuple[Page, ...] = (),
    ) -> Iterator[Registry]:
        """For tests: nothing but these is declared inside; what is declared inside is forgotten afterwards.

        Holds for the whole process, so that a server in another thread sees the same. Afterwards everything is
        as before, ``version`` too; a version is never used for two different contents.
        """
        with self._lock:
            before = self._state
            self._state = _State(version=next(self._versions))
            for action in actions:
                self.register(action)
            for flow in flows:
                self.register_flow(flow)
            for page in pages:
                self.register_page(page)
        try:
            yield self
        finally:
            with self._lock:
                self._state = before

    def _change(self, **changes: Any) -> None:
        self._state = replace(self._state, version=next(self._versions), **changes)

    def _collision(self, action: Action) -> Fault | None:
        namesake = self._state.actions.get(action.name)
        if namesake is not None:
            return fault(
                FaultId.DUPLICATE_ACTION,
                f"Two actions are named {action.name!r}; the other is {namesake.where}.",
                "Rename one of them; an action's name is unique in the site.",
                action.where,
            )
        neighbours = self._state.routes.get(route_of(action.path), {})
        taken = neighbours.get(action.method)
        if taken is not None:
            return fault(
                FaultId.DUPLICATE_ROUTE,
                f"{action.name!r} and {taken.name!r} both answer {action.method} {action.path}.",
                "Give one of them another path or method.",
                action.where,
            )
        for other in neighbours.values():
            if other.path_parameters != action.path_parameters:
                return fault(
                    FaultId.DUPLICATE_ROUTE,
                    f"{action.path} of {action.name!r} and {other.path} of {other.name!r} are one URL with "
                    "differently named parameters.",
                    f"Write {other.path} in both.",
                    action.where,
                )
        return None


registry: Final = Registry()
