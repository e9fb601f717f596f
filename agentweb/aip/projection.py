"""Actions on the AIP face, where an input is one text or a flat object of texts (AIP section 3).

=============================================== =====================================================
the action's input                              on AIP
=============================================== =====================================================
a string, number, boolean …                     its text
an object with one required member alone        that member's text, without the object around it
an object of such members                       an object of their texts; what is optional stays so
anything nested                                 not offered
=============================================== =====================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from agentweb.aip.inputs import Alone, Fields, Form, Whole, absent
from agentweb.aip.texts import flattened, text_schema
from agentweb.catalog.actions import Action
from agentweb.catalog.browser_actions import BrowserAction
from agentweb.catalog.schema_shapes import Schema, is_scalar, types_of
from agentweb.wire.errors import AgentError, InputError
from agentweb.wire.schema import NO_EXAMPLE, CompiledSchema, compile_schema
from agentweb.wire.schema.equality import are_equal
from agentweb.wire.strict_json import Json, dumps

MAX_KEPT: Final = 4_096
"""Projections kept in a process, one for each input that actions take."""

_PRESENCE: Final = ("minProperties", "maxProperties", "dependentRequired")
"""Rules that speak of members' presence alone, and so of an object of texts as of any."""
_OPEN: Final = ("additionalProperties", "unevaluatedProperties")


@dataclass(frozen=True, slots=True)
class Projection:
    """An action as AIP offers it: ``schema`` and ``example`` of its input, in texts."""

    schema: dict[str, Any]
    example: Json
    reading: Form

    def read(self, value: Json) -> Json:
        """The action's own input that ``value`` writes, valid by the action's schema.

        Raises InputError with every problem; pointers are into ``value``.
        """
        return self.reading.read(value)

    def read_nothing(self) -> Json:
        """The input of a call that sends none, which stands for an object without members. Raises InputError."""
        if isinstance(self.example, dict):
            return self.reading.read({})
        raise InputError([absent(self.example)])

    def located(self, error: AgentError) -> AgentError:
        """The error of a call, with ``field`` and pointers as they are in AIP's input; itself when they are."""
        return self.reading.located(error)


@dataclass(frozen=True, slots=True)
class NotOffered:
    """Why an action has no form on AIP: what stands after ``is not offered because``."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Described:
    """What the form of an action follows from. Equal schemas share one compiled, so that tells them apart."""

    input: CompiledSchema
    example_text: bytes | None
    schema: dict[str, Any] = field(compare=False)
    example: Json = field(compare=False)


def project(action: Action | BrowserAction) -> Projection | NotOffered:
    """The action on AIP, found out once for each input and example."""
    text = dumps(action.example) if action.has_example else None
    return _project(_Described(action.input, text, action.input_schema, action.example))


@lru_cache(maxsize=MAX_KEPT)
def _project(action: _Described) -> Projection | NotOffered:
    schema = action.schema
    flat = flattened(schema, schema)
    if is_scalar(flat, schema):
        reading: Form = Whole(action.input, compile_schema(_of_whole(schema)))
        return _with_example(action, _of_whole(schema), reading)
    reason = _why_not(flat, schema)
    if reason is not None:
        return NotOffered(reason)
    members = flat.get("properties", {})
    required = [name for name in members if name in flat.get("required", ())]
    if len(members) == 1 and required and not any(word in flat for word in _PRESENCE):
        alone = _of_member(members[required[0]], schema)
        return _with_example(action, alone, Alone(action.input, compile_schema(alone), required[0]))
    stated: dict[str, Any] = {"type": "object"}
    if flat.get("description"):
        stated["description"] = flat["description"]
    stated["properties"] = {name: text_schema(member, schema) for name, member in members.items()}
    if required:
        stated["required"] = required
    stated |= {word: flat[word] for word in _PRESENCE if word in flat}
    stated["additionalProperties"] = False
    return _with_example(action, stated, Fields(action.input, compile_schema(stated), frozenset(members)))


def _of_whole(schema: Schema) -> dict[str, Any]:
    return _bare(text_schema(schema, schema))


def _of_member(member: Any, schema: Schema) -> dict[str, Any]:
    return _bare(text_schema(member, schema))


def _bare(stated: dict[str, Any]) -> dict[str, Any]:
    """A text that is the whole input: with a sentence that says so, unless the author describes it."""
    said = stated.get("description")
    return {"type": "string", "description": said or "Send the value itself, with nothing around it."} | {
        name: value for name, value in stated.items() if name not in {"description", "default"}
    }


def _why_not(flat: dict[str, Any], schema: Schema) -> str | None:
    kinds = types_of(flat, schema)
    if kinds != {"object"}:
        said = " or ".join(sorted(kinds)) if kinds else "of a type that its schema does not say"
        return f"its input is {said}, and neither a scalar nor a flat object"
    members = flat.get("properties", {})
    nested = [name for name, member in members.items() if not is_scalar(flattened(member, schema), schema)]
    if nested:
        return (
            f"{_listed(nested)} {'is' if len(nested) == 1 else 'are'} nested, or of a type that is not said"
        )
    undeclared = [name for name in flat.get("required", ()) if name not in members]
    undeclared += [name for name in _members_of_branches(flat, schema) if name not in members]
    if undeclared:
        verb = "stands" if len(set(undeclared)) == 1 else "stand"
        return f"{_listed(undeclared)} {verb} in a part of the schema only, not in its properties"
    if flat.get("patternProperties") or any(
        isinstance(flat.get(word), Mapping) and flat[word] for word in _OPEN
    ):
        return "it takes members of any name"
    return None


def _members_of_branches(flat: dict[str, Any], schema: Schema) -> Iterator[str]:
    branches = [each for word in ("anyOf", "oneOf") for each in flat.get(word, ())]
    branches += [flat[word] for word in ("then", "else") if word in flat]
    branches += flat.get("dependentSchemas", {}).values()
    for branch in branches:
        here = flattened(branch, schema)
        yield from here.get("properties", ())
        yield from here.get("required", ())
        # It ends: a reference that leads back to itself in place is no valid schema.
        yield from _members_of_branches(here, schema)


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in dict.fromkeys(names))


def _with_example(action: _Described, stated: dict[str, Any], reading: Form) -> Projection | NotOffered:
    """The projection with the author's example in texts, or one that is made."""
    for candidate in _candidates(action, stated, reading):
        try:
            reading.read(candidate)
        except InputError:
            continue
        return Projection(stated, candidate, replace(reading, shown=candidate))
    return NotOffered("no example of its input can be made; give it one: example=…")


def _candidates(action: _Described, stated: dict[str, Any], reading: Form) -> Iterator[Json]:
    written = list(reading.written(action.example)) if action.example_text is not None else []
    yield from (each for each in written[:1] if _means(reading, each, action.example))
    yield from written[1:]
    made = compile_schema(stated).example()
    if made is not NO_EXAMPLE:
        yield made


def _means(reading: Form, written: Json, value: Json) -> bool:
    try:
        return are_equal(reading.read(written), value)
    except InputError:
        return False
