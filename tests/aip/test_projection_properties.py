"""For any flat input: what is written as texts is read back, and what the published schema takes is valid."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from agentweb.aip import number_patterns
from agentweb.aip.projection import Projection, project
from agentweb.aip.texts import text_of
from agentweb.wire.errors import InputError
from agentweb.wire.schema import compile_schema
from agentweb.wire.schema.equality import are_equal
from agentweb.wire.schema.formats import FORMATS, SAMPLES
from tests.catalog.declarations import published
from tests.support.examples import examples

NAMES = ["a", "b", "Größe", "a/b", "with~tilde", "class", "x-y"]
SETTINGS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
small = st.integers(-30, 30) | st.integers(-(10**12), 10**12)
cents = st.decimals(-100, 100, places=2)


@st.composite
def strings(draw: Any) -> dict[str, Any]:
    rule: dict[str, Any] = {"type": "string"}
    kind = draw(st.sampled_from(["plain", "length", "pattern", "format", "enum"]))
    if kind == "length":
        rule["minLength"] = draw(st.integers(0, 3))
        rule["maxLength"] = rule["minLength"] + draw(st.integers(0, 5))
    elif kind == "pattern":
        rule["pattern"] = draw(st.sampled_from(["^[a-z]+$", "^(?:red|blue)$", "[0-9]{2}", "^A"]))
    elif kind == "format":
        rule["format"] = draw(st.sampled_from(sorted(FORMATS)))
    elif kind == "enum":
        rule["enum"] = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    return rule


@st.composite
def integers(draw: Any) -> dict[str, Any]:
    rule: dict[str, Any] = {"type": "integer"}
    low, high = sorted([draw(small), draw(small)])
    if draw(st.booleans()):
        rule[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = low - 1
    if draw(st.booleans()):
        rule[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = high + 1
    return rule


@st.composite
def numbers(draw: Any) -> dict[str, Any]:
    rule: dict[str, Any] = {"type": "number"}
    whole = draw(st.booleans())
    bounds = small if whole else cents
    low, high = sorted([draw(bounds), draw(bounds)])
    if draw(st.booleans()):
        rule[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = low - 1
    if draw(st.booleans()):
        rule[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = high + 1
    if draw(st.booleans()):
        rule["multipleOf"] = draw(st.sampled_from([Decimal("0.01"), Decimal("0.1"), Decimal("0.25"), 1, 5]))
    return rule


scalars = st.one_of(
    strings(),
    integers(),
    numbers(),
    st.just({"type": "boolean"}),
    st.lists(texts | small | cents | st.booleans(), min_size=1, max_size=4).map(
        lambda values: {"enum": values}
    ),
    (texts | small | st.booleans()).map(lambda value: {"const": value}),
)
nullable = st.one_of(
    st.sampled_from(["integer", "number", "boolean"]).map(lambda kind: {"type": [kind, "null"]}),
    integers().map(lambda rule: {"anyOf": [rule, {"type": "null"}]}),
)
members = scalars | nullable


@st.composite
def objects(draw: Any) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
    return {
        "type": "object",
        "properties": {name: draw(members) for name in names},
        "required": draw(st.lists(st.sampled_from(names), unique=True)),
        "additionalProperties": False,
    }


@st.composite
def alone(draw: Any) -> dict[str, Any]:
    name = draw(st.sampled_from(NAMES))
    return {"type": "object", "properties": {name: draw(scalars)}, "required": [name]}


inputs = objects() | alone() | scalars


def offered(schema: dict[str, Any]) -> Projection:
    found = project(published(input=schema, method="POST"))
    assume(isinstance(found, Projection))
    assert isinstance(found, Projection)
    return found


def scalar_of(draw: Any, rule: dict[str, Any]) -> Any:
    """A value that fits the rule of one member."""
    if "anyOf" in rule:
        return draw(st.none() | st.builds(scalar_of, st.just(draw), st.just(rule["anyOf"][0])))
    if "const" in rule or "enum" in rule:
        return draw(st.sampled_from([rule["const"]] if "const" in rule else rule["enum"]))
    kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
    kind = draw(st.sampled_from(kinds))
    if kind == "null":
        return None
    if kind == "boolean":
        return draw(st.booleans())
    if kind == "string":
        if rule.get("format") in SAMPLES:
            return SAMPLES[rule["format"]]
        return draw(
            texts
            if "pattern" not in rule
            else st.from_regex(rule["pattern"], alphabet="abredlu019A", fullmatch=False)
        )
    low, high = (
        rule.get("minimum", rule.get("exclusiveMinimum")),
        rule.get("maximum", rule.get("exclusiveMaximum")),
    )
    if kind == "integer":
        return draw(st.integers(low, high))
    least, most = (-(10**12) if low is None else low), (10**12 if high is None else high)
    value = draw(st.decimals(min(least, most), max(least, most), places=2))
    step = rule.get("multipleOf")
    return value if step is None else (value / step).to_integral_value() * step


@settings(max_examples=examples(300), **SETTINGS)
@given(schema=inputs, data=st.data())
def test_a_value_that_is_written_as_texts_is_read_back(schema: dict[str, Any], data: Any) -> None:
    found = offered(schema)
    if schema.get("type") != "object":
        value = scalar_of(data.draw, schema)
        written: Any = text_of(value)
    else:
        rules = schema["properties"]
        kept = {name: data.draw(st.booleans()) or name in schema.get("required", ()) for name in rules}
        value = {name: scalar_of(data.draw, rule) for name, rule in rules.items() if kept[name]}
        written = {name: text_of(member) for name, member in value.items()}
        if len(rules) == 1:
            [written] = written.values()
    assume(compile_schema(schema).is_valid(value))
    # An enum may hold a text and a number, or true, that are written alike; the text is meant then.
    assume(not _is_ambiguous(schema, value))
    assert are_equal(found.read(written), value)
    assert compile_schema(found.schema).is_valid(written)


def _is_ambiguous(schema: dict[str, Any], value: Any) -> bool:
    if schema.get("type") != "object":
        return not isinstance(value, str) and text_of(value) in schema.get("enum", ())
    return any(_is_ambiguous(schema["properties"][name], member) for name, member in value.items())


AGREED: Counter[bool] = Counter()
SHORT = [
    "|".join(number_patterns.integers(None, None)),
    *("|".join(number_patterns.decimals(None, None, places=places)[0]) for places in (1, 2, 18)),
    *("|".join(number_patterns.decimals(0, None, places=places)[0]) for places in (1, 2, 18)),
    "|".join(number_patterns.integers(0, None)),
]
"""What stands for numbers whose range would be a long pattern."""


@pytest.mark.requirement("AIP-4.3", "AIP-4.4")
@settings(max_examples=examples(300), **SETTINGS)
@given(schema=inputs, data=st.data())
def test_what_the_published_schema_takes_is_valid_and_what_it_refuses_is_refused(
    schema: dict[str, Any], data: Any
) -> None:
    """Where the two differ is a multiple, or a bound with a fraction; there the answer lists problems."""
    found = offered(schema)
    stated = compile_schema(found.schema)
    assert _is_of_texts(found.schema)
    value = data.draw(
        st.just(found.example) | near(found.schema) | st.builds(_changed, st.just(found.example), texts)
    )
    takes = stated.is_valid(value)
    read, problems = outcome(found, value)
    AGREED[takes == (problems == [])] += 1
    if not problems:
        assert takes
        assert compile_schema(schema).is_valid(read)
    elif takes:
        assert _is_inexact(schema, found.schema), (value, problems)
        event("differs")


def outcome(found: Projection, value: Any) -> tuple[Any, list[dict[str, Any]]]:
    """What an input is read as, and its problems, each with a message and a place."""
    try:
        return found.read(value), []
    except InputError as error:
        problems = error.problems or []
    assert problems
    assert all(each["message"] and isinstance(each["pointer"], str) for each in problems)
    return None, problems


def near(stated: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Inputs that the schema of texts takes, or nearly."""
    if stated["type"] == "object":
        required = {
            name: near(rule)
            for name, rule in stated["properties"].items()
            if name in stated.get("required", ())
        }
        optional = {name: near(rule) for name, rule in stated["properties"].items() if name not in required}
        return st.fixed_dictionaries(required, optional=optional)
    if "enum" in stated:
        return st.sampled_from(stated["enum"])
    if "pattern" in stated:
        return st.from_regex(stated["pattern"], alphabet=st.characters(min_codepoint=32, max_codepoint=126))
    if "format" in stated:
        return st.just(SAMPLES[stated["format"]])
    return st.text("ab ü", min_size=stated.get("minLength", 0), max_size=stated.get("maxLength"))


