"""Declaring an action: what is filled in, and what the rooms read."""

from __future__ import annotations

import asyncio
import functools
import logging
from decimal import Decimal
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import override_settings
from django.utils import translation
from django.utils.translation import gettext_lazy

from agentweb import action
from agentweb.catalog.actions import Cost, Effect
from agentweb.catalog.faults import FaultId
from agentweb.catalog.registry import registry
from tests.catalog.declarations import declared, handler, published

FLAT = {"type": "object", "properties": {"q": {"type": "string"}}}
NESTED = {"type": "object", "properties": {"line": {"type": "object"}}}
REFERRED = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/text"}},
    "$defs": {"text": {"type": "string"}},
}
PRICE = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}


def test_an_action_without_words_is_filled_in() -> None:
    found = published(None)
    assert found.name == "handler"
    assert found.title == "Handler"
    assert found.description == "Do the thing."
    assert found.effect is Effect.READ
    assert found.scope is None
    assert found.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert found.output_schema is None
    assert (found.has_example, found.example) == (True, {})
    assert (found.method, found.path) == ("GET", "/agent/handler")
    assert found.cost is None
    assert found.consequential is False
    assert found.idempotent is True
    assert (found.pages, found.tags) == ((), ())
    assert found.visible is None
    assert found.rate is None
    assert found.handler is handler
    assert found.where == "tests.catalog.declarations.handler"
    assert found.to_python({"a": 1}, None) == {"a": 1}


def test_every_word_is_kept() -> None:
    found, faults = declared(
        "pay",
        title="Pay a bill",
        description="  Pay one bill.  ",
        effect="spend",
        scope="bills:pay",
        input=PRICE,
        output={"type": "object"},
        example={"price": 5},
        method="PUT",
        path="/api/bills",
        cost={"field": "price", "currency": "USD"},
        pages=["/bills"],
        tags=("money", "bills"),
        visible=lambda user: True,
        rate=(2, 10),
    )
    assert faults == []
    assert found is not None
    assert (found.name, found.title, found.description) == ("pay", "Pay a bill", "Pay one bill.")
    assert (found.effect, found.scope) == ("spend", "bills:pay")
    assert found.input_schema == PRICE
    assert found.output_schema == {"type": "object"}
    assert (found.has_example, found.example) == (True, {"price": 5})
    assert (found.method, found.path) == ("PUT", "/api/bills")
    assert found.cost == Cost(currency="USD", field="price")
    assert (found.consequential, found.idempotent) == (True, False)
    assert (found.pages, found.tags) == (("/bills",), ("money", "bills"))
    assert found.rate == (2.0, 10)


def test_a_lazy_translation_is_a_text() -> None:
    found = published(
        title=gettext_lazy("Yes"), description=gettext_lazy("No"), input=Annotated[str, gettext_lazy("No")]
    )
    with translation.override("de"):
        assert (found.title, found.description) == ("Yes", "No")
    assert found.input_schema == {"type": "string", "description": "No"}
    assert type(found.title) is str


def test_the_decorator_works_without_parentheses() -> None:
    with registry.only():

        @action
        def list_orders(_inp: Any, ctx: Any) -> str:
            """List the orders."""
            return "called"

        assert list_orders(None, None) == "called"
        assert registry.get("list_orders") is not None


def test_the_function_is_left_as_it_is() -> None:
    def work(_inp: Any, ctx: Any) -> None:
        """Work."""

    with registry.only():
        assert action("work")(work) is work
    assert not hasattr(work, "__wrapped__")
    assert vars(work) == {}


def test_an_async_handler_is_kept() -> None:
    async def work(_inp: Any, ctx: Any) -> str:
        """Work."""
        return str(_inp)

    found = published("work", work)
    assert found.handler is work
    assert asyncio.run(found.handler("x", None)) == "x"


def test_what_is_not_a_function_cannot_be_decorated() -> None:
    with pytest.raises(TypeError, match="decorates a function"):
        action("thing")(5)  # type: ignore[type-var]


def test_an_unknown_argument_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        action("thing", serialiser=object)  # type: ignore[call-overload]


def test_a_partial_and_a_callable_object_can_be_handlers() -> None:
    class Work:
        """Work hard."""

        def __call__(self, _inp: Any, ctx: Any) -> None: ...

    def three(extra: Any, _inp: Any, ctx: Any) -> None: ...

    assert published("work", Work()).description == "Work hard."
    assert published("work", functools.partial(three, 1), description="Work.").handler is not None


