"""The shortcuts: when they are taken, that they agree, and how fast a valid value is."""

import sys
import time
import timeit
from decimal import Decimal

import pytest
from jsonschema import Draft202012Validator

from agentweb.wire.schema import CompiledSchema, compile_schema, rust
from agentweb.wire.schema.fast import compile_fast
from agentweb.wire.schema.guard import Survey, survey
from agentweb.wire.schema.loading import copy_schema, load
from agentweb.wire.schema.rust import compile_rust

FLAT = {
    "type": "object",
    "properties": {
        "product_id": {"type": "string", "minLength": 1, "maxLength": 64},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 100},
        "gift": {"type": "boolean"},
        "note": {"type": "string", "maxLength": 200},
    },
    "required": ["product_id", "quantity"],
    "additionalProperties": False,
}
ORDER = {"product_id": "sku-1", "quantity": 2, "gift": False, "note": "ring twice"}


def loaded(schema):
    return load(copy_schema(schema))


def test_common_schemas_have_both_shortcuts():
    assert compile_fast(loaded(FLAT))(ORDER)
    assert compile_rust(loaded(FLAT))(ORDER)
    assert not compile_fast(loaded(FLAT))({**ORDER, "more": 1})
    assert not compile_rust(loaded(FLAT))({**ORDER, "quantity": 0})


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#"}}},
        {"unevaluatedProperties": False},
        {"patternProperties": {"a": {}}},
        {"$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x"}}},
        {"pattern": "^(a+b)+$"},
        {"allOf": [{"enum": [number]} for number in range(400)]},
    ],
)
def test_what_could_multiply_work_is_left_to_the_validator(schema):
    assert compile_fast(loaded(schema)) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "a"},
        {"patternProperties": {"a": {}}},
        {"format": "date"},
        {"items": {"format": "email"}},
        {"multipleOf": 0.01},
        {"minimum": 2**53},
        {"enum": [0.5]},
        {"properties": {"a": {"$ref": "#"}}},
        {"$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x"}}},
        {"$id": "https://example.com/a"},
        {"madeUp": 1},
        {"contentMediaType": "application/json"},
        True,
        {"const": "\ud800"},
    ],
)
def test_the_accelerator_is_not_asked_where_its_answer_could_differ(schema):
    assert compile_rust(loaded(schema)) is None


def test_the_accelerator_reaches_keywords_that_the_other_shortcut_leaves_out():
    schema = {
        "x-note": 1,
        "format": "password",
        "properties": {"a": {"contains": {"const": 1}, "maxContains": 2}},
        "dependentRequired": {"a": ["b"]},
        "propertyNames": {"maxLength": 3},
        "unevaluatedProperties": {"type": "string"},
    }
    assert compile_rust(loaded(schema))({"a": [1], "b": "x"})
    assert (
        compile_schema(schema).problems({"a": [2], "b": 5})[0]
        == compile_schema(schema, accelerate=False).problems({"a": [2], "b": 5})[0]
    )


def test_half_a_surrogate_pair_is_left_to_the_validator():
    schema = {"type": "string", "maxLength": 1}
    assert compile_rust(loaded(schema))("\ud800") is False
    assert compile_schema(schema).is_valid("\ud800")


def test_all_works_the_same_without_the_accelerator(monkeypatch):
    monkeypatch.setattr(rust, "jsonschema_rs", None)
    compiled = CompiledSchema(copy_schema(FLAT))
    assert compiled.problems(ORDER) == ([], False)
    bad = {"quantity": 0, "x": 1}
    assert compiled.problems(bad) == compile_schema(FLAT, accelerate=False).problems(bad)
    assert compiled.problems(bad) == compile_schema(FLAT).problems(bad)


class Text(str):
    pass


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": ["x", 1, True, None]}, Survey.PLAIN),
        ("x", Survey.PLAIN),
        ([2**53], Survey.NUMERIC),
        ([-(2**53)], Survey.NUMERIC),
        ([0.5, Decimal("0.5")], Survey.NUMERIC),
        ([Text("x")], Survey.UNUSUAL),
        ([0.5, Text("x"), 0.5], Survey.UNUSUAL),
        ([{1, 2}], Survey.UNUSUAL),
        ([object()], Survey.UNUSUAL),
    ],
)
def test_a_survey_tells_what_kinds_of_values_there_are(value, expected):
    assert survey(value) is expected


def test_values_of_other_python_types_are_judged_by_the_validator():
    class Mapping(dict):
        pass

    compiled = compile_schema({"oneOf": [{"type": "object", "maxProperties": 1}, {"type": "string"}]})
    assert compiled.is_valid(Mapping(a=1))
    assert compiled.is_valid(Text("x"))
    assert not compiled.is_valid(Mapping(a=1, b=1))
    assert not compiled.is_valid((1, 2))


def test_a_long_text_is_matched_by_the_validator():
    compiled = compile_schema({"oneOf": [{"pattern": "^a+$"}, {"type": "integer"}]})
    assert compiled.is_valid("a" * 10_000)
    assert not compiled.is_valid("a" * 10_000 + "b")


is_traced = pytest.mark.skipif(
    "coverage" in sys.modules and sys.modules["coverage"].Coverage.current() is not None,
    reason="coverage slows our code down and jsonschema's not",
)


def share_of(call, bare):
    """Processor time of ``call`` as a share of ``bare``'s; in turns, so that a busy machine slows both."""
    ours, theirs = (
        min(times)
        for times in zip(
            *(
                [timeit.timeit(each, number=200, timer=time.thread_time) for each in (call, bare)]
                for _ in range(15)
            ),
            strict=True,
        )
    )
    return ours / theirs


@is_traced
@pytest.mark.parametrize("with_rust", [False, True])
def test_a_valid_flat_object_costs_a_fraction_of_a_bare_validator(with_rust, monkeypatch):
    if not with_rust:
        monkeypatch.setattr(rust, "jsonschema_rs", None)
    bare = Draft202012Validator(FLAT)
    compiled = CompiledSchema(copy_schema(FLAT))
    assert share_of(lambda: compiled.problems(ORDER), lambda: bare.is_valid(ORDER)) <= 0.5


@is_traced
def test_even_without_shortcuts_a_valid_flat_object_costs_little_more_than_a_bare_validator():
    bare = Draft202012Validator(FLAT)
    compiled = compile_schema(FLAT, accelerate=False)
    assert share_of(lambda: compiled.problems(ORDER), lambda: bare.is_valid(ORDER)) <= 2
