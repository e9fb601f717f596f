"""Inputs on AIP: one text or a flat object of texts, made from the action's schema and read back by it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

import pytest
from django import forms

from agentweb.aip.projection import NotOffered, Projection, project
from agentweb.wire.errors import InputError
from agentweb.wire.schema import compile_schema
from tests.catalog.declarations import published

SEED = {
    "type": "string",
    "description": "The request ID itself; do not wrap it in an object",
    "minLength": 1,
}


def projection(schema: Any = None, **words: Any) -> Projection:
    found = project(published(**({} if schema is None else {"input": schema, "method": "POST"}), **words))
    assert isinstance(found, Projection), found
    return found


def reason(schema: Any, **words: Any) -> str:
    found = project(published(input=schema, method="POST", **words))
    assert isinstance(found, NotOffered), found
    return found.reason


def member(rule: Any) -> dict[str, Any]:
    """The schema of the text of one optional member, and nothing that it shares with another."""
    found = projection({"type": "object", "properties": {"a": rule, "b": {"type": "string"}}})
    return dict(found.schema["properties"]["a"])


def problems(found: Projection, value: Any) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        found.read(value)
    assert caught.value.problems is not None
    return [(each["pointer"], each["code"]) for each in caught.value.problems]


# -- one text


def test_a_text_is_published_as_its_author_wrote_it() -> None:
    found = projection(SEED, example="req-3", effect="write", scope="a:b", consequential=True)
    assert found.schema == SEED
    assert list(found.schema) == list(SEED)
    assert found.example == "req-3"
    assert found.read("req-3") == "req-3"


@pytest.mark.parametrize("words", [{}, {"additionalProperties": False}])
def test_one_required_member_alone_is_its_text(words: Any) -> None:
    schema = {"type": "object", "required": ["id"], "properties": {"id": SEED}, **words}
    found = projection(schema, example={"id": "req-3"})
    assert (found.schema, found.example) == (SEED, "req-3")
    assert found.read("req-3") == {"id": "req-3"}
    assert problems(found, {"id": "req-3"}) == [("", "type")]
    assert problems(found, "") == [("", "minLength")]


@pytest.mark.parametrize(
    ("schema", "text", "value", "wrong"),
    [
        (
            {"type": "integer", "minimum": 1},
            "20",
            20,
            ["0", "1e3", " 20", "20 ", "٣", "020", "+1", "", "2.0"],
        ),
        ({"type": "number"}, "2.50", Decimal("2.50"), ["1e3", "2.", ".5", "2,5", " 2", "NaN", "--1"]),
        ({"type": "boolean"}, "true", True, ["yes", "True", "1", "on", " true", ""]),
        ({"type": "null"}, "null", None, ["", "none", "0"]),
        ({"enum": ["red", 3, True]}, "3", 3, ["4", "blue", "True"]),
        ({"const": 7}, "7", 7, ["8", "07"]),
        ({"type": "string", "format": "date"}, "2026-01-31", "2026-01-31", ["2026-02-30", "31.1.2026", ""]),
    ],
)
def test_a_scalar_is_read_back_and_nothing_is_guessed(
    schema: Any, text: str, value: Any, wrong: list[str]
) -> None:
    for whole, found in (
        (value, projection(schema)),
        ({"a": value}, projection({"type": "object", "required": ["a"], "properties": {"a": schema}})),
    ):
        assert found.schema["type"] == "string"
        read = found.read(text)
        assert (read, type(read)) == (whole, type(whole))
        stated = compile_schema(found.schema)
        assert stated.is_valid(text)
        for each in wrong:
            assert [pointer for pointer, _ in problems(found, each)] == [""], each
            assert not stated.is_valid(each), each


# -- an object of texts


def test_an_object_becomes_one_of_texts_and_what_is_optional_stays_so() -> None:
    found = projection(
        {
            "type": "object",
            "description": "What to find.",
            "required": ["query"],
            "properties": {
                "query": {"type": "string", "description": "Words", "minLength": 1, "maxLength": 200},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 50,
                    "default": 10,
                    "description": "How many",
                },
                "in_stock": {"type": "boolean"},
                "since": {"type": "string", "format": "date"},
            },
            "additionalProperties": False,
        },
        example={"query": "tea", "limit": 5, "in_stock": True},
    )
    assert found.schema == {
        "type": "object",
        "description": "What to find.",
        "properties": {
            "query": {"type": "string", "description": "Words", "minLength": 1, "maxLength": 200},
            "limit": {
                "type": "string",
                "description": "How many. Write a whole number in digits, at least 1, at most 50.",
                "pattern": "^(?:[1-9]|[1-4][0-9]|50)$",
                "default": "10",
            },
            "in_stock": {"type": "string", "enum": ["true", "false"]},
            "since": {"type": "string", "description": "Write a date, such as 2026-01-31.", "format": "date"},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert found.example == {"query": "tea", "limit": "5", "in_stock": "true"}
    assert found.read({"query": "tea"}) == {"query": "tea"}
    assert found.read({**found.example, "limit": "20"}) == {"query": "tea", "limit": 20, "in_stock": True}


def test_no_input_is_an_object_without_members() -> None:
    found = projection(input=None)
    assert found.schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert (found.example, found.read({}), found.read_nothing()) == ({}, {}, {})
    assert problems(found, {"a": "b"}) == [("/a", "unknown_field")]


@pytest.mark.parametrize(
    ("rule", "made"),
    [
        ({"type": ["integer", "null"]}, {"pattern": "^(?:null|-?(?:0|[1-9][0-9]{0,38}))$"}),
        ({"type": ["boolean", "null"]}, {"enum": ["true", "false", "null"]}),
        ({"type": ["string", "null"], "maxLength": 3}, {"maxLength": 3}),
        ({"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]}, {"minLength": 2}),
        (
            {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 3}, {"type": "null"}]},
            {"pattern": "^(?:null|0|[1-3])$"},
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 2}]}, {"minLength": 2}),
        ({"anyOf": [{"type": "string", "minLength": 2}, {"type": "string", "format": "date"}]}, {}),
        ({"enum": [1, 2, 3], "minimum": 2}, {"enum": ["2", "3"]}),
        ({"enum": ["a", "b", None]}, {"enum": ["a", "b", "null"]}),
        ({"type": "string", "enum": ["b", "a"]}, {"enum": ["b", "a"]}),
        ({"enum": [1.5, Decimal("2.50"), 3]}, {"enum": ["1.5", "2.5", "3"]}),
        (
            {"anyOf": [{"const": "auto."}, {"type": "integer", "minimum": 1}]},
            {"pattern": r"^(?:auto\.|[1-9][0-9]{0,38})$"},
        ),
        (
            {"type": "string", "pattern": "^[a-z]+$", "format": "password"},
            {"pattern": "^[a-z]+$", "format": "password"},
        ),
        ({"type": "integer", "minimum": 0, "multipleOf": 5}, {"pattern": "^(?:0|[1-9][0-9]{0,38})$"}),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 3}, {"pattern": "^[1-2]$"}),
        ({"type": "integer", "minimum": -1, "maximum": 1}, {"pattern": "^(?:-1|0|1)$"}),
        (
            {"type": "number", "minimum": 0, "multipleOf": Decimal("0.01")},
            {"pattern": r"^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,2})?$"},
        ),
    ],
)
def test_what_a_text_may_be_is_said_by_the_words_of_its_schema(rule: Any, made: dict[str, Any]) -> None:
    stated = member(rule)
    stated.pop("description", None)
    assert stated == {"type": "string", **made}


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"type": "integer"}, "Write a whole number in digits."),
        ({"type": ["integer", "null"]}, "Write a whole number in digits or null."),
        (
            {"type": "number", "exclusiveMinimum": 0, "maximum": 5, "multipleOf": 0.25},
            "Write a number in digits, more than 0, at most 5, a multiple of 0.25.",
        ),
        ({"type": "string", "format": "email"}, "Write an email, such as name@example.com."),
        (
            {"type": "integer", "description": "How many?", "minimum": 0},
            "How many? Write a whole number in digits, at least 0.",
        ),
        ({"type": "boolean", "title": "Gift"}, "Gift"),
    ],
)
def test_a_sentence_says_the_expected_form(rule: Any, sentence: str) -> None:
    assert member(rule)["description"] == sentence


def test_references_and_what_stands_beside_them_are_followed() -> None:
    found = projection(
        {
            "$defs": {
                "Size": {"type": "integer", "minimum": 1, "maximum": 9},
                "Cup": {
                    "type": "object",
                    "required": ["size"],
                    "properties": {
                        "size": {"$ref": "#/$defs/Size", "description": "Its size"},
                        "lid": {"type": "boolean"},
                    },
                },
            },
            "allOf": [{"$ref": "#/$defs/Cup"}],
            "type": "object",
        }
    )
    assert found.schema["properties"]["size"] == {
        "type": "string",
        "description": "Its size. Write a whole number in digits, at least 1, at most 9.",
        "pattern": "^[1-9]$",
    }
    assert found.read({"size": "3", "lid": "false"}) == {"size": 3, "lid": False}
    assert problems(found, {"size": "10"}) == [("/size", "maximum")]


def test_what_two_parts_say_of_one_member_holds_together() -> None:
    rules = [{"type": "integer", "minimum": 1, "maximum": 30}, {"minimum": 5, "maximum": 20}]
    assert (
        member({"allOf": rules})["pattern"]
        == member({"allOf": rules[::-1]})["pattern"]
        == "^(?:[5-9]|1[0-9]|20)$"
    )


def test_choices_that_a_reference_rules_out_are_refused_on_the_call() -> None:
    found = projection(
        {
            "$defs": {"Odd": {"const": 3}},
            "type": "object",
            "properties": {"a": {"enum": [2, 3], "not": {"$ref": "#/$defs/Odd"}}, "b": {"type": "string"}},
        }
    )
    assert found.schema["properties"]["a"]["enum"] == ["2", "3"]
    assert found.read({"a": "2"}) == {"a": 2}
    assert problems(found, {"a": "3"}) == [("/a", "not")]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Order:
    colour: Colour
    price: Annotated[Decimal, {"exclusiveMinimum": 0}]
    on: date
    size: Literal[1, 2] = 1
    note: str | None = None
    gift: bool = False


class Ref(TypedDict):
    id: int


class Contact(forms.Form):
    email = forms.EmailField()
    topic = forms.ChoiceField(choices=[("a", "Alpha"), ("b", "Beta")])
    urgent = forms.BooleanField(required=False)
    age = forms.IntegerField(min_value=18, required=False)


def test_types_of_python_have_a_form_on_aip() -> None:
    def handler(inp: Order, ctx: Any) -> Any:
        """Order."""

    found = projection(by=handler)
    sent = {"colour": "red", "price": "2.50", "on": "2026-01-31", "size": "2", "note": "x", "gift": "true"}
    assert found.read(sent) == {**sent, "price": Decimal("2.50"), "size": 2, "gift": True}
    assert found.schema["required"] == ["colour", "price", "on"]
    assert found.schema["properties"]["colour"]["enum"] == ["red", "blue"]

    def one(inp: Ref, ctx: Any) -> Any:
        """One."""

    assert projection(by=one).read("7") == {"id": 7}


def test_a_form_has_a_form_on_aip() -> None:
    found = projection(form=Contact, effect="write", scope="a:b")
    sent = {"email": "ann@example.com", "topic": "a", "urgent": "true", "age": "18"}
    assert found.read(sent) == {**sent, "urgent": True, "age": 18}
    assert problems(found, {**sent, "age": "17", "topic": "c"}) == [("/age", "minimum"), ("/topic", "enum")]


# -- what is not offered


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array", "items": {"type": "string"}}, "its input is array"),
        ({}, "its input is of a type that its schema does not say"),
        ({"type": ["object", "string"]}, "its input is object or string"),
        (
            {"type": "object", "properties": {"tags": {"type": "array"}, "a": {"type": "object"}}},
            "'tags', 'a' are nested",
        ),
        ({"type": "object", "properties": {"x": {}}}, "'x' is nested, or of a type that is not said"),
        ({"type": "object", "required": ["x"]}, "'x' stands in a part of the schema only"),
        (
            {
                "type": "object",
                "properties": {"kind": {"type": "string"}},
                "oneOf": [{"properties": {"card": {"type": "string"}}}, {"required": ["iban"]}],
            },
            "'card', 'iban' stand in a part",
        ),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "it takes members of any name"),
        ({"type": "object", "patternProperties": {"^x": {"type": "string"}}}, "it takes members of any name"),
        ({"type": "string", "pattern": "^(?=a)b$"}, "no example of its input can be made"),
    ],
)
def test_what_has_no_form_says_why(schema: Any, said: str) -> None:
    assert reason(schema).startswith(said)


def test_an_example_that_cannot_be_written_is_replaced_by_one_that_can() -> None:
    schema = {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "n": {"type": "integer"}}}
    found = projection(schema, example={"a": None, "n": 3, "further": "x"})
    # Text is always a text there, so null is left out; what has no name in the schema cannot be sent.
    assert found.example == {}
    assert projection(schema, example={"a": None, "n": 3}).example == {"n": "3"}


def test_rules_between_members_are_kept_or_judged_afterwards() -> None:
    found = projection(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "minProperties": 1,
            "dependentRequired": {"a": ["b"]},
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"properties": {"b": {"const": 2}}},
        }
    )
    assert (found.schema["minProperties"], found.schema["dependentRequired"]) == (1, {"a": ["b"]})
    assert problems(found, {}) == [("", "minProperties")]
    assert problems(found, {"a": "2"}) == [("/b", "dependentRequired")]
    assert problems(found, {"a": "1", "b": "3"}) == [("/b", "const")]
    assert found.read({"a": "1", "b": "2"}) == {"a": 1, "b": 2}


def test_a_member_that_is_not_declared_is_refused_even_where_the_action_takes_it() -> None:
    found = projection({"type": "object", "properties": {"a": {"type": "string"}}})
    assert problems(found, {"b": "x"}) == [("/b", "unknown_field")]


def test_the_published_schema_has_the_last_word_on_a_member_too() -> None:
    """The rule of query strings reads these; what is published does not take them."""
    properties = {"a": {"type": "number"}, "b": {"type": "integer", "minimum": 0}}
    found = projection({"type": "object", "properties": properties})
    assert problems(found, {"a": "1e3", "b": "-0"}) == [("/a", "pattern"), ("/b", "pattern")]


def test_a_projection_is_found_out_once_for_each_input_and_example() -> None:
    first, same, other = (published(input=SEED, example=each) for each in ("req-3", "req-3", "req-4"))
    assert project(first) is project(first) is project(same)
    assert project(first) is not project(other)
    described = published(input={**SEED, "description": "Another"}, example="req-3")
    assert projection({**SEED, "description": "Another"}).schema != projection(SEED).schema
    assert isinstance(project(described), Projection)


def test_very_much_input_is_refused_at_once() -> None:
    found = projection({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}})
    many = {f"member{number}": "x" for number in range(120_000)}
    assert problems(found, many) == [("", "too_large")]
    deep: Any = "x"
    for _ in range(80):
        deep = [deep]
    assert (
        problems(found, {"a": deep}) == [("", "too_deep")] or problems(found, {"a": deep})[0][1] == "too_deep"
    )
    assert problems(found, {"a": "9" * 100_000}) == [("/a", "type")]
    with pytest.raises(InputError) as cut:
        found.read({f"m{number}": "x" for number in range(500)})
    assert len(cut.value.problems or []) == 100
    assert cut.value.extra["truncated"] is True