@pytest.mark.parametrize(
    ("effect", "schema", "method"),
    [
        ("read", FLAT, "GET"),
        ("read", None, "GET"),
        ("read", NESTED, "POST"),
        (
            "read",
            {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}},
            "POST",
        ),
        ("read", {"type": "string"}, "POST"),
        ("read", {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}}, "GET"),
        ("read", {"type": "object", "properties": {"a": {"enum": ["x", 1]}}}, "GET"),
        ("read", {"type": "object", "properties": {"a": {}}}, "POST"),
        (
            "read",
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/s"}},
                "$defs": {"s": {"type": "string"}},
            },
            "GET",
        ),
        ("read", {"type": "object", "additionalProperties": {"type": "integer"}}, "GET"),
        ("read", {"type": "object", "additionalProperties": {"type": "object"}}, "POST"),
        ("read", {"type": "object", "additionalProperties": {}}, "GET"),
        ("read", {"type": "object", "patternProperties": {"^x": {"type": "array"}}}, "POST"),
        ("read", {**FLAT, "anyOf": [{"required": ["q"]}, {"properties": {"q": {"minLength": 2}}}]}, "GET"),
        ("read", {**FLAT, "allOf": [{"properties": {"line": {"type": "object"}}}]}, "POST"),
        ("read", {**FLAT, "if": {}, "then": {"$ref": "#/$defs/d"}, "$defs": {"d": NESTED}}, "POST"),
        ("read", {**FLAT, "dependentSchemas": {"q": NESTED}}, "POST"),
        ("write", FLAT, "POST"),
        ("send", FLAT, "POST"),
        ("spend", FLAT, "POST"),
        ("delete", FLAT, "POST"),
    ],
)
def test_the_default_method_is_get_for_a_read_with_flat_input_else_post(
    effect: str, schema: dict[str, Any] | None, method: str
) -> None:
    assert published(effect=effect, input=schema).method == method


@override_settings(AGENTWEB={"ACTION_PREFIX": "api/agents"})
def test_the_default_path_stands_under_the_prefix() -> None:
    assert published("order_book").path == "/api/agents/order_book"


@pytest.mark.parametrize(
    ("effect", "method", "words", "consequential", "idempotent"),
    [
        ("read", "GET", {}, False, True),
        ("write", "POST", {}, False, False),
        ("write", "PUT", {}, False, True),
        ("write", "POST", {"idempotent": True}, False, True),
        ("write", "PUT", {"idempotent": False}, False, False),
        ("write", "POST", {"consequential": True}, True, False),
        ("read", "GET", {"consequential": True}, True, True),
        ("send", "POST", {}, True, False),
        ("send", "PUT", {}, True, False),
        ("spend", "POST", {}, True, False),
        ("delete", "POST", {}, True, True),
        ("delete", "DELETE", {"idempotent": False}, True, False),
    ],
)
def test_the_effect_decides_what_is_consequential_and_idempotent(
    effect: str, method: str, words: dict[str, Any], consequential: bool, idempotent: bool
) -> None:
    found = published(effect=effect, method=method, **words)
    assert (found.consequential, found.idempotent) == (consequential, idempotent)


def test_parameters_of_the_path_are_named_in_order() -> None:
    schema = {
        "type": "object",
        "properties": {"shop": {"type": "string"}, "id": {"type": "integer"}},
        "required": ["shop", "id"],
    }
    found = published(input=schema, path="/shops/{shop}/orders/{id}/")
    assert found.path_parameters == ("shop", "id")
    assert found.path == "/shops/{shop}/orders/{id}/"


@pytest.mark.parametrize(
    ("method", "takes_query"), [("POST", False), ("PUT", False), ("PATCH", False), ("DELETE", True)]
)
def test_get_and_delete_take_their_input_from_the_query(method: str, takes_query: bool) -> None:
    assert published(effect="delete", method=method).takes_query is takes_query


def test_a_list_of_scalars_may_travel_in_the_query_string_when_asked_for() -> None:
    schema = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
    assert published(input=schema, method="GET").takes_query is True


def test_an_example_is_made_from_the_schema() -> None:
    found = published(input={**PRICE, "properties": {"price": {"type": "number", "minimum": 3}}})
    assert found.has_example is True
    assert found.example == {"price": 3}


def test_an_example_that_cannot_be_made_is_absent() -> None:
    found, faults = declared(input={"type": "object", "properties": {"a": False}, "required": ["a"]})
    assert found is not None
    assert found.has_example is False
    assert found.example is None
    assert faults == []


