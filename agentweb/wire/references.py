"""References of flows: ``$input.x`` and ``$steps.N.path`` in the input of a step (AGENT_ACTIONS 9).

::

    ref  = "$input" *step ["?"] / "$steps." index *step ["?"]     ; the whole string, or it is no reference
    step = "." index / "." name / "[" json-string "]"             ; index = digits, name = [A-Za-z_][A-Za-z0-9_-]*

A reference becomes a copy of the value it names, with its type. With ``?`` the member is left out when there
is nothing; ``null`` is something. A literal that begins with ``$`` is written ``$$``. Digits index a list or
are a key of an object; a quoted step is always a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from agentweb.wire.errors import ClientError, Code
from agentweb.wire.strict_json import Json

MAX_REFERENCE: Final = 1_000
MAX_STEPS: Final = 50
MAX_PROBLEMS: Final = 100
"""Of one flow that are listed: a foreign manifest has room for very many."""
MAX_SIZE: Final = 4_194_304
"""Values and characters of one resolved input: a foreign flow may name a large output many times."""

_JSON_STRING: Final = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
_STEP: Final = re.compile(
    rf"\.(?P<index>[0-9]{{1,9}})|\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|\[(?P<quoted>{_JSON_STRING})\]"
)
_SOURCE: Final = re.compile(r"\$input|\$steps\.(?P<number>[0-9]{1,9})(?=[.\[?]|$)")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Segment:
    """One step of a path. ``written`` is its spelling, ``is_index`` whether it may index a list."""

    name: str
    is_index: bool
    written: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed reference. ``step`` is the number of the earlier step, None for the flow's own input."""

    text: str
    step: int | None
    path: tuple[Segment, ...]
    optional: bool

    @property
    def source(self) -> str:
        """``$input`` or ``$steps.N``."""
        return "$input" if self.step is None else f"$steps.{self.step}"


def parse_reference(text: str) -> Reference | None:
    """The reference that the whole string is, or None for a literal (``$$`` begins one too).

    Raises ClientError ``flow_invalid`` for any other string that begins with ``$``.
    """
    if not text.startswith("$") or text.startswith("$$"):
        return None
    source = _SOURCE.match(text) if len(text) <= MAX_REFERENCE else None
    if source is None:
        raise _invalid_reference(text)
    optional = text.endswith("?")
    end = len(text) - optional
    path: list[Segment] = []
    position = source.end()
    while position < end:
        step = _STEP.match(text, position, end)
        if step is None:
            raise _invalid_reference(text)
        path.append(_segment(step, text))
        position = step.end()
    number = source["number"]
    return Reference(text, None if number is None else int(number), tuple(path), optional)


def _segment(step: re.Match[str], text: str) -> Segment:
    if step["quoted"] is None:
        return Segment(step["index"] or step["name"], step["index"] is not None, step[0])
    key = json.loads(step["quoted"])
    if _SURROGATE.search(key):
        raise _invalid_reference(text)
    return Segment(key, False, step[0])


def _invalid_reference(text: str) -> ClientError:
    shown = text if len(text) <= 80 else text[:80] + "…"
    return ClientError(
        Code.FLOW_INVALID,
        f"{shown!a} is not a reference: write $input.name or $steps.0.name, or $$ for a literal dollar.",
        reference=shown,
    )


