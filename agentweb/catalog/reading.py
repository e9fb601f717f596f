"""Reading what an author wrote about an action: every value checked or filled in, every fault collected."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from agentweb import conf
from agentweb.catalog import paths
from agentweb.catalog.costs import HINT as COST_HINT
from agentweb.catalog.costs import Cost, CostError, read_cost
from agentweb.catalog.declaring import (
    MAX_TITLE,
    Findings,
    check_description,
    first_paragraph,
    humanised,
    is_name,
    place_of,
    text_of,
)
from agentweb.catalog.effects import (
    CONSEQUENTIAL,
    METHODS,
    QUERY_METHODS,
    Effect,
    default_method,
    is_idempotent_by_nature,
    suits,
)
from agentweb.catalog.faults import Fault, FaultId
from agentweb.catalog.forms import FORM_HINT, form_source
from agentweb.catalog.schema_shapes import is_flat, is_object, is_scalar, nested_members, required_member
from agentweb.catalog.schema_sources import (
    Output,
    Source,
    SourceError,
    input_source,
    is_serializer,
    output_source,
    serializer_source,
)
from agentweb.catalog.type_members import is_float
from agentweb.wire.safe_numbers import check_published
from agentweb.wire.schema import NO_EXAMPLE, CompiledSchema, SchemaError, compile_schema
from agentweb.wire.schema.loading import copy_schema, load
from agentweb.wire.scopes import check_scope

PERSON: Final = "person"
"""The value of ``confirm``."""

SERIALIZER_HINT: Final = (
    "Give a Serializer class, or an instance with many=True or partial=True. It is looked at without a request: where "
    "it needs one, write self.context.get('request'). A file is left out with read_only; a field of the site's own "
    "says what it takes with drf-spectacular's @extend_schema_field."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The arguments of ``action``, as they were given."""

    name: Any
    title: Any
    description: Any
    effect: Any
    scope: Any
    input: Any
    serializer: Any
    form: Any
    output: Any
    example: Any
    method: Any
    path: Any
    cost: Any
    consequential: Any
    idempotent: Any
    confirm: Any
    pages: Any
    tags: Any
    visible: Any
    rate: Any


def read(handler: Callable[..., Any], written: Written) -> tuple[dict[str, Any] | None, list[Fault]]:
    """The members of the Action, or None when an error forbids to publish it; and every fault."""
    reader = _Reader(handler, written)
    values = reader.values()
    return (None if reader.findings.has_errors else values), reader.findings.faults


