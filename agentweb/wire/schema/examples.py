"""The smallest example that a schema's own words give: for manifests, so that an author need not write one.

Candidates come from ``examples``, ``default``, ``const``, ``enum``, then from the type and its limits, format
samples and patterns; objects get their required members only. Candidates are deterministic, and the caller
keeps the first that is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import islice
from typing import Any, Final

from agentweb.wire.schema import numbers
from agentweb.wire.schema.equality import are_equal
from agentweb.wire.schema.formats import SAMPLES
from agentweb.wire.schema.loading import Loaded
from agentweb.wire.schema.pattern_samples import sample
from agentweb.wire.schema.patterns import compile_pattern

Fits = Callable[[Any, Any], bool]

_MAX_DEPTH: Final = 16
_MAX_CANDIDATES: Final = 32
_MAX_FILL: Final = 1_000


class NoExample:
    """The type of NO_EXAMPLE; there is one."""

    def __repr__(self) -> str:
        return "NO_EXAMPLE"

    def __bool__(self) -> bool:
        return False


NO_EXAMPLE: Final = NoExample()
"""No example could be made. Not None, because null is an example."""


def find_example(loaded: Loaded, fits: Fits) -> Any:
    """The first candidate that is valid, or NO_EXAMPLE. ``fits(subschema, value)`` validates."""
    return _Maker(loaded, fits).make(loaded.schema, 0)


class _Maker:
    def __init__(self, loaded: Loaded, fits: Fits) -> None:
        self.loaded = loaded
        self.fits = fits

    def make(self, schema: Any, depth: int) -> Any:
        for candidate in islice(self.candidates(schema, depth), _MAX_CANDIDATES):
            if self.fits(schema, candidate):
                return candidate
        return NO_EXAMPLE

    def candidates(self, schema: Any, depth: int) -> Iterator[Any]:
        if schema is True or schema == {}:
            yield {}
            return
        if schema is False or depth > _MAX_DEPTH:
            return
        yield from _declared(schema)
        merged = self.merged(schema, depth)
        if merged is not schema:
            yield from _declared(merged)
        if "type" in merged:
            yield from self.by_type(merged, depth)
        yield from self.by_branch(merged, depth)
        if "type" not in merged:
            yield from self.by_type(merged, depth)

    def by_branch(self, merged: dict[str, Any], depth: int) -> Iterator[Any]:
        for keyword in ("oneOf", "anyOf"):
            rest = {name: value for name, value in merged.items() if name != keyword}
            for branch in merged.get(keyword, ()):
                yield from self.candidates(_merge(rest, self.merged(branch, depth)), depth + 1)
        if "then" in merged or "else" in merged:
            rest = {name: value for name, value in merged.items() if name not in {"if", "then", "else"}}
            for parts in (("if", "then"), ("else",)):
                combined = rest
                for part in parts:
                    combined = _merge(combined, self.merged(merged.get(part, {}), depth))
                yield from self.candidates(combined, depth + 1)

    def merged(self, schema: Any, depth: int) -> Any:
        """``schema`` with its ``$ref`` and ``allOf`` drawn into one level."""
        if not isinstance(schema, dict) or depth > _MAX_DEPTH:
            return {} if schema is True else schema if isinstance(schema, dict) else {"not": {}}
        parts = [self.loaded.target(schema), *schema.get("allOf", ())]
        result = {
            name: value for name, value in schema.items() if name not in {"$ref", "$dynamicRef", "allOf"}
        }
        for part in parts:
            if part is not None:
                result = _merge(result, self.merged(part, depth + 1))
        return result

    def by_type(self, schema: dict[str, Any], depth: int) -> Iterator[Any]:
        kinds = schema.get("type")
        listed = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else _implied(schema)
        for kind in sorted(listed, key=lambda each: each == "null"):
            match kind:
                case "object":
                    yield from self.objects(schema, depth)
                case "array":
                    yield from self.arrays(schema, depth)
                case "string":
                    yield from _strings(schema)
                case "integer" | "number":
                    yield from _numbers(schema, whole=kind == "integer")
                case "boolean":
                    yield from (True, False)
                case "null":
                    yield None

    def objects(self, schema: dict[str, Any], depth: int) -> Iterator[Any]:
        properties = schema.get("properties", {})
        names = list(dict.fromkeys(schema.get("required", ())))
        for name in names:
            names.extend(
                each for each in schema.get("dependentRequired", {}).get(name, ()) if each not in names
            )
        optional = [name for name in properties if name not in names]
        missing = schema.get("minProperties", 0) - len(names)
        if missing > 0:
            names.extend(optional[:missing])
        value = {}
        # In the order the author lists the properties, the others after them.
        for name in sorted(names, key=[*properties, *names].index):
            rule = properties.get(name, schema.get("additionalProperties", True))
            member = self.make(rule, depth + 1)
            if member is NO_EXAMPLE:
                return
            value[name] = "text" if member == {} and rule in ({}, True) else member
        for number in range(1, min(schema.get("minProperties", 0) - len(value), _MAX_FILL) + 1):
            member = self.make(schema.get("additionalProperties", True), depth + 1)
            if member is not NO_EXAMPLE:
                value[f"member{number}"] = member
        yield value

    def arrays(self, schema: dict[str, Any], depth: int) -> Iterator[Any]:
        first = schema.get("prefixItems", ())
        least = max(schema.get("minItems", 0), schema.get("minContains", 1) if "contains" in schema else 0)
        if least > _MAX_FILL:
            return
        value: list[Any] = []
        for position in range(least):
            rule = first[position] if position < len(first) else schema.get("items", True)
            if "contains" in schema and rule is True:
                rule = schema["contains"]
            used = value if schema.get("uniqueItems") else []
            item = next(
                (
                    each
                    for each in islice(self.distinct(rule, depth + 1), _MAX_FILL)
                    if not any(are_equal(each, other) for other in used)
                ),
                NO_EXAMPLE,
            )
            if item is NO_EXAMPLE:
                return
            value.append(item)
        yield value

    def distinct(self, rule: Any, depth: int) -> Iterator[Any]:
        """Valid values that differ, as far as that is simple: further candidates, counted numbers, texts."""
        candidate: Any = NO_EXAMPLE
        for candidate in islice(self.candidates(rule, depth), _MAX_CANDIDATES):
            if self.fits(rule, candidate):
                yield candidate
        step = rule.get("multipleOf", 1) if isinstance(rule, dict) else 1
        for number in range(1, _MAX_FILL):
            following: Any = None
            if numbers.is_number(candidate):
                following = numbers.exact(candidate) + number * step
            elif isinstance(candidate, str):
                following = f"{candidate}{number}"
            else:
                following = number
            if self.fits(rule, following):
                yield following


def _declared(schema: dict[str, Any]) -> Iterator[Any]:
    yield from schema.get("examples", ())
    if "default" in schema:
        yield schema["default"]
    if "const" in schema:
        yield schema["const"]
    yield from schema.get("enum", ())


def _implied(schema: dict[str, Any]) -> list[str]:
    """The types that the other keywords are about, for a schema that names none."""
    about = {
        "object": ("properties", "required", "minProperties", "additionalProperties", "propertyNames"),
        "array": ("items", "prefixItems", "minItems", "contains"),
        "string": ("minLength", "maxLength", "pattern", "format"),
        "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
    found = [kind for kind, keywords in about.items() if any(keyword in schema for keyword in keywords)]
    return found or ["object", "string", "integer", "boolean", "array", "null"]


def _strings(schema: dict[str, Any]) -> Iterator[str]:
    least = schema.get("minLength", 0)
    if least > _MAX_FILL:
        return
    if "pattern" in schema:
        for text in sample(compile_pattern(schema["pattern"]).node, least):
            yield text
            yield text.ljust(least, "x")
    if schema.get("format") in SAMPLES:
        yield SAMPLES[schema["format"]]
    # "text" reads better than nothing at all, and "" is rarely meant.
    for text in ("text", "x"):
        yield text.ljust(least, "x")
    yield ""


def _numbers(schema: dict[str, Any], *, whole: bool) -> Iterator[Any]:
    step: numbers.Number = schema.get("multipleOf", 1)
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    starts: list[Any] = [1, 0]
    if low is not None:
        starts = [_round(low, step, ROUND_CEILING), _round(low, step, ROUND_CEILING) + step, *starts]
    if high is not None:
        starts += [_round(high, step, ROUND_FLOOR), _round(high, step, ROUND_FLOOR) - step]
    if low is not None and high is not None:
        starts.append((Decimal(low) + Decimal(high)) / 2)
    starts.append(step)
    for start in starts:
        number = int(start) if numbers.is_integer(start) else start
        if not (whole and isinstance(number, Decimal)):
            yield number


def _round(value: numbers.Number, step: numbers.Number, how: str) -> numbers.Number:
    """The multiple of ``step`` at or beside ``value``."""
    rounds = (Decimal(value) / Decimal(step)).to_integral_value(rounding=how)
    return int(rounds) * step if isinstance(step, int) else rounds * step


def _merge(one: dict[str, Any], other: Any) -> dict[str, Any]:
    """Both schemas in one level, as far as a merge is simple; the result is only a source of candidates."""
    if not isinstance(other, dict):
        return one if other else {"not": {}}
    merged = dict(one)
    for keyword, value in other.items():
        if keyword not in merged:
            merged[keyword] = value
        elif keyword in {"properties", "patternProperties", "dependentRequired"}:
            both = dict(merged[keyword])
            for name, rule in value.items():
                both[name] = _merge(both[name], rule) if isinstance(both.get(name), dict) else rule
            merged[keyword] = both
        elif keyword == "required":
            merged[keyword] = list(dict.fromkeys([*merged[keyword], *value]))
        elif keyword in {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}:
            merged[keyword] = max(merged[keyword], value)
        elif keyword in {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}:
            merged[keyword] = min(merged[keyword], value)
        elif keyword == "enum":
            merged[keyword] = [each for each in merged[keyword] if any(are_equal(each, it) for it in value)]
        elif keyword == "type":
            merged[keyword] = _both_types(merged[keyword], value)
    return merged


def _both_types(one: Any, other: Any) -> Any:
    first = [one] if isinstance(one, str) else one
    second = [other] if isinstance(other, str) else other
    common = [kind for kind in first if kind in second]
    if not common and {"integer", "number"} == {*first, *second}:
        return "integer"
    return common or one
