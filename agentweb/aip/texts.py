"""A scalar's schema as the schema of its text: what an agent writes where every member is a string.

The rules by which a text is read are those of query strings (``wire.schema.coercion``); here they are said in
``enum``, ``pattern``, ``format``, lengths and a sentence, so that what the schema takes can be read, and as far as a
pattern can say it, is valid. What it cannot say (a multiple of 5, say) the input's own schema judges afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from agentweb.aip import number_patterns
from agentweb.catalog.schema_shapes import Schema, resolved
from agentweb.wire.schema import SchemaError, compile_schema
from agentweb.wire.schema.formats import SAMPLES
from agentweb.wire.schema.numbers import exact, is_integer, is_number
from agentweb.wire.strict_json import Json

MAX_PATTERN: Final = 200
"""Characters of a pattern for a range of numbers; a longer one says only the sign, and the sentence the rest."""

_DEEPEST: Final = 20
_ANNOTATIONS: Final = ("title", "description", "default", "examples", "deprecated", "$comment")
_OF_A_TEXT: Final = ("minLength", "maxLength", "pattern", "format")
_BOUNDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength"), min),
}
_WORDS: Final = {"true": True, "false": False, "null": None}
_NUMERIC: Final = ("integer", "number")
_SYNTAX: Final = re.compile(r"[$()*+./?\[\\\]^{|}]")
"""The characters that mean something in ECMA-262; to escape others is an error there."""


def text_schema(member: Any, root: Schema) -> dict[str, Any]:
    """The schema of the text of a scalar: type ``string``, and what else can be said of it.

    ``root`` is the whole input schema, in which a ``$ref`` of the member is looked up.
    """
    flat = flattened(member, root)
    ways = [way for way in _alternatives(flat, root, 0) if way is not None]
    choices = [choice for way in ways if (found := _choices(way)) is not None for choice in found]
    open_kinds = {kind for way in ways if _choices(way) is None for kind in _types(way)}
    sentences: list[str] = []
    if "string" in open_kinds or not (open_kinds or choices):
        stated = _as_text([way for way in ways if _choices(way) is None and "string" in _types(way)], choices)
        sample = SAMPLES.get(str(stated.get("format")))
        if sample is not None:
            article = "an" if stated["format"][0] in "aei" else "a"
            sentences.append(f"Write {article} {stated['format']}, such as {sample}.")
    elif not open_kinds & set(_NUMERIC):
        texts = [text_of(choice) for choice in choices]
        texts += [word for word, value in _WORDS.items() if _kind_of(value) in open_kinds]
        stated = {"enum": list(dict.fromkeys(texts))}
    else:
        numbers = [way for way in ways if _choices(way) is None and set(_types(way)) & set(_NUMERIC)]
        words = [_SYNTAX.sub(r"\\\g<0>", text_of(choice)) for choice in choices]
        words += [word for word, value in _WORDS.items() if _kind_of(value) in open_kinds]
        stated = {"pattern": number_patterns.anchored([*words, *_number_texts(numbers)])}
        sentences.append(_number_sentence(numbers, words))
    return _described(flat, sentences) | stated | _default(flat)


def text_of(value: Json) -> str:
    """The text of a scalar, in the one form that everything here reads."""
    for word, meant in _WORDS.items():
        if value is meant:
            return word
    if isinstance(value, str):
        return value
    if not is_number(value):
        raise TypeError(f"a {type(value).__name__} has no text")
    number = exact(value)
    if is_integer(number):
        return str(int(number))
    return format(number, "f").rstrip("0")


def flattened(schema: Any, root: Schema) -> dict[str, Any]:
    """The schema with what its ``$ref`` and ``allOf`` say drawn into one level, as far as that is simple."""
    return _flattened(schema, root, 0)


def _flattened(schema: Any, root: Schema, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return {}
    result: dict[str, Any] = {}
    parts = [resolved({"$ref": schema["$ref"]}, root)] if "$ref" in schema else []
    for part in [*parts, *schema.get("allOf", ())]:
        result = _merged(result, _flattened(part, root, depth + 1))
    return _merged(result, {name: value for name, value in schema.items() if name not in ("$ref", "allOf")})


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    for word, nearer in _BOUNDS.items():
        if word in one and word in other:
            merged[word] = nearer(one[word], other[word])
    return merged


def _alternatives(flat: dict[str, Any], root: Schema, depth: int) -> Iterator[dict[str, Any] | None]:
    """Every branch of ``anyOf`` and ``oneOf``, with what stands beside it."""
    branches = [*flat.get("anyOf", ()), *flat.get("oneOf", ())]
    if not branches or depth > _DEEPEST:
        yield flat
        return
    beside = {name: value for name, value in flat.items() if name not in ("anyOf", "oneOf", *_ANNOTATIONS)}
    for branch in branches:
        yield from _alternatives({**beside, **flattened(branch, root)}, root, depth + 1)


def _choices(way: dict[str, Any]) -> list[Json] | None:
    """The values of ``const`` or ``enum`` that the other words beside allow; None without such a list."""
    if "const" in way:
        listed = [way["const"]]
    elif "enum" in way:
        listed = list(way["enum"])
    else:
        return None
    try:
        rules = compile_schema(
            {name: value for name, value in way.items() if name not in ("$defs", "default")}
        )
    except SchemaError:
        return listed
    return [choice for choice in listed if rules.is_valid(choice)]


def _types(way: dict[str, Any]) -> list[str]:
    kinds = way.get("type", ())
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _kind_of(word: Json) -> str:
    return "null" if word is None else "boolean"


def _as_text(ways: list[dict[str, Any]], choices: list[Json]) -> dict[str, Any]:
    """What an open string says of its length and form; nothing where several do, or single texts stand beside."""
    if len(ways) != 1 or any(isinstance(choice, str) for choice in choices):
        return {}
    return {name: value for name, value in ways[0].items() if name in _OF_A_TEXT}


def _number_texts(ways: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    for way in ways:
        low, is_low_open = _bound(way, "minimum", "exclusiveMinimum", max)
        high, is_high_open = _bound(way, "maximum", "exclusiveMaximum", min)
        places = _places(way)
        if places == 0:
            texts = number_patterns.integers(
                None if low is None else _whole(low, up=True, is_open=is_low_open),
                None if high is None else _whole(high, up=False, is_open=is_high_open),
            )
        else:
            texts, _ = number_patterns.decimals(
                low, high, is_low_open=is_low_open, is_high_open=is_high_open, places=places
            )
        if not texts or len("|".join(texts)) > MAX_PATTERN:
            is_positive = low is not None and low >= 0
            least = 0 if is_positive else None
            texts = (
                number_patterns.integers(least, None)
                if places == 0
                else number_patterns.decimals(least, None, places=places)[0]
            )
        found += texts
    return list(dict.fromkeys(found))


def _bound(way: dict[str, Any], closed: str, opened: str, nearer: Any) -> tuple[Any, bool]:
    """The nearer of the two bounds on one side, and whether it is itself outside."""
    given = [(exact(way[word]), word == opened) for word in (closed, opened) if is_number(way.get(word))]
    if not given:
        return None, False
    bound = nearer(value for value, _ in given)
    return bound, any(is_open for value, is_open in given if value == bound)


def _places(way: dict[str, Any]) -> int:
    """Digits after the point that a valid number may have."""
    step = way.get("multipleOf")
    if "number" not in _types(way) or (is_number(step) and is_integer(step)):
        return 0
    exponent = Decimal(exact(step)).normalize().as_tuple().exponent if is_number(step) else None
    return (
        min(-exponent, number_patterns.MAX_FRACTION)
        if isinstance(exponent, int)
        else number_patterns.MAX_FRACTION
    )


def _whole(bound: Any, *, up: bool, is_open: bool) -> int:
    """The first integer on the inner side of a bound."""
    number = int(bound)
    if number == bound:
        return number + (1 if up else -1) * is_open
    return number + (1 if up and bound > 0 else 0) - (1 if not up and bound < 0 else 0)


def _number_sentence(ways: list[dict[str, Any]], words: list[str]) -> str:
    """What to write, in words: also the bounds, which a pattern says badly."""
    said = []
    for way in ways:
        text = "a whole number in digits" if _places(way) == 0 else "a number in digits"
        rules = [
            f"{rule} {text_of(way[word])}"
            for word, rule in (
                ("minimum", "at least"),
                ("exclusiveMinimum", "more than"),
                ("maximum", "at most"),
                ("exclusiveMaximum", "less than"),
                ("multipleOf", "a multiple of"),
            )
            if is_number(way.get(word))
        ]
        said.append(text + "".join(f", {rule}" for rule in rules))
    return f"Write {' or '.join([*said, *words])}."


def _described(flat: dict[str, Any], sentences: list[str]) -> dict[str, Any]:
    description = str(flat.get("description") or flat.get("title") or "").strip()
    if description and sentences and description[-1] not in ".!?":
        description += "."
    text = " ".join(part for part in (description, *sentences) if part)
    return {"type": "string", "description": text} if text else {"type": "string"}


def _default(flat: dict[str, Any]) -> dict[str, Any]:
    default = flat.get("default")
    return {} if default is None or isinstance(default, (list, dict)) else {"default": text_of(default)}
