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

from collections.abc import Iterable, Iterator
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final

from jsonschema import ValidationError

from agentweb.wire.schema_equality import key_of
from agentweb.wire.schema_formats import SAMPLES
from agentweb.wire.schema_keywords import Failure

Problem = dict[str, Any]
Path = tuple[str | int, ...]

MAX_PROBLEMS: Final = 100
MAX_POINTER: Final = 1_000
"""Longer pointers end at an ancestor, so that 100 problems cannot repeat a megabyte of member name."""

_MAX_LISTED: Final = 50
_MAX_SHOWN: Final = 200

_Located = tuple[Path, ValidationError, int | None]


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


def settle(problems: Iterable[Problem]) -> tuple[list[Problem], bool]:
    """Sorted by pointer and code, without repetition, at most 100; and whether some were cut off."""
    unique: dict[tuple[str, str, str], Problem] = {}
    for problem in problems:
        unique.setdefault((problem["pointer"], problem["code"], problem["message"]), problem)
    ordered = [unique[key] for key in sorted(unique)]
    return ordered[:MAX_PROBLEMS], len(ordered) > MAX_PROBLEMS


def problems_of(failures: Iterable[ValidationError]) -> Iterator[Problem]:
    """The problems behind the failures of one value, unsorted. ``anyOf`` and ``oneOf`` give their best branch."""
    for failure in failures:
        for path, leaf, alternative in _leaves((), failure):
            yield _word(path, leaf, alternative)


def _fitting(path: Path) -> Path:
    while path and len(pointer_of(path)) > MAX_POINTER:
        path = path[:-1]
    return path


def _leaves(above: Path, failure: ValidationError) -> Iterator[_Located]:
    path = above + tuple(failure.relative_path)
    if not isinstance(failure, Failure):
        yield path, failure, None
        return
    if failure.member is not None:
        path += (failure.member,)
    if failure.branches is None or failure.validator == "propertyNames":
        yield path, failure, None
        return
    branches = [[leaf for each in broken for leaf in _leaves(path, each)] for broken in failure.branches]
    merged = _shared_choice(path, branches)
    if merged is not None:
        yield merged[0], merged[1], None
        return
    best = min(range(len(branches)), key=lambda position: _misfit(path, branches[position]))
    for leaf_path, leaf, alternative in branches[best]:
        yield leaf_path, leaf, best if alternative is None else alternative


def _misfit(path: Path, leaves: list[_Located]) -> tuple[int, int, int]:
    """Less is better: type, then the constants that tell branches apart, then the number of failures."""
    wrong_type = any(where == path and _keyword(leaf) == "type" for where, leaf, _ in leaves)
    wrong_constant = sum(1 for _, leaf, _ in leaves if _keyword(leaf) in {"const", "enum"})
    return wrong_type, wrong_constant, len(leaves)


def _shared_choice(path: Path, branches: list[list[_Located]]) -> tuple[Path, Failure] | None:
    """When every branch fails on the very same choice, one failure that offers all the choices.

    Either each is of another type, or each has another constant at the same place: then no branch fits
    better than the others, and blaming one would hide the rest.
    """
    for keywords in ({"type"}, {"const", "enum"}):
        places: set[Path] | None = None
        for leaves in branches:
            here = {where for where, leaf, _ in leaves if _keyword(leaf) in keywords}
            if keywords == {"type"}:
                here &= {path}
            places = here if places is None else places & here
        if not places:
            continue
        place = min(places, key=lambda each: (len(each), pointer_of(each)))
        choices: list[Any] = []
        for leaves in branches:
            for where, leaf, _ in leaves:
                if where == place and _keyword(leaf) in keywords:
                    value = leaf.validator_value
                    choices.extend(
                        value if isinstance(value, list) and _keyword(leaf) != "const" else [value]
                    )
        distinct = list({key_of(choice): choice for choice in choices}.values())
        keyword = "type" if "type" in keywords else "enum"
        shared = Failure()
        shared.validator, shared.validator_value, shared.schema = keyword, distinct, {}
        return place, shared
    return None


def _keyword(failure: ValidationError) -> str:
    keyword = failure.validator
    return keyword if isinstance(keyword, str) else "false"


def _word(path: Path, failure: ValidationError, alternative: int | None) -> Problem:
    keyword = _keyword(failure)
    code = keyword
    detail: Any = None
    if isinstance(failure, Failure):
        code = failure.code or keyword
        detail = failure.detail
    value: Any = failure.validator_value
    schema: dict[str, Any] = failure.schema if isinstance(failure.schema, dict) else {}
    message, members = _wording(code, value, schema, detail, path, failure)
    if code == "false":
        code = "unknown_field" if _is_member(failure) else "not_allowed"
    return make_problem(path, code, message, alternative=alternative, **members)


def _is_member(failure: ValidationError) -> bool:
    steps = list(failure.relative_schema_path)
    return len(steps) >= 2 and steps[-2] in {"properties", "patternProperties"}