class _Reader:
    """One declaration. Each method reads one argument, notes its faults, and answers with a usable value."""

    def __init__(self, handler: Callable[..., Any], written: Written) -> None:
        self.handler = handler
        self.written = written
        self.findings = Findings(place_of(handler))
        self.note = self.findings.note

    def values(self) -> dict[str, Any]:
        self.check_handler()
        name = self.name()
        effect = self.effect()
        source = self.input()
        schema = source.schema if source is not None else None
        compiled = self.compiled(schema, "input")
        if compiled is None:
            schema = None
        output = self.output()
        method = self.method(effect, schema)
        path = self.path(name)
        if schema is not None:
            self.check_travel(schema, method, path)
        example, has_example = self.example(compiled)
        return {
            "name": name,
            "title": self.title(name),
            "description": self.description(),
            "effect": effect,
            "scope": self.scope(effect),
            "input_schema": schema,
            "input": compiled,
            "output_schema": output.schema,
            "output": self.compiled(output.schema, "output"),
            "example": example,
            "has_example": has_example,
            "method": method,
            "path": path,
            "cost": self.cost(effect, schema, source),
            "consequential": self.consequential(effect),
            "idempotent": self.idempotent(effect, method),
            "confirm": self.confirm(effect),
            "pages": self.texts("pages", self.written.pages, begins="/"),
            "tags": self.texts("tags", self.written.tags),
            "visible": self.visible(),
            "rate": self.rate(),
            "handler": self.handler,
            "to_python": source.to_python if source is not None else None,
            "represent": output.represent,
        }

    def check_handler(self) -> None:
        try:
            inspect.signature(self.handler).bind(None, None)
        except TypeError:
            self.note(
                FaultId.HANDLER,
                "The handler cannot be called with two positional arguments.",
                "Write it as handler(inp, ctx); other parameters need defaults.",
            )
        except ValueError:
            return  # a callable written in C that does not tell its signature
        if inspect.isgeneratorfunction(self.handler) or inspect.isasyncgenfunction(self.handler):
            self.note(
                FaultId.HANDLER,
                "The handler is a generator.",
                "Return the whole answer; a call has one.",
            )

    def name(self) -> str:
        name = self.written.name
        if name is None:
            name = getattr(self.handler, "__name__", None)
        if is_name(name):
            return str(name)
        self.note(
            FaultId.ACTION_NAME,
            f"{name!r} is not the name of an action.",
            "Use lower-case letters, digits and underscores, a letter first, at most 100: 'add_to_cart'.",
        )
        return ""

    def effect(self) -> Effect | None:
        try:
            return Effect(self.written.effect)
        except ValueError:
            self.note(
                FaultId.EFFECT,
                f"{self.written.effect!r} is not an effect.",
                f"Choose one of {', '.join(Effect)}.",
            )
            return None

    def input(self) -> Source | None:
        given = [word for word in ("input", "serializer", "form") if getattr(self.written, word) is not None]
        if len(given) > 1:
            self.note(
                FaultId.SEVERAL_INPUTS,
                f"The action has {' and '.join(f'{word}=' for word in given)}; its input is described once.",
                "Keep one of input, serializer and form.",
            )
        if self.written.serializer is not None:
            return self.serializer()
        if self.written.form is not None:
            return self.form()
        try:
            source = input_source(self.handler, self.written.input)
        except SourceError as error:
            self.note(
                FaultId.INPUT_TYPE,
                f"No input schema can be derived: {error}.",
                "Give a serializer as serializer=."
                if is_serializer(self.written.input)
                else "Use a dataclass or TypedDict of plain types, or write the schema as a dict: input={...}. "
                "An action without input has None as the hint.",
            )
            return None
        except ValueError as error:
            self.note_schema("input", str(error))
            return None
        if source.unsaid is not None:
            self.note(
                FaultId.NO_INPUT,
                f"Nothing says what {source.unsaid!r} is, so the action takes no input: agents cannot send any.",
                f"Write a dataclass or TypedDict as its type hint ({source.unsaid}: CartLine), or input={{...}}. "
                f"If there is no input, write {source.unsaid}: None, or call the parameter _.",
            )
        return source

    def serializer(self) -> Source | None:
        try:
            return serializer_source(self.written.serializer)
        except SourceError as error:
            self.note(FaultId.SERIALIZER, f"The serializer cannot be the input: {error}.", SERIALIZER_HINT)
            return None

    def form(self) -> Source | None:
        try:
            return form_source(self.written.form)
        except SourceError as error:
            self.note(FaultId.FORM, f"The form cannot be the input: {error}.", FORM_HINT)
            return None

    def output(self) -> Output:
        try:
            return output_source(self.handler, self.written.output)
        except SourceError as error:
            if is_serializer(self.written.output):
                self.note(
                    FaultId.SERIALIZER, f"The serializer cannot be the output: {error}.", SERIALIZER_HINT
                )
                return Output(None)
            self.note(
                FaultId.INPUT_TYPE,
                f"No output schema can be derived: {error}.",
                "Use a dataclass or TypedDict of plain types, or write the schema as a dict: output={...}.",
            )
        except ValueError as error:
            self.note_schema("output", str(error))
        return Output(None)

    def compiled(self, schema: dict[str, Any] | None, which: str) -> CompiledSchema | None:
        if schema is None:
            return None
        try:
            found = compile_schema(schema)
        except SchemaError as error:
            self.note_schema(which, str(error))
            return None
        try:
            load(copy_schema(schema, foreign=True), foreign=True)
        except SchemaError as error:
            self.note(
                FaultId.READERS,
                f"Other programs may not take the {which} schema, agentweb's own client does not: {error}",
                "Say less of it: long lists of choices as a text that the handler looks up, long patterns in words.",
            )
        return found

    def note_schema(self, which: str, why: str) -> None:
        self.note(
            FaultId.SCHEMA,
            f"The {which} schema is not valid: {why}",
            "Write a JSON Schema 2020-12 without remote $ref.",
        )

    def example(self, compiled: CompiledSchema | None) -> tuple[Any, bool]:
        given = self.written.example
        if compiled is None:
            return None, False
        if given is ...:
            made = compiled.example()
            return (None, False) if made is NO_EXAMPLE else (made, True)
        try:
            check_published(given)
            problems, _truncated = compiled.problems(given)
        except ValueError as error:
            wrong = str(error)
        else:
            wrong = "; ".join(f"{problem['pointer'] or '/'}: {problem['message']}" for problem in problems)
        if wrong:
            self.note(
                FaultId.EXAMPLE,
                f"The example does not fit the input schema: {wrong}",
                "Correct the example, or leave it out: it is made from the schema when it can be.",
            )
        return given, True

    def method(self, effect: Effect | None, schema: dict[str, Any] | None) -> str:
        method = self.written.method
        if method is None:
            return default_method(
                effect or Effect.WRITE, has_flat_input=schema is not None and is_flat(schema)
            )
        if not isinstance(method, str) or method not in METHODS:
            self.note(FaultId.METHOD, f"{method!r} is not a method.", f"Choose one of {', '.join(METHODS)}.")
            return "POST"
        if effect is not None and not suits(effect, method):
            self.note(
                FaultId.METHOD,
                f"An action with effect {effect} cannot be called by {method}.",
                "A read is called by GET; everything else by POST, PUT, PATCH or DELETE.",
            )
        elif effect is Effect.READ and method == "POST" and (schema is None or is_flat(schema)):
            self.note(
                FaultId.READ_BY_POST,
                "A read is called by POST, so agents ask before they call it on sites that they do not trust.",
                "Leave method out: its input fits into a query string.",
            )
        return method

    def path(self, name: str) -> str:
        path = self.written.path
        if path is None:
            path = f"/{conf.get('ACTION_PREFIX')}/{name}"
        wrong = paths.problem_of(path) if name or self.written.path is not None else None
        if wrong is None:
            return str(path)
        self.note(FaultId.PATH, f"The path {path!r} {wrong}.", paths.HINT)
        return ""

    def check_travel(self, schema: dict[str, Any], method: str, path: str) -> None:
        """Whether the input fits where it travels: path parameters, and the query string of GET and DELETE."""
        for name in paths.parameters_of(path):
            found = required_member(schema, (name,))
            if found is None or not found[1] or not is_scalar(found[0], schema):
                self.note(
                    FaultId.PATH_PARAMETER,
                    f"{{{name}}} in the path is not a required string, number or boolean of the input.",
                    f"Declare {name!r} in the input's properties and in required, or take it out of the path.",
                )
        if method not in QUERY_METHODS:
            return
        nested = nested_members(schema)
        if nested or not is_object(schema, schema):
            what = f"{', '.join(nested)} cannot" if nested else "an input that is not an object cannot"
            self.note(
                FaultId.QUERY_INPUT,
                f"By {method} the input travels in the query string, where {what} be written.",
                "Call it by POST, or make every member a string, number, boolean or a list of these.",
            )

    def title(self, name: str) -> str:
        title = self.written.title
        if title is None:
            return humanised(name)
        text = (text_of(title) or "").strip()
        if not 0 < len(text) <= MAX_TITLE:
            self.note(
                FaultId.WORDING,
                f"The title is not a text of 1 to {MAX_TITLE} characters.",
                "Leave it out: the name is written in words.",
            )
        return text

    def description(self) -> str:
        given = self.written.description
        return check_description(first_paragraph(self.handler) if given is None else given, self.findings)

    def scope(self, effect: Effect | None) -> str | None:
        scope = self.written.scope
        if scope is None:
            if effect not in {None, Effect.READ}:
                self.note(
                    FaultId.NO_SCOPE,
                    f"The action has effect {effect} and no scope: any valid grant of this site may call it.",
                    "Give a scope like 'cart:write'.",
                )
            return None
        try:
            return check_scope(scope)
        except ValueError as error:
            hint = str(error)
            if isinstance(scope, str) and "*" in scope:
                hint = "Patterns with * are for grants. An action has the one scope that it needs, like 'cart:write'."
            self.note(FaultId.SCOPE, f"{scope!r} is not a scope.", hint)
            return None

    def cost(
        self, effect: Effect | None, schema: dict[str, Any] | None, source: Source | None
    ) -> Cost | None:
        cost = self.written.cost
        if cost is None:
            if effect is Effect.SPEND:
                self.note(
                    FaultId.NO_COST,
                    "The action spends and declares no cost, so agents always ask and say the amount is unknown.",
                    COST_HINT,
                )
            return None
        if effect not in {None, Effect.SPEND}:
            self.note(
                FaultId.COST,
                f"The action declares a cost and has effect {effect}.",
                "Only an action with effect spend can charge: set effect='spend' or leave cost out.",
            )
        if schema is None or source is None:
            return None
        try:
            found = read_cost(cost, schema)
        except CostError as error:
            self.note(FaultId.COST, f"The cost does not hold: {error}.", COST_HINT)
            return None
        path = found.field_path
        if found.field is not None and (is_float(source.hint, path) or path in source.floats):
            self.note(
                FaultId.COST,
                f"The cost does not hold: the handler gets the input {found.field!r} as a float, which has no "
                "exact cents and cannot be charged.",
                "Write its type as Decimal, or as a DecimalField; agents send the same number.",
            )
        return found

    def consequential(self, effect: Effect | None) -> bool:
        given = self.written.consequential
        matters = effect in CONSEQUENTIAL
        if given is not None and (not isinstance(given, bool) or (matters and not given)):
            self.note(
                FaultId.CONTRADICTION,
                f"consequential={given!r} does not go with effect {effect}.",
                "It is True for send, spend and delete; a read or write may be raised to True.",
            )
        return matters or given is True

    def idempotent(self, effect: Effect | None, method: str) -> bool:
        given = self.written.idempotent
        if given is None:
            return effect is not None and is_idempotent_by_nature(effect, method)
        if not isinstance(given, bool) or (given and effect in {Effect.SEND, Effect.SPEND}):
            self.note(
                FaultId.CONTRADICTION,
                f"idempotent={given!r} does not go with effect {effect}.",
                "What was sent or paid twice is not undone; callers repeat safely with an Idempotency-Key.",
            )
        return given is True

    def confirm(self, effect: Effect | None) -> str | None:
        given = self.written.confirm
        if given is None:
            return None
        if given != PERSON or effect is Effect.READ:
            self.note(
                FaultId.CONFIRM,
                f"confirm={given!r} does not go with effect {effect}.",
                "The one value is confirm='person', for an action that is no read: each call waits until a person "
                "has approved exactly it.",
            )
        return PERSON

    def texts(self, word: str, given: Any, *, begins: str = "") -> tuple[str, ...]:
        values = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
        if all(isinstance(value, str) and value.strip() and value.startswith(begins) for value in values):
            return values
        self.note(
            FaultId.WORDING,
            f"{word}={given!r} is not a list of texts" + (f" that begin with {begins!r}." if begins else "."),
            "Write pages=['/cart'], tags=['shopping'].",
        )
        return ()

    def visible(self) -> Callable[[Any], bool] | None:
        given: Callable[[Any], bool] | None = self.written.visible
        if given is not None and (not callable(given) or inspect.iscoroutinefunction(given)):
            self.note(
                FaultId.VISIBLE,
                "visible is not a function of the user.",
                "Write visible=lambda user: user.is_staff; it may not be async.",
            )
        return given

    def rate(self) -> tuple[float, int] | None:
        given = self.written.rate
        if given is None:
            return None
        # The rule of the site-wide rates, so that one spelling is learnt once.
        wrong = conf.SETTINGS["CALLER_RATE"].check(given)
        if wrong is None and all(math.isfinite(part) for part in given):
            return float(given[0]), int(given[1])
        self.note(
            FaultId.RATE,
            f"rate={given!r} {wrong or 'must be finite'}.",
            "Write rate=(calls a second, burst), for example rate=(2, 10).",
        )
        return None
