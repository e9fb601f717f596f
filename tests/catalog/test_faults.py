"""Every fault of an action: its id, its hint, and whether it is dangerous."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NewType, TypedDict

import pytest
from django.test import override_settings

from agentweb import action
from agentweb.catalog.faults import DANGEROUS, FaultId
from agentweb.catalog.registry import registry
from tests.catalog.declarations import declared, handler, refused, warned

PRICE = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
SPEND: dict[str, Any] = {"effect": "spend", "scope": "pay", "input": PRICE}


@pytest.mark.requirement("AA-2.5")
def test_two_actions_with_one_name_are_refused() -> None:
    with registry.only():
        action("thing")(handler)
        action("thing", path="/other")(handler)
        (found,) = registry.faults()
        assert [each.path for each in registry.actions()] == ["/agent/thing"]
    assert found.id == "agentweb.E010"
    assert found.dangerous is True
    assert found.message == "Two actions are named 'thing'; the other is tests.catalog.declarations.handler."
    assert found.hint == "Rename one of them; an action's name is unique in the site."
    assert found.obj == "tests.catalog.declarations.handler"


@pytest.mark.parametrize("path", ["/api/one", "/api/one/"])
def test_two_actions_with_one_method_and_path_are_refused(path: str) -> None:
    with registry.only():
        action("one", path="/api/one")(handler)
        action("two", path=path)(handler)
        (found,) = registry.faults()
        assert [each.name for each in registry.actions()] == ["one"]
    assert found.id == "agentweb.E011"
    assert found.dangerous is True
    assert "'two' and 'one' both answer GET" in found.message
    assert found.hint == "Give one of them another path or method."


def test_one_path_with_differently_named_parameters_is_refused() -> None:
    def schema(name: str) -> dict[str, Any]:
        return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}

    with registry.only():
        action("show", path="/orders/{id}", input=schema("id"))(handler)
        action("drop", path="/orders/{pk}", input=schema("pk"), effect="delete", method="DELETE", scope="x")(
            handler
        )
        (found,) = registry.faults()
    assert found.id == "agentweb.E011"
    assert found.dangerous is True
    assert found.hint == "Write /orders/{id} in both."


@pytest.mark.parametrize("name", ["Add", "add to", "1st", "_a", "ä", "a" * 101, "add-to", "", "a\n", 5])
def test_a_bad_name_is_refused(name: Any) -> None:
    found = refused(name=name)
    assert found.id == "agentweb.E012"
    assert found.dangerous is True
    assert repr(name) in found.message
    assert "'add_to_cart'" in found.hint


def test_a_lambda_needs_a_name() -> None:
    found = refused(name=None, by=lambda _, ctx: None, description="Work.")
    assert found.id == "agentweb.E012"
    assert found.obj.startswith("tests.catalog.test_faults.")


@pytest.mark.parametrize("scope", ["", "Cart", "a:b:c:d:e:f", "cart write", 5, "a" * 101])
def test_a_bad_scope_is_refused(scope: Any) -> None:
    found = refused(scope=scope)
    assert found.id == "agentweb.E013"
    assert found.dangerous is True
    assert "segments" in found.hint


@pytest.mark.requirement("AA-2.8")
@pytest.mark.parametrize("effect", ["buy", "", None, "READ", 1])
def test_an_unknown_effect_is_refused(effect: Any) -> None:
    found = refused(effect=effect)
    assert found.id == "agentweb.E014"
    assert found.dangerous is True
    assert found.hint == "Choose one of read, write, send, spend, delete."


@pytest.mark.requirement("AA-2.10")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"type": "object", "properties": []},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#/$defs/missing"},
        {"pattern": "("},
        {"minimum": float("nan")},
        {"default": object()},
        {1: 2},
    ],
)
@pytest.mark.parametrize("word", ["input", "output"])
def test_an_invalid_schema_is_refused(word: str, schema: dict[str, Any]) -> None:
    found = refused(**{word: schema})
    assert found.id == "agentweb.E015"
    assert found.dangerous is True
    assert found.message.startswith(f"The {word} schema is not valid: ")
    assert found.hint == "Write a JSON Schema 2020-12 without remote $ref."


@pytest.mark.parametrize(("word", "which"), [("input", "input"), ("output", "output")])
@pytest.mark.parametrize("kind", [bytes, handler, "text", object(), complex])
def test_a_type_without_a_form_in_json_is_refused(word: str, which: str, kind: Any) -> None:
    found = refused(**{word: kind})
    assert found.id == "agentweb.E016"
    assert found.dangerous is True
    assert found.message.startswith(f"No {which} schema can be derived: ")
    assert f"{which}={{...}}" in found.hint


def test_a_hint_that_is_not_known_in_its_module_is_refused() -> None:
    def work(inp: Nowhere, ctx: Any) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Work."""

    found = refused(name="work", by=work)
    assert found.id == "agentweb.E016"
    assert "'Nowhere'" in found.message


