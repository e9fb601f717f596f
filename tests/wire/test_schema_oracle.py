"""Verdicts against an independent implementation, and with every shortcut on and off."""

from decimal import Decimal

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.wire.schema import compile_schema
from tests.support.examples import examples
from tests.wire.schema_pointers import resolves

NAMES = st.sampled_from(["a", "b", "c", "a/b", "m~n", ""])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 4),
    st.sampled_from([0.5, 1.0, 2.0, -1.5, 1e10]),
    st.sampled_from(["", "a", "b", "ab", "aab", "é", "😀", "a\n"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
LENGTHS = st.integers(0, 3)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])
PATTERNS = st.sampled_from(["^a", "b$", "^a*$", "^$", "[ab]b", "^.{2}$", "a|b"])

LEAF_KEYWORDS = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(SCALARS, max_size=3),
        "const": VALUES,
        "minimum": st.integers(-2, 3),
        "maximum": st.integers(-2, 3),
        "exclusiveMinimum": st.sampled_from([-1, 0, 0.5]),
        "exclusiveMaximum": st.sampled_from([1, 2.5]),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": LENGTHS,
        "maxLength": LENGTHS,
        "pattern": PATTERNS,
        "minItems": LENGTHS,
        "maxItems": LENGTHS,
        "uniqueItems": st.booleans(),
        "minProperties": LENGTHS,
        "maxProperties": LENGTHS,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
    },
)


def composed(inner):
    branches = st.lists(inner, min_size=1, max_size=3)
    return st.tuples(
        LEAF_KEYWORDS,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(NAMES, inner, max_size=3),
                "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
                "additionalProperties": inner,
                "propertyNames": inner,
                "items": inner,
                "prefixItems": branches,
                "contains": inner,
                "minContains": LENGTHS,
                "maxContains": LENGTHS,
                "allOf": branches,
                "anyOf": branches,
                "oneOf": branches,
                "not": inner,
                "if": inner,
                "then": inner,
                "else": inner,
                "dependentSchemas": st.dictionaries(NAMES, inner, max_size=2),
                "unevaluatedProperties": inner,
                "unevaluatedItems": inner,
                "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
            },
        ),
        st.randoms(use_true_random=False),
    ).map(chosen)


def chosen(parts):
    leaf, applicators, random = parts
    keywords = [*leaf.items(), *applicators.items()]
    random.shuffle(keywords)
    return dict(keywords[:4])


LEAVES = st.booleans() | LEAF_KEYWORDS.flatmap(
    lambda schema: st.sampled_from(sorted(schema) or [""]).map(
        lambda keyword: {keyword: schema[keyword]} if keyword else {}
    )
)
# Definitions refer to nothing, so that no schema runs in circles.
DEFINITIONS = st.fixed_dictionaries({"one": LEAVES, "two": LEAVES})
SCHEMAS = st.recursive(LEAVES, composed, max_leaves=8)


def with_definitions(schema, definitions):
    return {**schema, "$defs": definitions} if isinstance(schema, dict) else schema


def as_decimals(value):
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, list):
        return [as_decimals(each) for each in value]
    if isinstance(value, dict):
        return {name: as_decimals(each) for name, each in value.items()}
    return value


@settings(max_examples=examples(250), deadline=None)
@given(SCHEMAS, DEFINITIONS, st.lists(VALUES, min_size=1, max_size=4))
def test_verdicts_are_those_of_an_independent_implementation(schema, definitions, values):
    schema = with_definitions(schema, definitions)
    oracle = jsonschema_rs.Draft202012Validator(schema)
    slow = compile_schema(schema, accelerate=False)
    quick = compile_schema(schema)
    for value in values:
        expected = oracle.is_valid(value)
        assert slow.is_valid(value) is expected
        assert slow.is_valid(as_decimals(value)) is expected
        assert quick.is_valid(value) is expected
        assert quick.is_valid(as_decimals(value)) is expected


@settings(max_examples=examples(150), deadline=None)
@given(SCHEMAS, DEFINITIONS, VALUES)
def test_problems_are_the_same_with_and_without_shortcuts_and_point_at_something(schema, definitions, value):
    schema = with_definitions(schema, definitions)
    problems, truncated = compile_schema(schema).problems(value)
    assert (problems, truncated) == compile_schema(schema, accelerate=False).problems(value)
    assert problems == sorted(problems, key=lambda problem: (problem["pointer"], problem["code"]))
    for problem in problems:
        assert set(problem) >= {"pointer", "field", "code", "message"}
        assert resolves(value, problem["pointer"]) or problem["code"] in {"required", "dependentRequired"}
