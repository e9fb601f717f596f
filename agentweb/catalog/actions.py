"""Actions: what a site lets agents do. ``action`` declares one; ``Action`` is what the rooms read.

::

    @action("add_to_cart", effect="write", scope="cart:write")
    def add_to_cart(inp: CartLine, ctx):
        \"\"\"Put a product into the cart.\"\"\"

A declaration that is wrong never raises where it is written: its faults go to ``registry.faults()``, and an
action with an error is not published.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, TypeVar, overload

from agentweb.catalog.costs import Cost
from agentweb.catalog.declaring import place_of
from agentweb.catalog.effects import QUERY_METHODS, Effect
from agentweb.catalog.paths import parameters_of
from agentweb.catalog.reading import Written, read
from agentweb.catalog.registry import registry
from agentweb.wire.schema import CompiledSchema
from agentweb.wire.strict_json import Json

__all__ = ["Action", "Cost", "Effect", "action"]

logger = logging.getLogger("agentweb.catalog")

Handler = Callable[[Any, Any], Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Action:
    """A published action; everything in it has been checked.

    ``input_schema`` and ``output_schema`` are published as they are; ``input`` and ``output`` are their compiled
    forms, and ``to_python`` turns a prepared
    input (``input.prepare(value)``) into what the handler takes. ``example`` is a valid input when
    ``has_example``. ``rate`` is (calls a second, burst). ``handler`` may be async.
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
    pages: tuple[str, ...]
    tags: tuple[str, ...]
    visible: Callable[[Any], bool] | None
    rate: tuple[float, int] | None
    handler: Handler
    to_python: Callable[[Json], Any]

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
        except Exception:
            logger.exception("visible() of the action %s failed; the action is hidden", self.name)
            return False
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            logger.error("visible() of the action %s is async; the action is hidden", self.name)
            return False
        return bool(answer)


@overload
def action(name: _Function, /) -> _Function: ...


@overload
def action(
    name: str | None = None,
    *,
    title: str | None = None,
    description: str | None = None,
    effect: str = "read",
    scope: str | None = None,
    input: Any = None,
    output: Any = None,
    example: Json | EllipsisType = ...,
    method: str | None = None,
    path: str | None = None,
    cost: dict[str, Any] | None = None,
    consequential: bool | None = None,
    idempotent: bool | None = None,
    pages: Iterable[str] = (),
    tags: Iterable[str] = (),
    visible: Callable[[Any], bool] | None = None,
    rate: tuple[float, int] | None = None,
) -> Callable[[_Function], _Function]: ...


def action(
    name: Any = None,
    *,
    title: str | None = None,
    description: str | None = None,
    effect: str = "read",
    scope: str | None = None,
    input: Any = None,
    output: Any = None,
    example: Json | EllipsisType = ...,
    method: str | None = None,
    path: str | None = None,
    cost: Any = None,
    consequential: bool | None = None,
    idempotent: bool | None = None,
    pages: Iterable[str] = (),
    tags: Iterable[str] = (),
    visible: Callable[[Any], bool] | None = None,
    rate: tuple[float, int] | None = None,
) -> Any:
    """Let agents call the decorated function ``handler(inp, ctx)``. The function itself is left as it is.

    - ``name``: the function's name by default; ``[a-z][a-z0-9_]*``, at most 100 characters.
    - ``title``, ``description``: by default the name in words, and the first paragraph of the docstring.
    - ``effect``: ``read``, ``write``, ``send``, ``spend`` or ``delete``.
    - ``scope``: what a grant must give, ``cart:write``.
    - ``input``: a JSON Schema as a dict, or a type; by default the type hint of ``inp``; the hint None
      means that there is no input.
    - ``output``: a JSON Schema or a type; by default the returned dataclass or TypedDict, else not said.
    - ``example``: an input that works; made from the schema when it can be.
    - ``method``, ``path``: by default GET for a read with flat input, else POST, at ``/agent/<name>``. ``{name}`` in
      a path takes the required input of that name.
    - ``cost``: for spend, ``{"field": "price", "currency": "USD"}`` or ``{"amount": 25, "currency": "USD"}``.
    - ``consequential``: True raises a read or write to what a person should know about.
    - ``idempotent``: True for a write that may be repeated.
    - ``pages``, ``tags``: pages on which the action is offered, words to find it by.
    - ``visible(user)``: False hides it: unlisted, uncallable, unmentioned.
    - ``rate``: (calls a second, burst) of one caller.

    Faults in what is given are recorded (``manage.py check`` shows them), not raised. Raises TypeError when it
    decorates what is not a function.
    """
    written = Written(
        name=None if callable(name) else name,
        title=title,
        description=description,
        effect=effect,
        scope=scope,
        input=input,
        output=output,
        example=example,
        method=method,
        path=path,
        cost=cost,
        consequential=consequential,
        idempotent=idempotent,
        pages=pages,
        tags=tags,
        visible=visible,
        rate=rate,
    )

    def declare(handler: Any) -> Any:
        if not callable(handler):
            raise TypeError(f"@action decorates a function, not {handler!r}.")
        values, faults = read(handler, written)
        registry.record(*faults)
        if values is not None:
            registry.register(Action(**values))
        return handler

    return declare(name) if callable(name) else declare
