"""Schemas and conversions of types, in full."""

# ruff: noqa: UP007, UP045 - Union and Optional are what is tested; dataclasses in typed.py use the other spelling

from __future__ import annotations

import math
import typing
from collections.abc import Iterable
from dataclasses import field, make_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID

import pytest

from agentweb.catalog.type_schemas import SourceError, derive
from agentweb.wire.schema import SchemaError, compile_schema
from tests.catalog import typed
from tests.catalog.typed import Address, Card, Colour, Everything, Node, Order, Size, Transfer

DATE = {"type": "string", "format": "date", "pattern": "^(?!0000)"}
DATE_TIME = {"type": "string", "format": "date-time", "pattern": "^(?!0000)"}
IDENT = "123e4567-e89b-42d3-a456-426614174000"


def schema_of(hint: Any) -> dict[str, Any]:
    return derive(hint).schema


def converted(hint: Any, value: Any) -> Any:
    """The typed value of a JSON value that the schema accepts, as the door makes it."""
    found = derive(hint)
    compiled = compile_schema(found.schema)
    compiled.check(value)
    prepared = compiled.prepare(value)
    return prepared if found.convert is None else found.convert(prepared)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (bool, {"type": "boolean"}),
        (float, {"type": "number"}),
        (Decimal, {"type": "number"}),
        (None, {"type": "null"}),
        (date, DATE),
        (datetime, DATE_TIME),
        (time, {"type": "string", "format": "time"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (Any, {}),
        (object, {}),
        (typed.Sku, {"type": "string"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "const": "a"}),
        (Literal[1, True, None, "1"], {"enum": [1, True, None, "1"]}),
        (Literal[Colour.RED, "blue"], {"type": "string", "enum": ["red", "blue"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Size, {"enum": [1, 2]}),
        (Optional[int], {"type": ["integer", "null"]}),
        (Union[int, str, None], {"type": ["integer", "string", "null"]}),
        (Union[int, float], {"type": ["integer", "number"]}),
        (Optional[date], {**DATE, "type": ["string", "null"]}),
        (Optional[Colour], {"anyOf": [{"type": "string", "enum": ["red", "blue"]}, {"type": "null"}]}),
        (Union[date, int], {"anyOf": [DATE, {"type": "integer"}]}),
        (Union[int, Any], {}),
        (Union[typed.Sku, str], {"type": "string"}),
        (list, {"type": "array"}),
        (list[Any], {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Iterable[int], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (frozenset[Colour], {"type": "array", "items": schema_of(Colour), "uniqueItems": True}),
        (tuple, {"type": "array"}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (tuple[()], {"type": "array", "maxItems": 0}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
            },
        ),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[Colour, Any], {"type": "object", "propertyNames": schema_of(Colour)}),
        (dict[UUID, Any], {"type": "object", "propertyNames": {"type": "string", "format": "uuid"}}),
    ],
)
def test_each_type_has_its_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (
            Annotated[int, {"minimum": 1}, "How many"],
            {"type": "integer", "minimum": 1, "description": "How many"},
        ),
        (Annotated[int, typed.Ge(1), typed.Le(9)], {"type": "integer", "minimum": 1, "maximum": 9}),
        (
            Annotated[Decimal, typed.Between(0, Decimal("9.5"))],
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": Decimal("9.5")},
        ),
        (Annotated[float, typed.MultipleOf(0.5)], {"type": "number", "multipleOf": 0.5}),
        (Annotated[str, typed.Len(1, 5)], {"type": "string", "minLength": 1, "maxLength": 5}),
        (Annotated[str, typed.Len(0)], {"type": "string"}),
        (
            Annotated[list[str], typed.Len(1, 5)],
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 5},
        ),
        (
            Annotated[dict[str, int], typed.Len(1)],
            {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
        ),
        (
            Annotated[str | list[str], typed.Len(1)],
            {
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
                "minLength": 1,
                "minItems": 1,
            },
        ),
        (Annotated[str, typed.Constraints("^a")], {"type": "string", "pattern": "^a"}),
        (Annotated[str, typed.Constraints(typed.UPPER)], {"type": "string", "pattern": "^[A-Z]+$"}),
        (Annotated[str, typed.UPPER], {"type": "string", "pattern": "^[A-Z]+$"}),
        (Annotated[str, typed.Doc("Said")], {"type": "string", "description": "Said"}),
        (
            Annotated[str, {"format": "email", "examples": ["a@b.c"]}],
            {"type": "string", "format": "email", "examples": ["a@b.c"]},
        ),
        (Annotated[int | None, typed.Ge(1)], {"type": ["integer", "null"], "minimum": 1}),
        (Annotated[int, object(), 5, int], {"type": "integer"}),
        (
            Annotated[Annotated[int, typed.Ge(1)], typed.Le(2)],
            {"type": "integer", "minimum": 1, "maximum": 2},
        ),
        (Annotated[str, "One", {"description": "Other"}], {"type": "string", "description": "Other"}),
        (Annotated[Any, {"type": "string"}], {"type": "string"}),
    ],
)
def test_annotations_become_keywords(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


def test_a_dataclass_is_a_closed_object_with_its_defaults_and_descriptions() -> None:
    assert schema_of(Order) == {
        "type": "object",
        "properties": {
            "sku": {"type": "string"},
            "quantity": {"type": "integer", "minimum": 1, "maximum": 20, "default": 1},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "size": {"anyOf": [{"enum": [1, 2]}, {"type": "null"}], "default": None},
            "on": {**DATE, "type": ["string", "null"], "default": None},
            "price": {"type": "number", "default": Decimal("9.90")},
            "to": {
                "type": ["object", "null"],
                "description": "Where to send it.",
                "properties": {
                    "city": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 80,
                        "description": "Name of the town",
                    },
                    "lines": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Street and number",
                        "default": [],
                    },
                },
                "required": ["city"],
                "additionalProperties": False,
                "default": None,
            },
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            # A default that is made anew each time is not written.
            "token": {"type": "string", "format": "uuid"},
        },
        "required": ["sku"],
        "additionalProperties": False,
    }