@pytest.mark.parametrize("effect", ["write", "send", "spend", "delete"])
def test_only_a_read_may_be_called_by_get(effect: str) -> None:
    cost = {"cost": {"amount": 1, "currency": "USD"}} if effect == "spend" else {}
    found = refused(effect=effect, method="GET", scope="x", **cost)
    assert found.id == "agentweb.E017"
    assert found.dangerous is True
    assert found.hint == "A read is called by GET; everything else by POST, PUT, PATCH or DELETE."


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_read_may_not_be_called_by_a_method_that_changes(method: str) -> None:
    assert refused(method=method).id == "agentweb.E017"


@pytest.mark.parametrize("method", ["get", "HEAD", "TRACE", "", 5])
def test_an_unknown_method_is_refused(method: Any) -> None:
    found = refused(method=method)
    assert found.id == "agentweb.E017"
    assert found.hint == "Choose one of GET, POST, PUT, PATCH, DELETE."


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "api",
        "//api",
        "/a//b",
        "/a/../b",
        "/./a",
        "/a?b",
        "/a#b",
        "/a b",
        "/ä",
        "/%41",
        "/a\n",
        "/{id}x",
        "/{1}",
        "/{}",
        "/{a}/{a}",
        "/" + "a" * 200,
        "https://shop.example/api",
        5,
    ],
)
def test_a_bad_path_is_refused(path: Any) -> None:
    found = refused(path=path)
    assert found.id == "agentweb.E018"
    assert found.dangerous is True
    assert "'/orders/{id}'" in found.hint


@override_settings(AGENTWEB={"ACTION_PREFIX": "api//x"})
def test_a_bad_prefix_is_refused() -> None:
    assert refused().id == "agentweb.E018"


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "object", "properties": {"id": {"type": "string"}}},
        {"type": "object", "properties": {"id": {"type": "array"}}, "required": ["id"]},
        {"type": "object", "properties": {"id": {}}, "required": ["id"]},
        {"type": "object", "required": ["id"]},
    ],
)
def test_a_path_parameter_must_be_a_required_scalar_input(schema: Any) -> None:
    found = refused(path="/orders/{id}", input=schema, method="POST", effect="write", scope="x")
    assert found.id == "agentweb.E019"
    assert found.dangerous is True
    assert found.hint == "Declare 'id' in the input's properties and in required, or take it out of the path."


