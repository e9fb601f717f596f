"""Failures of a validation, worded as ``problems`` (AGENT_ACTIONS section 7).

A problem::

    {"pointer", "field", "code", "message", "expected"?, "allowed"?, "alternative"?}

``pointer`` is RFC 6901 and resolves to the value, or names the member that is missing. ``field`` is the same
path with dots, for people; the root is ``input``. ``code`` is the schema's keyword, with ``unknown_field``
for members that may not be there and ``too_deep``, ``too_large``, ``too_complex``, ``number_out_of_range``
for values that are not looked at further. ``expected`` is the keyword's value, ``allowed`` the list of values
(or of member names) to choose from, ``alternative`` the position, from 0, of the ``oneOf`` or ``anyOf``
branch the problem was measured against. Messages are made from the schema and never hold a value of the
instance; names of members appear, because the pointer has to name them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jsonschema import ValidationError

from agentweb.wire.errors import MAX_PROBLEMS
from agentweb.wire.schema.branches import keyword_of, leaves_of
from agentweb.wire.schema.failures import Failure, Path
from agentweb.wire.schema.wording import NOT_BLANK, phrase, quoted

Problem = dict[str, Any]
_Located = tuple[str, str, Path, ValidationError, int | None]

MAX_POINTER: Final = 1_000
"""Longer pointers end at an ancestor, so that 100 problems cannot repeat a megabyte of member name."""


def pointer_of(path: Iterable[str | int]) -> str:
    """RFC 6901: ``~`` becomes ``~0`` and ``/`` becomes ``~1``."""
    return "".join(["/" + str(part).replace("~", "~0").replace("/", "~1") for part in path])


def field_of(path: Iterable[str | int]) -> str:
    """The path for people: ``items.0.price``, and ``input`` for the whole."""
    return ".".join([str(part) for part in path]) or "input"


def make_problem(path: Path, code: str, message: str, **members: Any) -> Problem:
    """One problem; ``members`` that are None are left out."""
    path = _fitting(path)
    problem = {"pointer": pointer_of(path), "field": field_of(path), "code": code, "message": message}
    problem.update({name: value for name, value in members.items() if value is not None})
    return problem


def list_problems(
    failures: Iterable[ValidationError], earlier: Iterable[Problem] = ()
) -> tuple[list[Problem], bool]:
    """The problems behind the failures of one value: sorted by pointer and code, without repetition, at most 100.

    The second part says whether some were cut off. Only what is kept is worded. ``anyOf`` and ``oneOf`` give
    their best branch. At the pointers of ``earlier`` problems, only those are listed.
    """
    kept = list(earlier)
    settled = {problem["pointer"] for problem in kept}
    located: list[_Located] = []
    for failure in failures:
        for full_path, leaf, alternative in leaves_of((), failure):
            path = _fitting(full_path)
            pointer = pointer_of(path)
            if pointer not in settled:
                located.append((pointer, _code(leaf), path, leaf, alternative))
    located = [each for each in located if not _is_said_by(each, located)]
    located.sort(key=lambda each: each[:2])
    unique: set[tuple[str, str, str]] = set()
    for _, _, path, leaf, alternative in located:
        problem = _word(path, leaf, alternative)
        identity = (problem["pointer"], problem["code"], problem["message"])
        if identity not in unique:
            unique.add(identity)
            kept.append(problem)
        if len(unique) > MAX_PROBLEMS:
            break
    return settle(kept)


def _is_said_by(one: _Located, located: list[_Located]) -> bool:
    """Whether a pattern only says again, in signs, what the same schema says in words by another keyword.

    So it is of texts that may not be blank, and of addresses, of which serializers and forms take fewer than there are.
    """
    pointer, code, _, leaf, _ = one
    if code != "pattern":
        return False
    if leaf.validator_value == NOT_BLANK:
        telling = "minLength"
    elif isinstance(leaf.schema, dict) and leaf.schema.get("format") == "email":
        telling = "format"
    else:
        return False
    return any(each[:2] == (pointer, telling) and each[3].schema is leaf.schema for each in located)


def settle(problems: Iterable[Problem]) -> tuple[list[Problem], bool]:
    """Sorted by pointer, code and message, at most 100; and whether some were cut off."""
    ordered = sorted(problems, key=lambda each: (each["pointer"], each["code"], each["message"]))
    return ordered[:MAX_PROBLEMS], len(ordered) > MAX_PROBLEMS


def _fitting(path: Path) -> Path:
    while path and sum(len(str(part)) + 1 for part in path) > MAX_POINTER:
        path = path[:-1]
    return path


def _code(failure: ValidationError) -> str:
    own = failure.code if isinstance(failure, Failure) else None
    return own or keyword_of(failure)


def _word(path: Path, failure: ValidationError, alternative: int | None) -> Problem:
    code = _code(failure)
    subject = quoted(field_of(path)) if path else "The input"
    said, members = phrase(code, failure, path)
    return make_problem(path, code, f"{subject} {said}", alternative=alternative, **members)
