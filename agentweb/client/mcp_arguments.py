"""What the tools over MCP take, with a word for the model about each; and what is wrong with arguments that do not fit.

Needs the extra ``mcp``, which brings pydantic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from agentweb.client.finding import MAX_LIMIT
from agentweb.wire.errors import InputError

Query = Annotated[str, Field(description='What is to be done, in a few words: "buy printer paper".')]
Effect = Annotated[
    Literal["read", "write", "send", "spend", "delete"] | None,
    Field(description="Only actions with this effect."),
]
OfSite = Annotated[str | None, Field(description="Only actions of this site, host or host:port.")]
Currency = Annotated[
    str | None, Field(description="Only actions that cost something in this currency, by ISO 4217: USD.")
]
MaxCost = Annotated[
    str | None,
    Field(
        description='With currency, an amount such as "30.00": only actions that cost no more, or nothing, or what an '
        "input says."
    ),
]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT, description=f"Results at most, 1 to {MAX_LIMIT}.")]
Url = Annotated[str, Field(description="Any address of the site, with its scheme: https://shop.example.")]
Action = Annotated[str, Field(description="The name of the action, from discover_actions or find_action.")]
Flow = Annotated[str, Field(description="The name of the flow, from discover_actions or find_action.")]
Input = Annotated[
    dict[str, Any] | None,
    Field(description="The input, by its schema from discover_actions; {} unless given."),
]
Resume = Annotated[
    str | None,
    Field(description="The run, fr_…, of an error's resume: goes on where that stopped. Without input then."),
]
Confirm = Annotated[
    bool,
    Field(description="True only when the person approved exactly what needs_human said of this very call."),
]
Code = Annotated[
    str | None, Field(description="The code that the person gave for this question. Never one of your own.")
]

_CODES: Final = {"missing": "required", "literal_error": "enum"}


def wrong_arguments(error: ValidationError) -> InputError:
    """What pydantic found, as problems: values are not repeated."""
    found: dict[str, dict[str, Any]] = {}
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        name = str(each["loc"][0]) if each["loc"] else ""
        found.setdefault(name, _problem(name, _CODES.get(each["type"], "type"), f"{each['msg']}."))
    return InputError([found[name] for name in sorted(found)])


def unknown_arguments(given: Mapping[str, Any], known: Collection[str]) -> InputError | None:
    """What is given and not taken, None when there is nothing such."""
    problems = []
    for name in sorted(set(given) - set(known)):
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else f" There are {', '.join(known)}."
        problems.append(_problem(name, "unknown_field", f"The tool has no argument of this name.{hint}"))
    return InputError(problems) if problems else None


def _problem(name: str, code: str, message: str) -> dict[str, Any]:
    pointer = f"/{name.replace('~', '~0').replace('/', '~1')}"
    return {"pointer": pointer, "field": name, "code": code, "message": message}