@pytest.mark.parametrize(
    ("cost", "why"),
    [
        ("25 USD", "not a dict"),
        ({}, "neither the field"),
        ({"currency": "USD"}, "neither the field"),
        ({"amount": 1}, "its currency is missing"),
        ({"field": "price"}, "its currency is missing"),
        ({"field": "price", "curency": "USD"}, "'curency' is none of field, amount and currency"),
        ({"amount": 1, "field": "price", "currency": "USD"}, "one of them"),
        ({"field": "price", "currency": "usd"}, "ISO 4217"),
        ({"field": "price", "currency": ["USD"]}, "ISO 4217"),
        ({"amount": 1, "currency": "XXX"}, "ISO 4217"),
        ({"amount": 25.0, "currency": "USD"}, "float"),
        ({"amount": True, "currency": "USD"}, "the amount does not hold"),
        ({"amount": 0, "currency": "USD"}, "the amount does not hold"),
        ({"amount": "-1", "currency": "USD"}, "the amount does not hold"),
        ({"amount": "1.005", "currency": "USD"}, "the amount does not hold"),
        ({"amount": Decimal("0.1"), "currency": "JPY"}, "the amount does not hold"),
        ({"amount": None, "currency": "USD"}, "the amount does not hold"),
        ({"field": "", "currency": "USD"}, "not a name"),
        ({"field": 5, "currency": "USD"}, "not a name"),
        ({"field": "prize", "currency": "USD"}, "no member 'prize'"),
        ({"field": "/price/deep", "currency": "USD"}, "no member '/price/deep'"),
        ({"field": "maybe", "currency": "USD"}, "not required"),
        ({"field": "/order/maybe", "currency": "USD"}, "not required"),
        ({"field": "/gift/price", "currency": "USD"}, "not required"),
        ({"field": "order", "currency": "USD"}, "not a number, an integer or a string"),
        ({"field": "open", "currency": "USD"}, "not a number, an integer or a string"),
        ({"field": "nullable", "currency": "USD"}, "not a number, an integer or a string"),
    ],
)
def test_a_cost_that_does_not_hold_is_refused(cost: Any, why: str) -> None:
    schema = {
        "type": "object",
        "required": ["price", "order", "open", "nullable", "gift"],
        "properties": {
            "price": {"type": "number"},
            "maybe": {"type": "number"},
            "order": {"type": "object", "properties": {"maybe": {"type": "number"}}},
            "open": {},
            "nullable": {"type": ["number", "null"]},
            "gift": {
                "type": ["object", "null"],
                "properties": {"price": {"type": "number"}},
                "required": ["price"],
            },
        },
    }
    found = refused(**{**SPEND, "input": schema}, cost=cost)
    assert found.id == "agentweb.E020"
    assert found.dangerous is True
    assert why in found.message
    assert ".." not in found.message
    assert '{"field": "price", "currency": "USD"}' in found.hint


@pytest.mark.parametrize("effect", ["read", "write", "send", "delete"])
def test_only_a_spend_may_declare_a_cost(effect: str) -> None:
    found = refused(effect=effect, scope="x", cost={"amount": 1, "currency": "USD"})
    assert found.id == "agentweb.E020"
    assert "set effect='spend'" in found.hint


def test_a_handler_must_take_input_and_context() -> None:
    def none() -> None:
        """Work."""

    def one(_inp: Any) -> None:
        """Work."""

    def three(_inp: Any, ctx: Any, more: Any) -> None:
        """Work."""

    def named(_inp: Any, ctx: Any, *, more: Any) -> None:
        """Work."""

    for by in (none, one, three, named):
        found = refused(by=by)
        assert found.id == "agentweb.E021"
        assert found.dangerous is True
        assert found.hint == "Write it as handler(inp, ctx); other parameters need defaults."


def test_a_handler_may_have_more_parameters_with_defaults() -> None:
    def work(_inp: Any, ctx: Any, extra: int = 1, *rest: Any, **more: Any) -> None:
        """Work."""

    assert declared(by=work)[1] == []


def test_a_generator_is_no_handler() -> None:
    def one(_inp: Any, ctx: Any) -> Any:
        """Work."""
        yield 1

    async def other(_inp: Any, ctx: Any) -> Any:
        """Work."""
        yield 1

    for by in (one, other):
        found = refused(by=by)
        assert found.id == "agentweb.E021"
        assert found.hint == "Return the whole answer; a call has one."


