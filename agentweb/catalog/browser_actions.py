"""Browser actions: what an open page of the site does for an agent, in the browser of its person (AIP section 6).

They are declared with their page, because only that page can run them::

    page(
        "/cart",
        title="Cart",
        browser_actions=[
            {
                "name": "highlight_line",
                "description": "Show a line of the cart to the person.",
                "input": LineRef,
            },
        ],
    )
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentweb.catalog.declaring import Findings, check_description, is_name
from agentweb.catalog.effects import CONSEQUENTIAL, Effect
from agentweb.catalog.faults import FaultId
from agentweb.catalog.schema_sources import EMPTY_INPUT, SourceError, schema_of
from agentweb.wire.safe_numbers import check_published
from agentweb.wire.schema import NO_EXAMPLE, CompiledSchema, SchemaError, compile_schema
from agentweb.wire.scopes import check_scope
from agentweb.wire.strict_json import Json

MEMBERS: Final = ("name", "description", "effect", "scope", "input", "example")
HINT: Final = (
    'Write {"name": "sort_table", "description": "Sort the table by a column.", "effect": "read", "input": {…}}, '
    f"with none but the members {', '.join(MEMBERS)}."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BrowserAction:
    """A browser action that holds. ``input`` is ``input_schema`` compiled; ``example`` is valid if ``has_example``."""

    name: str
    description: str
    effect: Effect
    scope: str | None
    input_schema: dict[str, Any]
    input: CompiledSchema
    example: Json = None
    has_example: bool = False

    @property
    def consequential(self) -> bool:
        """Whether a person should be asked first."""
        return self.effect in CONSEQUENTIAL


def read_browser_actions(given: Any, findings: Findings) -> tuple[BrowserAction, ...]:
    """The browser actions of a page, as they were written; faults are noted."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        findings.note(FaultId.BROWSER_ACTION, "browser_actions is not a list.", HINT)
        return ()
    found: dict[str, BrowserAction] = {}
    for each in given:
        action = _read(each, findings)
        if action is None:
            continue
        if action.name in found:
            findings.note(
                FaultId.BROWSER_ACTION,
                f"Two browser actions of the page are named {action.name!r}.",
                "Rename one of them.",
            )
        found[action.name] = action
    return tuple(found.values())


def _read(given: Any, findings: Findings) -> BrowserAction | None:
    if not isinstance(given, Mapping):
        findings.note(FaultId.BROWSER_ACTION, f"{given!r} is not a browser action.", HINT)
        return None
    unknown = [repr(name) for name in given if name not in MEMBERS]
    if unknown:
        findings.note(
            FaultId.BROWSER_ACTION, f"A browser action has no member {', '.join(sorted(unknown))}.", HINT
        )
    name = given.get("name")
    if not is_name(name):
        findings.note(FaultId.BROWSER_ACTION, f"{name!r} is not the name of a browser action.", HINT)
        return None
    effect = _effect(name, given.get("effect", Effect.READ), findings)
    compiled = _compiled(name, given.get("input"), findings)
    scope = _scope(name, given.get("scope"), effect, findings)
    description = check_description(given.get("description"), findings)
    if compiled is None or effect is None:
        return None
    schema, checker = compiled
    example, has_example = _example(name, given, checker, findings)
    return BrowserAction(
        name=name,
        description=description,
        effect=effect,
        scope=scope,
        input_schema=schema,
        input=checker,
        example=example,
        has_example=has_example,
    )


def _effect(name: str, given: Any, findings: Findings) -> Effect | None:
    try:
        effect = Effect(given)
    except ValueError:
        findings.note(
            FaultId.BROWSER_ACTION,
            f"The browser action {name!r} has no effect {given!r}.",
            "Choose one of read, write, send and delete.",
        )
        return None
    if effect is Effect.SPEND:
        # No mandate is debited in a browser, and no receipt comes of it.
        findings.note(
            FaultId.BROWSER_ACTION,
            f"The browser action {name!r} has effect spend, which the browser of a person may not do for an agent.",
            "Declare what spends as an action of the site, with @action(effect='spend', …).",
        )
    return effect


def _scope(name: str, given: Any, effect: Effect | None, findings: Findings) -> str | None:
    if given is None:
        if effect not in {None, Effect.READ}:
            findings.note(
                FaultId.NO_SCOPE,
                f"The browser action {name!r} has effect {effect} and no scope: any session may call it.",
                "Give a scope like 'cart:write'.",
            )
        return None
    try:
        return check_scope(given)
    except ValueError as error:
        findings.note(
            FaultId.BROWSER_ACTION, f"{given!r} of {name!r} is not a scope for an action.", str(error)
        )
        return None


def _compiled(name: str, given: Any, findings: Findings) -> tuple[dict[str, Any], CompiledSchema] | None:
    try:
        schema = dict(EMPTY_INPUT) if given is None else schema_of(given)
        return schema, compile_schema(schema)
    except (SourceError, SchemaError, ValueError) as error:
        findings.note(
            FaultId.BROWSER_ACTION,
            f"The input of the browser action {name!r} does not hold: {error}",
            "Write a JSON Schema 2020-12 as a dict, a dataclass or a TypedDict of plain types.",
        )
        return None


def _example(
    name: str, given: Mapping[Any, Any], compiled: CompiledSchema, findings: Findings
) -> tuple[Json, bool]:
    if "example" not in given:
        made = compiled.example()
        return (None, False) if made is NO_EXAMPLE else (made, True)
    example = given["example"]
    try:
        check_published(example)
        problems, _truncated = compiled.problems(example)
    except ValueError as error:
        wrong = str(error)
    else:
        wrong = "; ".join(f"{problem['pointer'] or '/'}: {problem['message']}" for problem in problems)
    if wrong:
        findings.note(
            FaultId.BROWSER_ACTION,
            f"The example of the browser action {name!r} does not fit its input: {wrong}",
            "Correct the example, or leave it out: it is made from the schema when it can be.",
        )
    return example, True