def test_a_default_that_its_own_schema_refuses_is_not_written() -> None:
    assert schema_of(typed.Sloppy)["properties"] == {
        "count": {"type": "integer"},
        "weird": {},
        "plain": {"default": 5},
    }


def test_a_typed_dict_is_a_closed_object() -> None:
    assert schema_of(typed.Search) == {
        "type": "object",
        "description": "Find products.",
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1},
            "since": DATE_TIME,
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def test_required_members_of_inherited_typed_dicts_are_right() -> None:
    found = schema_of(typed.Narrowed)
    assert list(found["properties"]) == ["query", "limit", "since", "shop", "exact"]
    assert found["required"] == ["query", "shop"]


def test_a_class_that_contains_itself_is_referred_to() -> None:
    node = {
        "type": "object",
        "description": "A tree.",
        "properties": {
            "value": {"type": "integer"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
            "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None},
        },
        "required": ["value"],
        "additionalProperties": False,
    }
    assert schema_of(Node) == {**node, "$defs": {"Node": node}}
    assert schema_of(list[Node]) == {
        "type": "array",
        "items": {"$ref": "#/$defs/Node"},
        "$defs": {"Node": node},
    }
    assert converted(Node, {"value": 1, "children": [{"value": 2, "next": {"value": 3}}]}) == Node(
        1, [Node(2, [], Node(3))]
    )


def test_two_recursive_classes_of_one_name_are_kept_apart() -> None:
    found = schema_of(tuple[Node, typed.Other.Node, Node])
    assert [each["$ref"] for each in found["prefixItems"]] == [
        "#/$defs/Node",
        "#/$defs/Node2",
        "#/$defs/Node",
    ]
    assert found["$defs"]["Node2"]["properties"]["inner"]["anyOf"][0] == {"$ref": "#/$defs/Node2"}


@pytest.mark.skipif(not hasattr(typing, "ReadOnly"), reason="ReadOnly came with Python 3.13")
def test_read_only_members_are_members() -> None:
    hints = {"a": typing.ReadOnly[int], "b": typing.ReadOnly[typing.NotRequired[str]]}
    found = schema_of(typing.TypedDict("Read", hints))  # type: ignore[operator]
    assert found["properties"] == {"a": {"type": "integer"}, "b": {"type": "string"}}
    assert found["required"] == ["a"]


def test_a_constructor_of_any_arguments_gets_the_fields() -> None:
    assert converted(typed.OwnConstructor, {"a": 5}).a == 5


def test_defaults_of_every_kind_are_written_as_they_are_sent() -> None:
    kinds = {
        "when": (datetime, datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00+00:00"),
        "ident": (UUID, UUID(IDENT), IDENT),
        "colours": (frozenset[Colour], frozenset({Colour.RED, Colour.BLUE}), ["blue", "red"]),
        "pairs": (tuple[int, Colour], (1, Colour.RED), [1, "red"]),
        "day": (typed.Day, typed.Day(date(2026, 1, 31)), {"on": "2026-01-31"}),
        "table": (dict[str, Any], field(default_factory=dict), {}),
        "none": (int, field(default_factory=lambda: 5), None),
    }
    made = make_dataclass("Made", [(name, hint, default) for name, (hint, default, _json) in kinds.items()])
    assert {name: member.get("default") for name, member in schema_of(made)["properties"].items()} == {
        name: written for name, (_hint, _default, written) in kinds.items()
    }


def test_classes_that_contain_each_other_are_referred_to() -> None:
    found = schema_of(tuple[typed.Left, typed.Right])
    assert found["prefixItems"][0] == {"$ref": "#/$defs/Left"}
    assert found["prefixItems"][1]["properties"] == {"left": {"$ref": "#/$defs/Left"}}
    assert list(found["$defs"]) == ["Left"]
    assert compile_schema(found).is_valid([{"right": {"left": {}}}, {"left": {"right": {}}}])


@pytest.mark.skipif(not hasattr(typing, "TypeAliasType"), reason="the type statement came with Python 3.12")
def test_a_recursive_alias_is_referred_to() -> None:
    names: dict[str, Any] = {}
    exec("type Tree = int | list[Tree]\ntype Loop = Loop", names)  # noqa: S102 - syntax newer than the oldest Python
    assert schema_of(names["Tree"]) == {
        "anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/Tree"}}],
        "$defs": {
            "Tree": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/Tree"}}]}
        },
    }
    assert converted(names["Tree"], [1, [Decimal("2.0"), []]]) == [1, [2, []]]
    with pytest.raises(SourceError, match="nothing but itself"):
        derive(names["Loop"])