@pytest.mark.parametrize(
    "example", [{}, {"price": "5"}, [], None, {"price": object()}, {"price": float("nan")}]
)
def test_an_example_that_does_not_fit_is_refused(example: Any) -> None:
    found = refused(input=PRICE, example=example)
    assert found.id == "agentweb.E022"
    assert found.dangerous is False
    assert found.message.startswith("The example does not fit the input schema: ")
    assert "leave it out" in found.hint


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "string"},
        {},
    ],
)
@pytest.mark.parametrize(("effect", "method"), [("read", "GET"), ("delete", "DELETE")])
def test_nested_input_does_not_travel_in_the_query_string(
    effect: str, method: str, schema: dict[str, Any]
) -> None:
    found = refused(effect=effect, method=method, scope="x", input=schema)
    assert found.id == "agentweb.E023"
    assert found.dangerous is False
    assert found.hint.startswith("Call it by POST")


@pytest.mark.parametrize(
    "rate",
    [5, (1,), (1, 2, 3), (0, 1), (1, 0), (-1, 5), ("1", 2), (float("inf"), 1), (float("nan"), 1), (True, 1)],
)
def test_a_bad_rate_is_refused(rate: Any) -> None:
    found = refused(rate=rate)
    assert found.id == "agentweb.E024"
    assert found.dangerous is False
    assert "rate=(2, 10)" in found.hint


@pytest.mark.parametrize(
    "words", [{"confirm": "person"}, {"confirm": True, "effect": "write", "scope": "a:b"}]
)
def test_a_confirmation_is_by_a_person_and_never_for_a_read(words: dict[str, Any]) -> None:
    found = refused(**words)
    assert found.id == "agentweb.E037"
    assert found.dangerous is True


@pytest.mark.requirement("AA-2.6")
@pytest.mark.parametrize("description", ["", "  \n ", 5])
def test_an_empty_description_is_refused(description: Any) -> None:
    found = refused(description=description)
    assert found.id == "agentweb.E026"
    assert found.dangerous is False
    assert found.message == "It has no description."
    assert "docstring" in found.hint


def test_a_function_without_docstring_needs_a_description() -> None:
    def work(_inp: Any, ctx: Any) -> None: ...

    assert refused(by=work).id == "agentweb.E026"


def test_a_description_that_is_too_long_is_refused() -> None:
    assert declared(description="a" * 1024)[1] == []
    found = refused(description="a" * 1025)
    assert found.id == "agentweb.E026"
    assert found.hint == "Say in a sentence or two what it does and when to use it."


async def visible_later(user: Any) -> bool:
    return True


@pytest.mark.parametrize("visible", [True, "is_staff", visible_later])
def test_visible_must_be_a_plain_function(visible: Any) -> None:
    found = refused(visible=visible)
    assert found.id == "agentweb.E027"
    assert found.dangerous is False
    assert "visible=lambda user: user.is_staff" in found.hint


@pytest.mark.parametrize("effect", ["send", "spend", "delete"])
def test_what_is_consequential_cannot_be_lowered(effect: str) -> None:
    cost = {"cost": {"amount": 1, "currency": "USD"}} if effect == "spend" else {}
    found = refused(effect=effect, scope="x", consequential=False, **cost)
    assert found.id == "agentweb.E028"
    assert found.dangerous is False
    assert "may be raised to True" in found.hint


@pytest.mark.parametrize(
    ("effect", "idempotent"), [("send", True), ("spend", True), ("write", "yes"), ("read", 1)]
)
def test_what_cannot_be_repeated_may_not_say_so(effect: str, idempotent: Any) -> None:
    cost = {"cost": {"amount": 1, "currency": "USD"}} if effect == "spend" else {}
    found = refused(effect=effect, scope="x", idempotent=idempotent, **cost)
    assert found.id == "agentweb.E028"
    assert "Idempotency-Key" in found.hint


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ({"title": ""}, "Leave it out"),
        ({"title": "a" * 101}, "Leave it out"),
        ({"title": 5}, "Leave it out"),
        ({"pages": "/cart"}, "pages=['/cart']"),
        ({"pages": ["cart"]}, "pages=['/cart']"),
        ({"pages": 5}, "pages=['/cart']"),
        ({"tags": "shopping"}, "tags=['shopping']"),
        ({"tags": [""]}, "tags=['shopping']"),
        ({"tags": [5]}, "tags=['shopping']"),
    ],
)
def test_words_that_are_no_texts_are_refused(words: dict[str, Any], hint: str) -> None:
    found = refused(**words)
    assert found.id == "agentweb.E029"
    assert found.dangerous is False
    assert hint in found.hint