def references_in(value: Json, pointer: str = "") -> Iterator[tuple[str, Reference]]:
    """Every reference at any depth, with the JSON pointer of its place. Raises as ``parse_reference``."""
    if isinstance(value, str):
        reference = parse_reference(value)
        if reference is not None:
            yield pointer, reference
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from references_in(item, f"{pointer}/{_escape(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from references_in(item, f"{pointer}/{index}")


def resolve(value: Json, input: Json, steps: Sequence[Json], *, step: int | None = None) -> Json:
    """``value`` with every reference replaced; nothing in it is shared with ``input`` or the step outputs.

    ``steps`` are the outputs so far and ``step`` the number of the step that is being prepared, for the
    error. Raises ClientError ``flow_reference_missing`` with ``reference``, ``step`` and ``found`` (the longest
    part of the path that exists, ``""`` if none) and ``flow_invalid`` for bad references and excessive size.
    """
    return _Resolver(input, steps, step).resolve(value)


class _Resolver:
    def __init__(self, input: Json, steps: Sequence[Json], step: int | None) -> None:
        self.input = input
        self.steps = steps
        self.step = step
        self.room = MAX_SIZE

    def resolve(self, value: Json) -> Json:
        if isinstance(value, str):
            reference = parse_reference(value)
            if reference is None:
                return self.copy(value[1:] if value.startswith("$$") else value)
            return self.copy(self.look_up(reference))
        if isinstance(value, dict):
            self.take(sum(map(len, value)))
            return {key: self.resolve(item) for key, item in value.items() if not self.is_left_out(item)}
        if isinstance(value, list):
            return [self.resolve(item) for item in value if not self.is_left_out(item)]
        return self.copy(value)

    def is_left_out(self, value: Json) -> bool:
        if not isinstance(value, str) or not value.endswith("?"):
            return False
        reference = parse_reference(value)
        return reference is not None and not self.follow(reference)[0]

    def look_up(self, reference: Reference) -> Json:
        exists, value, found = self.follow(reference)
        if not exists:
            where = f"{found} {_what(value)}" if found else f"{reference.source} has no output"
            raise ClientError(
                Code.FLOW_REFERENCE_MISSING,
                f"{reference.text} names nothing: {where}.",
                reference=reference.text,
                step=self.step,
                found=found,
            )
        return value

    def follow(self, reference: Reference) -> tuple[bool, Json, str]:
        """(does it exist, its value or that of the longest part of the path that exists, this part)."""
        if reference.step is None:
            value = self.input
        elif reference.step < len(self.steps):
            value = self.steps[reference.step]
        else:
            return False, None, ""
        found = reference.source
        for segment in reference.path:
            if isinstance(value, dict) and segment.name in value:
                value = value[segment.name]
            elif isinstance(value, list) and segment.is_index and int(segment.name) < len(value):
                value = value[int(segment.name)]
            else:
                return False, value, found
            found += segment.written
        return True, value, found

    def copy(self, value: Json) -> Json:
        if isinstance(value, dict):
            self.take(1 + sum(map(len, value)))
            return {key: self.copy(item) for key, item in value.items()}
        if isinstance(value, list):
            self.take(1)
            return [self.copy(item) for item in value]
        self.take(1 + len(value) if isinstance(value, str) else 1)
        return value

    def take(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            raise ClientError(
                Code.FLOW_INVALID,
                f"The input of the step grows beyond {MAX_SIZE} values and characters; refer to less.",
                step=self.step,
            )


def _what(value: Json) -> str:
    """What is said of a value in which the next step of a path is missing."""
    if isinstance(value, list):
        return f"is a list of {len(value)}, and has no such entry" if value else "is an empty list"
    if isinstance(value, dict):
        return "is an object, and has no such member"
    return "is null" if value is None else "is a single value, and has no members"


def check_references(
    steps: Json, *, actions: Mapping[str, Any], input_schema: Mapping[str, Any] | bool | None = None
) -> list[dict[str, str]]:
    """What is wrong with a flow's steps, as ``{"pointer", "field", "code", "message"}``: the first ``MAX_PROBLEMS``.

    ``steps`` is the list of ``{"action", "with"?}``; ``actions`` gives each known action's input schema;
    ``input_schema`` is the flow's own, if it has one. Pointers begin at the flow (``/steps/1/with/id``).
    Codes: ``type``, ``minItems``, ``maxItems``, ``required``, ``unknown_field``, ``unknown_action``,
    ``reference``, ``not_earlier``.
    """
    if not isinstance(steps, list):
        return [_problem("/steps", "type", "steps must be a list of steps.")]
    if not steps:
        return [_problem("/steps", "minItems", "A flow has at least one step.")]
    if len(steps) > MAX_STEPS:
        return [_problem("/steps", "maxItems", f"A flow has at most {MAX_STEPS} steps.")]
    found = (
        problem
        for position, step in enumerate(steps)
        for problem in _check_step(position, step, actions, input_schema)
    )
    return list(islice(found, MAX_PROBLEMS))


def check_output(output: Json, *, steps: int) -> list[dict[str, str]]:
    """What is wrong with the references in a flow's ``output``, with pointers that begin at the flow; the first
    ``MAX_PROBLEMS``."""
    found = (
        problem
        for path, text in _dollar_strings(output, ("output",))
        for problem in _check_reference(path, text, steps, None)
    )
    return list(islice(found, MAX_PROBLEMS))


def _check_step(
    position: int, step: Json, actions: Mapping[str, Any], input_schema: Mapping[str, Any] | bool | None
) -> Iterator[dict[str, str]]:
    at = f"/steps/{position}"
    if not isinstance(step, dict):
        yield _problem(at, "type", 'A step is an object with the members "action" and "with".')
        return
    name = step.get("action")
    known = isinstance(name, str) and name in actions
    if not known:
        yield _problem(f"{at}/action", "unknown_action", "A step names an action of this site.")
    given = step.get("with", {})
    if isinstance(given, dict):
        if known:
            yield from _check_members(f"{at}/with", given, actions[str(name)])
    elif not isinstance(given, str) or not given.startswith("$") or given.startswith("$$"):
        yield _problem(f"{at}/with", "type", "with must be an object, or one reference to an object.")
        return
    for path, text in _dollar_strings(given, ("steps", str(position), "with")):
        yield from _check_reference(path, text, position, input_schema)
    if isinstance(given, str) and given.endswith("?"):
        yield _problem(f"{at}/with", "reference", "The whole input cannot be left out; write it without ?.")


def _check_members(at: str, given: dict[str, Json], schema: object) -> Iterator[dict[str, str]]:
    """Is what the action's schema demands given, and nothing that it surely refuses?"""
    if not isinstance(schema, dict):
        return
    required = schema.get("required")
    seen: set[str] = set()
    for name in map(str, required) if isinstance(required, list) else ():
        if name in seen:
            # No schema that can be used names one twice: what comes behind is not worth the time.
            break
        seen.add(name)
        value = given.get(name)
        if name not in given:
            yield _problem(f"{at}/{_escape(name)}", "required", "The action requires this input.")
        elif isinstance(value, str) and value.startswith("$") and value.endswith("?") and value[1] != "$":
            yield _problem(
                f"{at}/{_escape(name)}", "required", "The action requires this input; write it without ?."
            )
    properties = schema.get("properties")
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        for name in given:
            if not isinstance(properties, dict) or name not in properties:
                yield _problem(f"{at}/{_escape(name)}", "unknown_field", "The action has no such input.")


def _check_reference(
    path: tuple[str, ...], text: str, position: int, input_schema: Mapping[str, Any] | bool | None
) -> Iterator[dict[str, str]]:
    try:
        reference = parse_reference(text)
    except ClientError as error:
        yield _problem(_pointer(path), "reference", error.message)
        return
    if reference is None:
        return
    if reference.step is not None and reference.step >= position:
        yield _problem(
            _pointer(path),
            "not_earlier",
            f"Step {position} can read the steps before it only, not {reference.source}.",
        )
    if reference.step is None and reference.path and isinstance(input_schema, Mapping):
        properties = input_schema.get("properties")
        closed = input_schema.get("additionalProperties") is False and "patternProperties" not in input_schema
        if closed and not (isinstance(properties, Mapping) and reference.path[0].name in properties):
            yield _problem(
                _pointer(path), "unknown_field", f"The flow's input has no {reference.path[0].name}."
            )


def _dollar_strings(value: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text that begins with ``$``, with its path: a pointer for each could be very much longer than them all."""
    if isinstance(value, str):
        if value.startswith("$"):
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _dollar_strings(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _dollar_strings(item, (*path, str(index)))


def _pointer(path: tuple[str, ...]) -> str:
    return "".join(f"/{_escape(step)}" for step in path)


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")  # RFC 6901 section 3


def _problem(pointer: str, code: str, message: str) -> dict[str, str]:
    field = ".".join(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return {"pointer": pointer, "field": field, "code": code, "message": message}