def test_everything_converts() -> None:
    value = {
        "text": "ä",
        "whole": Decimal("2.0"),
        "flag": True,
        "real": Decimal("1.5"),
        "exact": Decimal("0.10"),
        "day": "2026-01-31",
        "moment": "2026-01-31t12:00:00.1234567z",
        "hour": "23:59:60Z",
        "ident": IDENT.upper(),
        "nothing": None,
        "anything": [{}],
        "choice": True,
        "colour": "blue",
        "size": Decimal("2.0"),
        "either": "5",
        "maybe": None,
        "several": IDENT,
        "listed": ["0001-01-01"],
        "bare": [1, "a"],
        "fixed": [1, "2026-01-31"],
        "none": [],
        "many": ["2026-01-31"],
        "frozen": [1, 2],
        "named": {"a": 1},
        "coloured": {"red": 1},
        "open": {"a": [1]},
        "pay": {"kind": "transfer", "iban": "X"},
    }
    found = converted(Everything, value)
    assert found == Everything(
        text="ä",
        whole=2,
        flag=True,
        real=1.5,
        exact=Decimal("0.10"),
        day=date(2026, 1, 31),
        moment=datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC),
        hour=time(23, 59, 59, tzinfo=UTC),
        ident=UUID(IDENT),
        nothing=None,
        anything=[{}],
        choice=True,
        colour=Colour.BLUE,
        size=Size.LARGE,
        either="5",
        maybe=None,
        several=UUID(IDENT),
        listed=[date(1, 1, 1)],
        bare=[1, "a"],
        fixed=(1, date(2026, 1, 31)),
        none=(),
        many={date(2026, 1, 31)},
        frozen=frozenset({1, 2}),
        named={"a": Decimal(1)},
        coloured={Colour.RED: 1},
        open={"a": [1]},
        pay=Transfer("transfer", "X"),
    )
    assert (type(found.whole), type(found.real), type(found.named["a"])) == (int, float, Decimal)
    assert found.choice is True
    assert found.size is Size.LARGE


def test_absent_members_take_the_defaults_of_the_dataclass() -> None:
    found = converted(Order, {"sku": "a", "to": {"city": "B"}})
    assert (found.quantity, found.colour, found.price) == (1, Colour.RED, Decimal("9.90"))
    assert found.to == Address("B", [])
    assert isinstance(found.token, UUID)


def test_a_typed_dict_is_converted_in_a_copy() -> None:
    value = {"query": "a", "since": "2026-01-31T12:00:00+02:00"}
    assert converted(typed.Search, value) == {
        "query": "a",
        "since": datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))),
    }
    assert value["since"] == "2026-01-31T12:00:00+02:00"


