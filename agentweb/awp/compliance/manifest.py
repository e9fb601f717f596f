"""A discovery manifest against the specification's schema: every problem with its place and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from agentweb.awp import discovery_schema
from agentweb.awp.budgets import DISCOVERY_DESCRIPTION, Measure, at_most, fits
from agentweb.awp.compliance import recommendations
from agentweb.awp.compliance.counting import count_for
from agentweb.awp.compliance.problems import Problem, Severity, in_order
from agentweb.awp.compliance.reading import MAX_BYTES, Reading, read, shown
from agentweb.wire.errors import Code

MAX_UNKNOWN: Final = 50
"""Members that are named as unknown."""

_SAMPLES: Final = {
    "/version": '"1.0"',
    "/name": '"Corner Shop"',
    "/description": '"Teas and pots, sent within two days."',
    "/capabilities": '["content"]',
    "/endpoints": '{"manifest": "/awp/manifest.json"}',
    "/endpoints/manifest": '"/awp/manifest.json"',
    "/endpoints/content": '"/awp/content/structure.json"',
    "/endpoints/api": '"/awp/api/tools/functions.json"',
    "/endpoints/mcp": '"/mcp"',
    "/authentication": '{"required": false}',
    "/authentication/required": "false",
    "/authentication/methods": '["bearer"]',
    "/authentication/registration": '"https://shop.example/developers"',
    "/rate_limits": '{"requests_per_minute": 60}',
    "/rate_limits/requests_per_minute": "60",
    "/rate_limits/requests_per_day": "10000",
    "/llms_txt": '"/llms.txt"',
    "/a2a_agent_card": '"/.well-known/agent-card.json"',
    "/updated_at": '"2026-06-25T12:00:00Z"',
}
"""What each member may look like, as JSON."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found, in the order of the document; ``is_cut`` says that there is more of it.

    ``manifest`` is the object, None when the document is none.
    """

    reading: Reading
    problems: tuple[Problem, ...]
    manifest: dict[str, Any] | None = None
    is_cut: bool = False

    @property
    def is_valid(self) -> bool:
        return all(problem.severity is not Severity.ERROR for problem in self.problems)


def validate(data: bytes, *, max_bytes: int = MAX_BYTES, measure: Measure = at_most) -> Validation:
    """Every problem of a manifest that is given as the bytes of its file. Raises nothing for any bytes.

    Only what does not fit its budget by ``measure`` is counted, for which the tokenizer may have to be loaded.
    """
    reading = read(data, max_bytes=max_bytes)
    problems = [
        Problem(Severity.ERROR, fault.code, fault.message, fault.fix, fault.pointer, fault.spot)
        for fault in reading.faults
    ]
    if not reading.is_readable:
        return Validation(reading, tuple(in_order(problems)))
    unsure = {fault.pointer for fault in reading.faults if fault.code != Code.DUPLICATE_KEY}
    found, is_cut = discovery_schema.compiled().problems(reading.value)
    # Of another type than the one text that is allowed: that text says both.
    fixed = {each["pointer"] for each in found if each["code"] == "const"}
    problems += [
        _of_schema(each, reading)
        for each in found
        if each["pointer"] not in unsure and not (each["code"] == "type" and each["pointer"] in fixed)
    ]
    manifest = reading.value if isinstance(reading.value, dict) else None
    if manifest is not None:
        problems += _over_budget(manifest, reading, measure)
        problems += _unknown(manifest, reading)
        broken = {problem.pointer for problem in problems}
        problems += _recommended(manifest, reading, broken)
    return Validation(reading, tuple(in_order(problems)), manifest, is_cut)


def _of_schema(problem: dict[str, Any], reading: Reading) -> Problem:
    pointer, code = str(problem["pointer"]), str(problem["code"])
    message = str(problem["message"]).replace("The input ", "The manifest ", 1)
    return Problem(Severity.ERROR, code, message, _fix(pointer, code), pointer, reading.spot(pointer))


def _fix(pointer: str, code: str) -> str:
    name = pointer.rpartition("/")[2]
    above = pointer.rpartition("/")[0].removeprefix("/")
    sample = _SAMPLES.get(pointer)
    if code == "required" and sample is not None:
        return f'Add "{name}": {sample}' + (f" to {above}." if above else ".")
    if not pointer:
        return 'Write one object: {"version": "1.0", …}.'
    if above == "capabilities" and code in {"enum", "type"}:
        return "Take it out of the list, or write one of the five names that the specification has."
    if code == "uniqueItems":
        return "Keep one of each."
    if code in {"maxLength", "minLength"} and pointer == "/description":
        return "Say in one or two sentences what the site is and what agents can do here."
    if sample is not None:
        return f'Write it like "{name}": {sample}.'
    return f"Write a text for each item of {above}." if above else "Correct it as the message says."


def _over_budget(manifest: dict[str, Any], reading: Reading, measure: Measure) -> Iterator[Problem]:
    description = manifest.get("description")
    budget = DISCOVERY_DESCRIPTION
    if not isinstance(description, str) or fits(description, budget.tokens, measure):
        return
    count = count_for(description, budget)
    if count.tokens > budget.tokens:
        yield Problem(
            Severity.WARNING,
            "over_budget",
            f"'description' has {count} tokens; its budget is {budget.tokens}.",
            f"Shorten it to about {budget.tokens * 4} characters, and say the rest in the summary.",
            "/description",
            reading.spot("/description"),
        )


def _unknown(manifest: dict[str, Any], reading: Reading) -> Iterator[Problem]:
    """Agents pass over what they do not know, so an unknown member is no mistake; but it may be a slip."""
    properties: dict[str, Any] = discovery_schema.document()["properties"]
    listed = 0
    for above, value, known in (
        ("", manifest, properties),
        *((f"/{name}", manifest.get(name), rule.get("properties")) for name, rule in properties.items()),
    ):
        if not isinstance(value, dict) or known is None:
            continue
        inside = f" in {above[1:]}" if above else ""
        for name in value:
            if name in known:
                continue
            listed += 1
            if listed > MAX_UNKNOWN:
                return
            close = get_close_matches(name[:60], [each for each in known if each not in value], n=1)
            pointer = f"{above}/{name.replace('~', '~0').replace('/', '~1')}"
            yield Problem(
                Severity.NOTE,
                "unknown_member",
                f"{shown(name)} is no member that AWP 1.0 has{inside}; agents pass over it.",
                f'Did you mean "{close[0]}"?'
                if close
                else "Leave it, if it is meant for agents that know it.",
                pointer,
                reading.spot(pointer, of_name=True),
            )


def _recommended(manifest: dict[str, Any], reading: Reading, broken: set[str]) -> Iterator[Problem]:
    for recommendation in recommendations.ALL:
        for remark in recommendation(manifest):
            if remark.pointer not in broken and remark.pointer.rpartition("/")[0] not in broken - {""}:
                yield Problem(
                    Severity.NOTE,
                    remark.code,
                    remark.message,
                    remark.fix,
                    remark.pointer,
                    reading.spot(remark.pointer),
                )
