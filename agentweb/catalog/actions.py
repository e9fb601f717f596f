"""Actions: what a site lets agents do, as the rooms read it. ``declaration`` has the words that declare one."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentweb.catalog.costs import Cost
from agentweb.catalog.declaring import place_of
from agentweb.catalog.effects import QUERY_METHODS, Effect
from agentweb.catalog.paths import parameters_of
from agentweb.catalog.reading import Written, read
from agentweb.catalog.registry import registry
from agentweb.wire.schema import CompiledSchema
from agentweb.wire.strict_json import Json

__all__ = ["Action", "Cost", "Effect", "Handler", "declare"]

logger = logging.getLogger("agentweb.catalog")

Handler = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Action:
    """A published action; everything in it has been checked.

    ``input_schema`` and ``output_schema`` are published as they are; ``input`` and ``output`` are their compiled
    forms, and ``to_python(value, ctx)`` turns a prepared input (``input.prepare(value)``) into what the handler
    takes; ``represent(result, ctx)``, if there is one, turns what the handler returns into the answer. ``example``
    is a valid input when ``has_example``. ``confirm`` is ``"person"`` when a person has to approve each call.
    ``rate`` is (calls a second, burst). ``handler`` may be async.
    """

    name: str
    title: str
    description: str
    effect: Effect
    scope: str | None
    input_schema: dict[str, Any]
    input: CompiledSchema
    output_schema: dict[str, Any] | None
    output: CompiledSchema | None
    example: Json
    has_example: bool
    method: str
    path: str
    cost: Cost | None
    consequential: bool
    idempotent: bool
    confirm: str | None
    pages: tuple[str, ...]
    tags: tuple[str, ...]
    visible: Callable[[Any], bool] | None
    rate: tuple[float, int] | None
    handler: Handler
    to_python: Callable[[Json, Any], Any]
    represent: Callable[[Any, Any], Any] | None = None

    @property
    def where(self) -> str:
        """Where the handler is, for people: ``shop.agents.checkout``."""
        return place_of(self.handler)

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """Names of the inputs that the path takes, in order."""
        return parameters_of(self.path)

    @property
    def takes_query(self) -> bool:
        """Whether the input travels in the query string."""
        return self.method in QUERY_METHODS

    def is_visible_to(self, user: Any) -> bool:
        """Whether this user may know of the action at all. A ``visible`` that fails hides it and is logged."""
        if self.visible is None:
            return True
        try:
            answer = self.visible(user)
        except KeyboardInterrupt:
            raise
        except BaseException:
            # SystemExit too, which would end the worker.
            logger.exception("visible() of the action %s failed; the action is hidden", self.name)
            return False
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            logger.error("visible() of the action %s is async; the action is hidden", self.name)
            return False
        return bool(answer)


def declare(handler: Handler, written: Written) -> None:
    """Publish an action as it was written; whatever is wrong with it is recorded in the registry instead."""
    values, faults = read(handler, written)
    registry.record(*faults)
    if values is not None:
        registry.register(Action(**values))