def test_null_may_be_an_example() -> None:
    found = published(input={"type": ["object", "null"]}, example=None)
    assert (found.has_example, found.example) == (True, None)


def test_a_hand_written_schema_is_published_as_it_is_and_cannot_be_changed_later() -> None:
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"price": {"multipleOf": 0.01, "type": "number"}},
        "type": "object",
        "x-note": [1, None],
    }
    written = {**schema, "properties": {"price": {"multipleOf": 0.01, "type": "number"}}}
    found = published(input=schema)
    schema["properties"]["price"]["type"] = "string"
    assert found.input_schema == written
    assert list(found.input_schema) == list(written)
    assert found.input.is_valid({"price": Decimal("4.02")})


@pytest.mark.parametrize(
    ("given", "cost", "document"),
    [
        (
            {"field": "price", "currency": "USD"},
            Cost(currency="USD", field="price"),
            {"field": "price", "currency": "USD"},
        ),
        (
            {"amount": 25, "currency": "USD"},
            Cost(currency="USD", amount=2500),
            {"amount": 25, "currency": "USD"},
        ),
        (
            {"amount": "19.99", "currency": "USD"},
            Cost(currency="USD", amount=1999),
            {"amount": Decimal("19.99"), "currency": "USD"},
        ),
        (
            {"amount": Decimal("0.5"), "currency": "KWD"},
            Cost(currency="KWD", amount=500),
            {"amount": Decimal("0.500"), "currency": "KWD"},
        ),
        (
            {"amount": 1000, "currency": "JPY"},
            Cost(currency="JPY", amount=1000),
            {"amount": 1000, "currency": "JPY"},
        ),
    ],
)
def test_a_cost_is_exact(given: dict[str, Any], cost: Cost, document: dict[str, Any]) -> None:
    found = published(effect="spend", scope="pay", input=PRICE, cost=given)
    assert found.cost == cost
    assert found.cost.as_manifest() == document


@pytest.mark.parametrize("kind", ["number", "integer", "string"])
def test_a_cost_may_be_pointed_to_inside_of_the_input(kind: str) -> None:
    schema = {
        "type": "object",
        "required": ["order"],
        "properties": {"order": {"$ref": "#/$defs/order"}},
        "$defs": {"order": {"type": "object", "required": ["a/b"], "properties": {"a/b": {"type": kind}}}},
    }
    found = published(
        effect="spend", scope="pay", input=schema, cost={"field": "/order/a~1b", "currency": "EUR"}
    )
    assert found.cost is not None
    assert found.cost.field_path == ("order", "a/b")


def test_a_top_level_cost_field_is_one_name() -> None:
    assert Cost(currency="USD", field="unit.price").field_path == ("unit.price",)
    assert Cost(currency="USD", amount=1).field_path == ()


def test_visible_decides_for_each_user() -> None:
    found = published(visible=lambda user: getattr(user, "is_staff", False))
    assert found.is_visible_to(SimpleNamespace(is_staff=True)) is True
    assert found.is_visible_to(AnonymousUser()) is False
    assert published().is_visible_to(AnonymousUser()) is True


def test_a_visible_that_fails_hides_the_action_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    found = published(visible=lambda user: user.nothing)
    with caplog.at_level(logging.ERROR, logger="agentweb.catalog"):
        assert found.is_visible_to(AnonymousUser()) is False
    assert "visible() of the action thing failed" in caplog.text
    assert "AttributeError" in caplog.text


def test_a_visible_that_answers_later_hides_the_action(caplog: pytest.LogCaptureFixture) -> None:
    async def later(user: Any) -> bool:
        return True

    def not_yet(user: Any) -> Any:
        return later(user)

    found = published(visible=not_yet)
    assert found.is_visible_to(AnonymousUser()) is False
    assert "is async" in caplog.text


def test_an_action_is_itself_and_never_changes() -> None:
    one, other = published(), published()
    assert one != other
    assert len({one, other}) == 2
    with pytest.raises(AttributeError):
        one.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": [str(number) for number in range(6_000)]},
        {"type": "string", "pattern": "a" * 201},
        {"type": "string", "enum": ["x" * 100_001]},
    ],
)
def test_a_schema_that_clients_do_not_take_is_spoken_of(schema: Any) -> None:
    with registry.only():
        action("big", effect="write", scope="a:b", description="Big.", input={"properties": {"a": schema}})(
            lambda inp, ctx: None
        )
        assert [found.id for found in registry.faults()] == [FaultId.READERS]
        assert registry.get("big") is not None
