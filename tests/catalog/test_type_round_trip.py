"""Whatever a derived schema accepts converts to its type without an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields, is_dataclass, make_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Optional, TypedDict, Union, get_args, get_origin
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentweb.catalog.type_schemas import derive
from agentweb.wire.json_types import MAX_EXPONENT
from agentweb.wire.schema import compile_schema
from tests.catalog.typed import (
    Card,
    Colour,
    Day,
    Everything,
    Ge,
    Left,
    Len,
    MultipleOf,
    Narrowed,
    Node,
    Order,
    Size,
    Transfer,
)
from tests.support.examples import examples

HASHABLE = [
    str,
    int,
    bool,
    float,
    Decimal,
    date,
    datetime,
    time,
    UUID,
    Colour,
    Size,
    Day,
    Literal["a", 1, True, None],
]
CLASSES = [Order, Node, Left, Narrowed, Everything, Card, Transfer]
CONSTRAINED = [
    Annotated[int, Ge(1)],
    Annotated[str, Len(1, 3)],
    # Not a dict of keywords: in older Pythons a union can only hold what is hashable.
    Annotated[Decimal, MultipleOf(Decimal("0.01"))],
    Annotated[list[int], Len(1, 2)],
]
NAMES = st.sampled_from(["a", "b", "c_d", "items"])


def _records(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(NAMES, inner, max_size=3)
    typed_dicts = st.builds(
        lambda hints, total: TypedDict("Drawn", hints, total=total),  # type: ignore[operator]
        members,
        st.booleans(),
    )
    return typed_dicts | st.builds(
        lambda hints, optional: make_dataclass(
            "Drawn",
            [
                (name, hint, field(default=None, kw_only=True))
                if name in optional
                else (name, hint, field(kw_only=True))
                for name, hint in hints.items()
            ],
        ),
        members,
        st.sets(NAMES),
    )


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda hint: list[hint]),  # type: ignore[valid-type]
        inner.map(lambda hint: Sequence[hint]),  # type: ignore[valid-type]
        inner.map(lambda hint: tuple[hint, ...]),  # type: ignore[valid-type]
        st.lists(inner, max_size=3).map(lambda hints: tuple[tuple(hints)] if hints else tuple[()]),  # type: ignore[misc]
        inner.map(lambda hint: dict[str, hint]),  # type: ignore[valid-type]
        inner.map(lambda hint: Optional[hint]),  # noqa: UP045
        st.lists(inner, min_size=2, max_size=3).map(lambda hints: Union[tuple(hints)]),  # noqa: UP007
        st.sampled_from(HASHABLE).map(lambda hint: frozenset[hint]),
        st.sampled_from(HASHABLE).map(lambda hint: set[hint]),
        st.sampled_from(HASHABLE).map(lambda hint: dict[Colour, hint]),
        _records(inner),
    )


TYPES = st.recursive(
    st.sampled_from([*HASHABLE, None, Any, list, dict, tuple, *CONSTRAINED, *CLASSES]),
    _containers,
    max_leaves=6,
)

NUMBERS = st.one_of(
    st.integers(-(10**39), 10**39),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(
        allow_nan=False,
        allow_infinity=False,
        places=2,
        min_value=-(10**MAX_EXPONENT),
        max_value=10**MAX_EXPONENT,
    ),
    st.integers(-9, 9).map(lambda number: Decimal(f"{number}.0")),
    st.integers(-9, 9).map(float),
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
_OFFSET = st.sampled_from(["Z", "z", "+00:00", "-23:59", "+23:59", "-00:00", "+14:00"])
_CLOCK = st.one_of(
    st.times().map(lambda at: at.isoformat()),
    st.sampled_from(["23:59:60", "00:00:00", "12:00:00.123456789123", "08:59:60.9", "23:59:59.9999999"]),
)
_DAY = st.dates().map(str) | st.sampled_from(
    ["0000-01-01", "9999-12-31", "0001-01-01", "2024-02-29", "2023-02-29"]
)
FORMATS = {
    "date": _DAY,
    "time": st.builds(str.__add__, _CLOCK, _OFFSET),
    "date-time": st.builds("{}{}{}{}".format, _DAY, st.sampled_from("Tt"), _CLOCK, _OFFSET),
    "uuid": st.uuids().map(str) | st.uuids().map(lambda ident: str(ident).upper()),
}


def json_for(schema: Any, defs: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that mostly fit; what does not is thrown away by the test."""
    if not isinstance(schema, dict) or depth > 6:
        return ANYTHING
    if "$ref" in schema:
        return st.deferred(lambda: json_for(defs[schema["$ref"].removeprefix("#/$defs/")], defs, depth + 2))
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([json_for(branch, defs, depth + 1) for branch in schema["anyOf"]])
    kinds = schema.get("type", [])
    return st.one_of(
        [_of_kind(kind, schema, defs, depth) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
        or [ANYTHING]
    )


def _of_kind(kind: str, schema: dict[str, Any], defs: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if kind == "string":
        return FORMATS.get(schema.get("format", ""), st.text(min_size=schema.get("minLength", 0), max_size=3))
    if kind == "integer":
        return st.integers(-3, 9) | NUMBERS
    if kind == "number":
        return NUMBERS
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        first = [json_for(each, defs, depth + 1) for each in schema.get("prefixItems", ())]
        rest = schema.get("items", {})
        if first or rest is False or schema.get("maxItems") == 0:
            return st.tuples(*first).map(list)
        size = {"min_size": schema.get("minItems", 0), "max_size": 2}
        return st.lists(json_for(rest, defs, depth + 1), **size)
    if kind == "object":
        members = {
            name: json_for(each, defs, depth + 1) for name, each in schema.get("properties", {}).items()
        }
        required = schema.get("required", ())
        declared = st.fixed_dictionaries(
            {name: each for name, each in members.items() if name in required},
            optional={name: each for name, each in members.items() if name not in required},
        )
        if members or schema.get("additionalProperties") is False:
            return declared
        names = json_for(schema.get("propertyNames", {"type": "string"}), defs, depth + 1)
        return st.dictionaries(
            names, json_for(schema.get("additionalProperties", {}), defs, depth + 1), max_size=2
        )
    return st.none()


def is_of(value: Any, hint: Any) -> bool:
    """Whether a Python value is what the hint promises."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin is Annotated:
        return is_of(value, arguments[0])
    if origin is Union:
        return any(is_of(value, each) for each in arguments)
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in arguments)
    if origin is dict:
        return type(value) is dict and all(
            is_of(k, arguments[0]) and is_of(v, arguments[1]) for k, v in value.items()
        )
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return type(value) is tuple and all(is_of(each, arguments[0]) for each in value)
    if origin is tuple:
        return type(value) is tuple and len(value) == len(arguments) and all(map(is_of, value, arguments))
    if origin is not None:
        kind = list if origin is Sequence or origin.__name__ == "Sequence" else origin
        return type(value) is kind and all(is_of(each, arguments[0]) for each in value)
    if is_dataclass(hint):
        return type(value) is hint and all(hasattr(value, each.name) for each in fields(hint))
    if hasattr(hint, "__required_keys__"):
        return type(value) is dict
    if issubclass(hint, Enum):
        return isinstance(value, hint)
    return type(value) is hint


def check(hint: Any, data: st.DataObject, draws: int) -> None:
    found = derive(hint)
    compiled = compile_schema(found.schema)
    values = json_for(found.schema, found.schema.get("$defs", {}))
    for _ in range(draws):
        value = data.draw(values | ANYTHING)
        if not compiled.is_valid(value):
            continue
        # As the door converts, and as a caller might that has not prepared the numbers.
        for given_value in (compiled.prepare(value), value):
            typed = given_value if found.convert is None else found.convert(given_value)
            assert is_of(typed, hint), (hint, value, typed)


@pytest.mark.parametrize("hint", [*HASHABLE, *CONSTRAINED, *CLASSES])
@given(data=st.data())
@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_the_schema_accepts_becomes_the_type(hint: Any, data: st.DataObject) -> None:
    check(hint, data, draws=4)


@given(hint=TYPES, data=st.data())
@settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_the_schema_of_any_types_accepts_becomes_them(hint: Any, data: st.DataObject) -> None:
    check(hint, data, draws=8)


@given(hint=TYPES)
@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_derived_schema_is_the_same_each_time_and_its_example_converts(hint: Any) -> None:
    found = derive(hint)
    assert derive(hint).schema == found.schema
    compiled = compile_schema(found.schema)
    example = compiled.example()
    if compiled.is_valid(example):
        typed = compiled.prepare(example)
        assert is_of(typed if found.convert is None else found.convert(typed), hint)