@pytest.mark.parametrize(
    ("hint", "value", "result"),
    [
        (Union[date, str], "2026-01-31", date(2026, 1, 31)),
        (Union[date, str], "soon", "soon"),
        (Union[str, date], "2026-01-31", "2026-01-31"),
        (Union[Card, Transfer], {"kind": "card", "number": "1"}, Card("card", "1")),
        (Union[int, float], Decimal("2.0"), 2),
        (Union[int, float], Decimal("2.5"), 2.5),
        (Union[bool, int], True, True),
        (Union[Any, date], "2026-01-31", "2026-01-31"),
        (Union[list[date], date, None], ["2026-01-31"], [date(2026, 1, 31)]),
        (Union[list[date], date, None], None, None),
        (Optional[Literal[1]], None, None),
        (Optional[Literal[1]], 1.0, 1),
        (datetime, "9999-12-31T23:59:60Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (float, 10**30, 1e30),
        (Decimal, 0.1, Decimal("0.1")),
    ],
)
def test_a_union_takes_the_first_type_that_accepts(hint: Any, value: Any, result: Any) -> None:
    found = converted(hint, value)
    assert found == result
    assert type(found) is type(result)


def test_a_huge_integer_is_no_error_as_a_float() -> None:
    convert = derive(float).convert
    assert convert is not None
    assert convert(10**400) == math.inf


def test_the_year_0_is_refused_rather_than_failing_later() -> None:
    for hint, value in ((date, "0000-01-01"), (datetime, "0000-01-01T00:00:00Z")):
        assert not compile_schema(schema_of(hint)).is_valid(value)


@pytest.mark.parametrize(
    ("hint", "why"),
    [
        (bytes, "bytes has no form in JSON"),
        (complex, "complex has no form"),
        (typed.Point, "Point has no form"),
        (typed.T, "the type variable T"),
        (typed.Box, "Box.content: the type variable T"),
        (typed.Box[int], "has no form"),
        ("Address", "Address has no form"),
        (Literal[b"a"], "not a text, number, boolean or None"),
        (typed.Odd, "Odd has a choice"),
        (typed.Empty, "Empty has no choices"),
        (set, "cannot be in a set"),
        (set[list[int]], "cannot be in a set"),
        (frozenset[dict[str, int]], "cannot be in a set"),
        (set[Address], "cannot be in a set"),
        (set[Order], "cannot be in a set"),
        (dict[int, str], "are not texts"),
        (dict[Any, str], "are not texts"),
        (typed.NeedsMore, "NeedsMore needs 'secret'"),
        (typed.Unknown, "the name 'Missing' in the hints of Unknown"),
        (list[typed.Unknown], "the name 'Missing'"),
        (typed.Unreadable, "the hints of Unreadable cannot be read"),
        (Annotated[str, typed.Ge(1)], "minimum does not go with string"),
        (Annotated[date, typed.Le(date(2026, 1, 1))], "maximum does not go with string"),
        (Annotated[int, typed.Len(1)], "min_length does not go with integer"),
        (Annotated[int, typed.Constraints("a")], "pattern does not go with integer"),
        (Annotated[int, typed.UPPER], "pattern does not go with integer"),
        (Annotated[Any, typed.Ge(1)], "does not go with a value of any type"),
        (Annotated[int, {"type": "string"}], "type is already 'integer'"),
        (Annotated[date, {"format": "uuid"}], "format is already 'date'"),
        (Annotated[int, typed.Ge(1), {"minimum": 2}], "minimum is already 1"),
        (Annotated[int, {"$ref": "#"}], "\\$ref cannot be added"),
        (Annotated[int, {1: 2}], "texts as names"),
    ],
)
def test_what_cannot_be_described_is_refused_with_its_place(hint: Any, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        derive(hint)


def test_a_keyword_that_is_not_valid_is_a_schema_error() -> None:
    with pytest.raises(SchemaError):
        derive(Union[Annotated[date, typed.Len(-1)], int])


def test_a_set_may_hold_frozen_dataclasses() -> None:
    day = typed.Day(date(2026, 1, 31))
    assert converted(set[typed.Day], [{"on": "2026-01-31"}]) == {day}


def test_an_output_is_open_and_has_every_field() -> None:
    found = derive(Order, for_output=True).schema
    assert "additionalProperties" not in found
    assert found["required"] == [
        "sku", "quantity", "colour", "size", "on", "price", "to", "tags", "token", "made"
    ]  # fmt: skip
    assert "default" not in found["properties"]["quantity"]
    assert derive(typed.Search, for_output=True).schema["required"] == ["query"]