def _changed(example: Any, text: str) -> Any:
    return text if isinstance(example, str) else dict.fromkeys(example, text)


def _is_of_texts(schema: dict[str, Any]) -> bool:
    if schema["type"] == "string":
        return True
    return schema["type"] == "object" and all(
        each["type"] == "string" for each in schema["properties"].values()
    )


def _is_inexact(schema: dict[str, Any], stated: dict[str, Any]) -> bool:
    """Whether the patterns cannot say all of the schema: a multiple, a bound with a fraction or with long pattern."""
    rules = list(schema["properties"].values()) if schema.get("type") == "object" else [schema]
    rules += [branch for each in rules for branch in each.get("anyOf", ())]
    said = list(stated["properties"].values()) if stated["type"] == "object" else [stated]
    bounds = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    return any(
        rule.get("multipleOf") in (5, Decimal("0.25"))
        or any(each in rule and rule[each] != int(rule[each]) for each in bounds)
        for rule in rules
    ) or any(short in each.get("pattern", "") for short in SHORT for each in said)


def test_the_published_schema_and_the_input_agree_nearly_always() -> None:
    """Runs after the property above, whose verdicts it counts."""
    total = AGREED.total()
    assert total == 0 or AGREED[True] / total > 0.97, AGREED


@pytest.mark.requirement("AIP-4.5")
@settings(max_examples=examples(200), **SETTINGS)
@given(schema=inputs)
def test_the_example_is_valid_by_the_schema_beside_it_and_by_the_action_s_own(schema: dict[str, Any]) -> None:
    found = offered(schema)
    assert compile_schema(found.schema).is_valid(found.example)
    assert compile_schema(schema).is_valid(found.read(found.example))


@pytest.mark.requirement("AIP-4.6")
@settings(max_examples=examples(200), **SETTINGS)
@given(schema=inputs, text=texts)
def test_an_input_of_the_example_s_shape_is_never_refused_for_its_shape(
    schema: dict[str, Any], text: str
) -> None:
    found = offered(schema)
    for problem in outcome(found, _changed(found.example, text))[1]:
        assert problem["code"] not in {"required", "unknown_field"}
        # "type" is said of a text that does not spell a number, true or false.
        assert problem.get("expected") not in ["string", "object"]


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | texts
    | st.decimals(allow_nan=False, allow_infinity=False, places=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | texts, inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(300), **SETTINGS)
@given(schema=inputs, value=anything)
def test_anything_else_is_read_or_answered_with_problems(schema: dict[str, Any], value: Any) -> None:
    found = offered(schema)
    read, problems = outcome(found, value)
    if not problems:
        assert compile_schema(schema).is_valid(read)
        sent = [value] if isinstance(found.example, str) else list(value.values())
        assert all(isinstance(each, str) for each in sent)
