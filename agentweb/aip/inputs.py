"""From the texts that an agent sent to the action's own input, with every problem that is in them.

One class for each form that an input has on AIP. Texts are read by the rule of query strings, and what they say is
checked by the action's own schema, whose problems say more than that a pattern does not fit; the schema of the texts
has the last word, so that it is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from agentweb.aip.texts import text_of
from agentweb.wire.errors import AgentError, InputError
from agentweb.wire.schema import CompiledSchema
from agentweb.wire.schema.problems import Problem, make_problem, pointer_of
from agentweb.wire.strict_json import Json, dumps

_STRUCTURE: Final = frozenset({"unknown_field", "required"})
_UNREAD: Final = frozenset({"too_deep", "too_large", "too_complex", "number_out_of_range"})
_LONGEST: Final = 200
"""Characters of an example in a message."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The input is a scalar: its text."""

    input: CompiledSchema
    stated: CompiledSchema
    shown: Json = None

    def read(self, value: Json) -> Json:
        text = _only_text(value, self.shown)
        read: Json
        read, unreadable = self.input.coerce_text(text)
        self.input.check(read, also=unreadable)
        self.stated.check(text)
        return read

    def written(self, value: Json) -> Iterator[Json]:
        yield text_of(value)

    def located(self, error: AgentError) -> AgentError:
        return error


@dataclass(frozen=True, slots=True)
class Alone:
    """The input is an object with the one member ``name``: that member's text."""

    input: CompiledSchema
    stated: CompiledSchema
    name: str
    shown: Json = None

    def read(self, value: Json) -> Json:
        text = _only_text(value, self.shown)
        read, unreadable = self.input.coerce_strings([(self.name, text)])
        problems, _is_cut = self.input.problems(read, unreadable)
        if problems:
            raise InputError([self._placed(problem) for problem in problems])
        self.stated.check(text)
        return read

    def written(self, value: Json) -> Iterator[Json]:
        if isinstance(value, dict) and self.name in value:
            yield text_of(value[self.name])

    def located(self, error: AgentError) -> AgentError:
        """The member is the input here, and has no name."""
        if error.field == self.name:
            error.field = "input"
        if error.problems:
            error.problems = [self._placed(problem) for problem in error.problems]
        return error

    def _placed(self, problem: dict[str, Any]) -> dict[str, Any]:
        if problem.get("pointer") != pointer_of((self.name,)):
            return problem
        message = str(problem.get("message", ""))
        own = f"'{self.name}' "
        said = f"The input {message.removeprefix(own)}" if message.startswith(own) else message
        return {**problem, "pointer": "", "field": "input", "message": said}


@dataclass(frozen=True, slots=True)
class Fields:
    """The input is an object: one of texts, with the same members."""

    input: CompiledSchema
    stated: CompiledSchema
    names: frozenset[str]
    shown: Json = None

    def read(self, value: Json) -> Json:
        found, is_cut = self.stated.problems(value)
        if found and found[0]["code"] in _UNREAD:
            raise InputError(found)
        if not isinstance(value, dict):
            raise InputError([_not_an_object(value, self.shown)])
        problems = [problem for problem in found if problem["code"] in _STRUCTURE]
        known = {name: member for name, member in value.items() if name in self.names}
        texts = [(name, member) for name, member in known.items() if isinstance(member, str)]
        others = {name: member for name, member in known.items() if not isinstance(member, str)}
        problems += [_not_a_text(name, member) for name, member in others.items()]
        read, unreadable = self.input.coerce_strings(texts)
        problems, is_cut_too = self.input.problems({**read, **others}, [*problems, *unreadable])
        if problems or found:
            # Where nothing says it better, what the schema of the texts says.
            extra: dict[str, Any] = {"truncated": True} if is_cut or is_cut_too else {}
            raise InputError(problems or found, **extra)
        return read

    def written(self, value: Json) -> Iterator[Json]:
        if not isinstance(value, dict):
            return
        plain: dict[str, Json] = {
            name: text_of(member) for name, member in value.items() if not isinstance(member, (list, dict))
        }
        yield plain
        # An open text cannot say null; an optional one is left out.
        yield {name: text for name, text in plain.items() if value[name] is not None}

    def located(self, error: AgentError) -> AgentError:
        return error


Form = Whole | Alone | Fields
"""Each has ``read``, ``written`` (how a valid input may be written, to be tried) and ``located`` (places in an error).

``input`` is the action's own schema, ``stated`` that of the texts, ``shown`` an example for messages.
"""


def absent(shown: Json) -> Problem:
    """The problem of a call without input."""
    return make_problem((), "required", f"'input' is required; add it{_as_in(shown)}.")


def _only_text(value: Json, shown: Json) -> str:
    if isinstance(value, str):
        return value
    what = {
        dict: "without an object around it",
        list: "without a list around it",
        type(None): "and not null",
    }.get(type(value), "in quotes")
    message = f"The input must be the text itself, {what}{_as_in(shown)}."
    raise InputError([make_problem((), "type", message, expected="string")])


def _not_an_object(value: Json, shown: Json) -> Problem:
    what = "an object whose members are all texts"
    if isinstance(value, str) and value.lstrip().startswith("{"):
        what = "the object itself and not its JSON in a string"
    return make_problem((), "type", f"The input must be {what}{_as_in(shown)}.", expected="object")


def _as_in(shown: Json) -> str:
    """The action's example, as it stands in the body. That it is one is said: it is not what was meant to be sent."""
    text = dumps(shown).decode()
    return f', as in "input": {text}' if shown is not None and len(text) <= _LONGEST else ""


def _not_a_text(name: str, member: Json) -> Problem:
    if isinstance(member, (dict, list)):
        advice = "one text; nothing is nested here"
    elif member is None:
        advice = "a text; leave it out if there is none"
    else:
        advice = "a text: put it in quotes"
    return make_problem((name,), "type", f"'{name}' must be {advice}.", expected="string")
