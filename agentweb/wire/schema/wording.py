"""Sentences about broken keywords, for a model that will try again: what would be right.

Made from the schema alone. Nothing of the instance is said but counts, positions and names of members.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final

from jsonschema import ValidationError

from agentweb.wire.schema.failures import Failure, Path
from agentweb.wire.schema.formats import SAMPLES

_MAX_LISTED: Final = 50
_MAX_SHOWN: Final = 200
NOT_BLANK: Final = r"\S"


def phrase(code: str, failure: ValidationError, path: Path) -> tuple[str, dict[str, Any]]:
    """What is said of the value after its name, and the further members of the problem."""
    value: Any = failure.validator_value
    schema: dict[str, Any] = failure.schema if isinstance(failure.schema, dict) else {}
    detail: Any = failure.detail if isinstance(failure, Failure) else None
    match code:
        case "type":
            kinds = value if isinstance(value, list) else [value]
            return f"must be {_one_of([_article(kind) for kind in kinds])}.", {"expected": value}
        case "enum":
            if not value:
                return "cannot be given: the schema's list of values is empty.", {"allowed": []}
            return f"must be one of: {_listed(value)}.", {"allowed": list(value[:_MAX_LISTED])}
        case "const":
            return f"must be {_shown(value)}.", {"allowed": [value]}
        case "required":
            return "is required; add it.", {}
        case "dependentRequired":
            return f"is required when {quoted(detail)} is given; add it.", {}
        case "unknown_field":
            return _unknown(path, schema)
        case "not_allowed":
            return "may not be given; leave it out.", {}
        case "pattern" if detail == "timeout":
            advice = "takes too long to check against its pattern; send a shorter, plainer text."
            return advice, {"expected": value} if isinstance(value, str) else {}
        case "pattern" if value == NOT_BLANK:
            return "must not be blank.", {"expected": value}
        case "pattern" if schema.get("format") == "email":
            return f"must be an email address that the site takes, like {SAMPLES['email']}.", {
                "expected": value
            }
        case "pattern":
            return f"must match the pattern {_shown(value, quote=False)}", {"expected": value}
        case "format":
            return f"must be {_article(value)}, for example {SAMPLES.get(value)}.", {"expected": value}
        case "propertyNames":
            return f"is not an allowed name for a member{_name_rule(value)}.", {}
        case "oneOf":
            return (
                f"fits alternatives {_one_of([str(each) for each in detail[:5]], 'and')}; only one may fit.",
                {},
            )
        case "not":
            return f"fits what is ruled out here{_ruled_out(value)}.", {}
        case "contains":
            return "must have an item that fits the schema's contains; none does.", {}
        case "minContains":
            least = schema["minContains"]
            return f"must have at least {least} items that fit contains; {detail} do.", {"expected": least}
        case "maxContains":
            most = schema["maxContains"]
            return f"may have at most {most} items that fit contains; {detail} do.", {"expected": most}
        case "uniqueItems":
            return f"must have items that differ; item {detail[1]} repeats item {detail[0]}.", {}
        case "items":
            return f"may have at most {detail} item{'' if detail == 1 else 's'}.", {"expected": detail}
        case "unevaluatedItems":
            return "is one item too many; remove it.", {}
        case _ if code in _LIMITS:
            return _LIMITS[code].format(_shown(value), "" if value == 1 else "s", detail), {"expected": value}
    return f"breaks the rule {code} of the schema.", {}


_LIMITS: Final[dict[str, str]] = {
    "minimum": "must be at least {0}.",
    "maximum": "must be at most {0}.",
    "exclusiveMinimum": "must be more than {0}.",
    "exclusiveMaximum": "must be less than {0}.",
    "multipleOf": "must be a multiple of {0}.",
    "minLength": "must have at least {0} character{1}; it has {2}.",
    "maxLength": "may have at most {0} character{1}; it has {2}.",
    "minItems": "must have at least {0} item{1}; it has {2}.",
    "maxItems": "may have at most {0} item{1}; it has {2}.",
    "minProperties": "must have at least {0} member{1}; it has {2}.",
    "maxProperties": "may have at most {0} member{1}; it has {2}.",
}


def _unknown(path: Path, schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    known = sorted(name for name, rule in schema.get("properties", {}).items() if rule is not False)
    if not known or not path:
        return "is not allowed here; remove it.", {}
    close = get_close_matches(str(path[-1])[:60], known, n=1)
    advice = f"did you mean {quoted(close[0])}?" if close else f"known here: {_listed(known)}."
    return f"is not a member here; {advice}", {"allowed": known[:_MAX_LISTED]}


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


def quoted(name: Any) -> str:
    return f"'{_cut(str(name))}'"


def _article(word: Any) -> str:
    if word == "null":
        return "null"
    return f"{'an' if str(word)[:1] in 'aeio' else 'a'} {_cut(str(word))}"


def _one_of(words: list[str], joint: str = "or") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {joint} {words[-1]}"


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