def _wording(
    code: str, value: Any, schema: dict[str, Any], detail: Any, path: Path, failure: ValidationError
) -> tuple[str, dict[str, Any]]:
    """The message and the further members of one problem."""
    match code:
        case "type":
            kinds = value if isinstance(value, list) else [value]
            return f"This must be {_one_of([_article(kind) for kind in kinds])}.", {"expected": value}
        case "enum":
            return f"This must be one of: {_listed(value)}.", {"allowed": list(value[:_MAX_LISTED])}
        case "const":
            return f"This must be {_shown(value)}.", {"allowed": [value]}
        case "required":
            return f"{_name(path)} is required; add it.", {}
        case "dependentRequired":
            return f"{_name(path)} is required when {_quoted(detail)} is given; add it.", {}
        case "unknown_field" | "false":
            return _unknown(path, schema, failure)
        case "pattern":
            if detail == "timeout":
                return "This takes too long to check against its pattern; send a shorter, plainer text.", {
                    "expected": _shown(value, quote=False) if isinstance(value, str) else None
                }
            return f"This must match the pattern {_shown(value, quote=False)}", {"expected": value}
        case "format":
            sample = SAMPLES.get(value)
            return f"This must be {_article(value)}, for example {sample}.", {"expected": value}
        case "propertyNames":
            return f"The name {_name(path)} is not allowed for a member here{_name_rule(value)}.", {}
        case "oneOf" if detail is not None:
            positions = " and ".join(str(each) for each in detail[:5])
            return f"This fits alternatives {positions} at once; it must fit exactly one.", {}
        case "anyOf" | "oneOf":
            return "This fits none of the alternatives.", {}
        case "not":
            return f"This must not fit the schema that is ruled out here{_ruled_out(value)}.", {}
        case "contains":
            return "At least one item must fit the schema of contains; none does.", {}
        case "minContains":
            return f"At least {schema.get('minContains')} items must fit contains; {detail} do.", {
                "expected": schema.get("minContains")
            }
        case "maxContains":
            return f"At most {schema.get('maxContains')} items may fit contains; {detail} do.", {
                "expected": schema.get("maxContains")
            }
        case "uniqueItems":
            first, again = detail
            return f"Items must differ; item {again} repeats item {first}.", {}
        case "items":
            return f"At most {_count(detail, 'item')} may be given.", {"expected": detail}
        case "unevaluatedItems":
            return "This item is one too many; remove it.", {}
    limit = _LIMITS.get(code)
    if limit is not None:
        return limit.format(_shown(value), "" if value == 1 else "s", detail), {"expected": value}
    return f"This breaks the rule {code} of the schema.", {}


_LIMITS: Final[dict[str, str]] = {
    "minimum": "This must be at least {0}.",
    "maximum": "This must be at most {0}.",
    "exclusiveMinimum": "This must be more than {0}.",
    "exclusiveMaximum": "This must be less than {0}.",
    "multipleOf": "This must be a multiple of {0}.",
    "minLength": "This must have at least {0} character{1}; it has {2}.",
    "maxLength": "This must have at most {0} character{1}; it has {2}.",
    "minItems": "This must have at least {0} item{1}; it has {2}.",
    "maxItems": "This must have at most {0} item{1}; it has {2}.",
    "minProperties": "This must have at least {0} member{1}; it has {2}.",
    "maxProperties": "This must have at most {0} member{1}; it has {2}.",
}


def _unknown(path: Path, schema: dict[str, Any], failure: ValidationError) -> tuple[str, dict[str, Any]]:
    if _keyword(failure) == "false" and not _is_member(failure):
        return "No value is allowed here; leave this out.", {}
    known = sorted(name for name, rule in schema.get("properties", {}).items() if rule is not False)
    if not known:
        return f"{_name(path)} is not allowed here; remove it.", {}
    close = get_close_matches(str(path[-1])[:60], known, n=1) if path else []
    advice = f"did you mean {_quoted(close[0])}?" if close else f"known here: {_listed(known)}."
    return f"{_name(path)} is not a member here; {advice}", {"allowed": known[:_MAX_LISTED]}


def _name_rule(schema: Any) -> str:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            return f"; names must match {_shown(schema['pattern'], quote=False)}"
        if isinstance(schema.get("enum"), list):
            return f"; names must be one of: {_listed(schema['enum'])}"
        if "maxLength" in schema:
            return f"; names have at most {schema['maxLength']} characters"
    return ""


def _ruled_out(schema: Any) -> str:
    if isinstance(schema, dict):
        if "const" in schema:
            return f": anything but {_shown(schema['const'])}"
        if isinstance(schema.get("enum"), list):
            return f": none of {_listed(schema['enum'])}"
        if isinstance(schema.get("type"), str):
            return f": anything but {_article(schema['type'])}"
        if isinstance(schema.get("required"), list):
            return f": {_listed(schema['required'])} may not be given together"
    return ""


def _name(path: Path) -> str:
    return _quoted(path[-1]) if path else "The input"


def _quoted(name: Any) -> str:
    return f"'{_cut(str(name))}'"


def _article(word: Any) -> str:
    if word == "null":
        return "null"
    return f"{'an' if str(word)[:1] in 'aeio' else 'a'} {_cut(str(word))}"


def _one_of(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(values: Iterable[Any]) -> str:
    shown = [_shown(value) for value in values]
    if len(shown) > 10:
        shown = [*shown[:10], f"and {len(shown) - 10} more"]
    return ", ".join(shown)


def _shown(value: Any, *, quote: bool = True) -> str:
    """A value of the schema, for a message."""
    if isinstance(value, str):
        return f"'{_cut(value)}'" if quote else _cut(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Decimal):
        return _cut(format(value, "f"))
    if isinstance(value, list):
        return "the list in the schema"
    if isinstance(value, dict):
        return "the object in the schema"
    return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