@pytest.mark.parametrize("effect", ["write", "send", "delete"])
def test_an_effect_without_scope_is_warned_of(effect: str) -> None:
    found = warned(effect=effect)
    assert found.id == "agentweb.W010"
    assert found.dangerous is False
    assert "any valid grant of this site may call it" in found.message
    assert found.hint == "Give a scope like 'cart:write'."


def test_a_spend_without_cost_is_warned_of() -> None:
    found = warned(**SPEND)
    assert found.id == "agentweb.W011"
    assert found.dangerous is False
    assert '{"field": "price", "currency": "USD"}' in found.hint


def test_a_read_by_post_is_warned_of() -> None:
    found = warned(method="POST")
    assert found.id == "agentweb.W012"
    assert found.dangerous is False
    assert found.hint == "Leave method out: its input fits into a query string."


class Order(TypedDict):
    price: Annotated[float, {"minimum": 0}]


@dataclass
class Basket:
    order: Order
    price: Decimal
    tip: Euros


Euros = NewType("Euros", float)


@pytest.mark.parametrize("field", ["/order/price", "tip"])
def test_a_cost_that_the_handler_gets_as_a_float_is_refused(field: str) -> None:
    found = refused(**{**SPEND, "input": Basket}, cost={"field": field, "currency": "EUR"})
    assert (found.id, found.dangerous) == ("agentweb.E020", True)
    assert f"{field!r} as a float" in found.message
    assert "Decimal" in found.hint
    assert declared(**{**SPEND, "input": Basket}, cost={"field": "price", "currency": "EUR"})[1] == []


def test_a_pattern_as_the_scope_of_an_action_is_told_apart() -> None:
    for scope in ("cart:*", "*"):
        found = refused(scope=scope)
        assert (found.id, found.dangerous) == ("agentweb.E013", True)
        assert found.hint.startswith("Patterns with * are for grants.")
    assert "*" not in refused(scope="Cart").hint


def test_an_input_that_nothing_describes_is_warned_of() -> None:
    def work(inp, ctx):  # type: ignore[no-untyped-def]
        """Work."""

    found, faults = declared(by=work)
    assert found is not None
    (fault,) = faults
    assert (fault.id, fault.dangerous) == ("agentweb.W013", False)
    assert "'inp'" in fault.message
    assert "(inp: CartLine)" in fault.hint
    assert "inp: None" in fault.hint
    assert declared(by=work, input={"type": "object"})[1] == []
    assert declared(by=work, input=dict)[1] == []


def test_an_action_may_say_that_it_takes_no_input() -> None:
    def typed(inp: None, ctx: Any) -> None:
        """Work."""

    for by in (lambda _, ctx: None, lambda _inp, ctx: None, typed):
        assert declared(by=by, description="Work.")[1] == []


def test_a_read_by_post_with_nested_input_has_no_other_way() -> None:
    assert declared(input={"type": "object", "properties": {"a": {"type": "object"}}}, method="POST")[1] == []


def test_all_faults_of_a_declaration_are_reported_at_once() -> None:
    _found, faults = declared(
        "Bad Name",
        by=lambda: None,
        effect="spend",
        scope="*",
        input=PRICE,
        cost=5,
        rate=1,
        path="x",
    )
    assert sorted(each.id for each in faults) == [
        "agentweb.E012",
        "agentweb.E013",
        "agentweb.E018",
        "agentweb.E020",
        "agentweb.E021",
        "agentweb.E024",
        "agentweb.E026",
    ]


def test_an_action_with_an_error_is_not_published_and_does_not_raise() -> None:
    with registry.only():
        assert action("thing", effect="nonsense")(handler) is handler
        assert registry.get("thing") is None


def test_ids_are_given_once() -> None:
    assert len({str(each) for each in FaultId}) == len(FaultId)
    assert all(str(each).startswith("agentweb.E") for each in DANGEROUS)
