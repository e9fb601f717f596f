"""Flows: their static checks, and the input that is derived from their actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest

from agentweb import action, flow
from agentweb.catalog.faults import Fault
from agentweb.catalog.flows import Flow, Step
from agentweb.catalog.registry import registry
from agentweb.wire.schema import compile_schema
from tests.catalog.declarations import handler
from tests.catalog.typed import Node

SEARCH = {
    "type": "object",
    "properties": {"query": {"type": "string", "minLength": 1}, "limit": {"type": "integer"}},
    "required": ["query"],
    "additionalProperties": False,
}
ADD = {
    "type": "object",
    "properties": {
        "product_id": {"type": "string"},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
        "note": {"type": "string"},
    },
    "required": ["product_id", "quantity"],
}
CHECKOUT = {"type": "object", "properties": {"cart_id": {"type": "string"}}, "required": ["cart_id"]}
BUY = [
    {"action": "search_products", "with": {"query": "$input.query"}},
    {"action": "add_to_cart", "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity"}},
    {"action": "checkout", "with": {"cart_id": "$steps.1.cart_id"}},
]


class Query(TypedDict):
    query: str


@dataclass
class Tree:
    root: Node


def declare_shop() -> None:
    action("search_products", input=SEARCH)(handler)
    action("add_to_cart", input=ADD, effect="write", scope="cart:write")(handler)
    action("checkout", input=CHECKOUT, effect="write", scope="checkout")(handler)


def made(steps: Any = BUY, name: Any = "buy_product", **words: Any) -> tuple[Flow | None, list[Fault]]:
    """The flow in a shop of three actions, if it holds, and its faults."""
    with registry.only():
        flow(name, steps=steps, **words)
        declare_shop()
        flows = registry.flows()
        return (flows[0] if flows else None), registry.faults()


def held(steps: Any = BUY, **words: Any) -> Flow:
    found, faults = made(steps, **words)
    assert found is not None, faults
    assert faults == []
    return found


def refused(steps: Any = BUY, **words: Any) -> Fault:
    found, faults = made(steps, **words)
    assert found is None
    assert len(faults) == 1, faults
    return faults[0]


def test_the_specification_s_own_flow_is_kept_unchanged_and_its_input_is_derived() -> None:
    found = held()
    assert found.name == "buy_product"
    assert found.description == ""
    assert [{"action": step.action, "with": step.with_} for step in found.steps] == BUY
    assert found.output is None
    assert found.input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
        },
        "required": ["query", "quantity"],
        "additionalProperties": False,
    }


def test_a_flow_may_be_declared_before_its_actions() -> None:
    with registry.only():
        flow("buy_product", steps=BUY)
        assert [found.id for found in registry.faults()] == ["agentweb.E033"] * 3
        assert registry.flows() == ()
        declare_shop()
        assert registry.faults() == []
        assert [found.name for found in registry.flows()] == ["buy_product"]


def test_flows_are_sorted_by_name() -> None:
    with registry.only():
        declare_shop()
        for name in ("b", "a"):
            flow(name, steps=BUY)
        assert [found.name for found in registry.flows()] == ["a", "b"]


def test_a_step_without_input_gives_none() -> None:
    with registry.only():
        action("ping")(handler)
        flow("twice", steps=({"action": "ping"}, {"action": "ping", "with": {}}))
        (found,) = registry.flows()
    assert found.steps == (Step("ping", {}), Step("ping", {}))
    assert found.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_what_is_given_cannot_be_changed_later() -> None:
    steps = [{"action": "search_products", "with": {"query": "$input.query"}}]
    found = held(steps)
    steps[0]["with"] = {"query": 5}
    assert found.steps[0].with_ == {"query": "$input.query"}


def test_a_member_used_in_two_places_must_fit_both() -> None:
    found = held(
        [
            {"action": "search_products", "with": {"query": "$input.text"}},
            {"action": "search_products", "with": {"query": "$input.text"}},
            {"action": "add_to_cart", "with": {"product_id": "$input.text", "quantity": 1}},
        ]
    )
    assert found.input_schema["properties"] == {
        "text": {"allOf": [{"type": "string", "minLength": 1}, {"type": "string"}]}
    }


def test_a_member_is_required_unless_every_use_may_be_left_out() -> None:
    found = held(
        [
            {"action": "search_products", "with": {"query": "$input.query", "limit": "$input.limit?"}},
            {
                "action": "add_to_cart",
                "with": {"product_id": "a", "quantity": "$input.quantity", "note": "$input.query?"},
            },
        ]
    )
    assert found.input_schema["required"] == ["query", "quantity"]
    assert found.input_schema["properties"]["limit"] == {"type": "integer"}


def test_references_into_the_input_derive_nested_objects() -> None:
    words = {"query": "$input.words.first", "limit": "$input.words.limit?"}
    line = {"product_id": '$input["a.b"]', "quantity": "$input.list.0", "note": "$input.more.1?"}
    found = held([{"action": "search_products", "with": words}, {"action": "add_to_cart", "with": line}])
    assert found.input_schema == {
        "type": "object",
        "properties": {
            "words": {
                "type": "object",
                "properties": {"first": {"type": "string", "minLength": 1}, "limit": {"type": "integer"}},
                "required": ["first"],
                "additionalProperties": False,
            },
            "a.b": {"type": "string"},
            "list": {},
            "more": {},
        },
        "required": ["words", "a.b", "list"],
        "additionalProperties": False,
    }


def test_the_whole_input_may_be_handed_on() -> None:
    found = held([{"action": "search_products", "with": "$input"}])
    assert found.input_schema == SEARCH
    both = held(
        [
            {"action": "add_to_cart", "with": "$input"},
            {"action": "search_products", "with": {"query": "$input.note"}},
        ]
    )
    assert both.input_schema == {
        "type": "object",
        "allOf": [
            ADD,
            {
                "type": "object",
                "properties": {"note": {"type": "string", "minLength": 1}},
                "required": ["note"],
            },
        ],
    }


def test_definitions_come_along_under_the_action_s_name() -> None:
    with registry.only():
        action("plant", input=Tree, effect="write", scope="x")(handler)
        flow("garden", steps=[{"action": "plant", "with": {"root": "$input.node"}}])
        flow(
            "deep",
            steps=[{"action": "plant", "with": {"root": {"value": "$input.n", "next": "$input.next?"}}}],
        )
        deep, garden = registry.flows()
    assert garden.input_schema["properties"] == {"node": {"$ref": "#/$defs/plant.Node"}}
    assert list(garden.input_schema["$defs"]) == ["plant.Node"]
    assert deep.input_schema["properties"]["n"] == {"type": "integer"}
    for found in (garden, deep):
        compiled = compile_schema(found.input_schema)
        value = (
            {"node": {"value": 1, "next": {"value": 2}}}
            if found is garden
            else {"n": 1, "next": {"value": 2}}
        )
        assert compiled.is_valid(value)
    assert not compile_schema(garden.input_schema).is_valid({"node": {"value": 1, "next": {}}})


def test_references_that_make_no_sense_elsewhere_are_not_copied() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"$ref": "#/properties/a"},
            "c": {"type": "array", "items": {"$ref": "#"}},
        },
    }
    with registry.only():
        action("odd", input=schema, effect="write", scope="x")(handler)
        flow("oddly", steps=[{"action": "odd", "with": {"b": "$input.b", "c": ["$input.c"]}}])
        (found,) = registry.flows()
    assert found.input_schema["properties"] == {"b": {}, "c": {}}


def test_references_in_lists_and_maps_find_their_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
            "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
        },
    }
    with registry.only():
        action("odd", input=schema, effect="write", scope="x")(handler)
        flow(
            "oddly",
            steps=[{"action": "odd", "with": {"pair": ["$input.a", "$input.b"], "map": {"x": "$input.c"}}}],
        )
        (found,) = registry.flows()
    assert found.input_schema["properties"] == {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": "boolean"},
    }


def test_an_own_input_is_kept() -> None:
    schema = {"type": "object", "properties": {"query": {"type": "string"}, "quantity": {"type": "integer"}}}
    assert held(input=schema).input_schema == schema
    found = held([{"action": "search_products", "with": {"query": "$input.query"}}], input=Query)
    assert found.input_schema == {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "additionalProperties": False,
    }


def test_an_output_may_name_every_step() -> None:
    output = {"cart": "$steps.1.cart_id", "order": "$steps.2", "asked": "$input.query"}
    assert held(output=output).output == output


def test_two_flows_with_one_name_are_refused() -> None:
    with registry.only():
        declare_shop()
        flow("buy_product", steps=BUY)
        flow("buy_product", steps=BUY[:1])
        (found,) = registry.faults()
        assert [len(each.steps) for each in registry.flows()] == [3]
    assert found.id == "agentweb.E030"
    assert found.dangerous is True
    assert found.hint == "Rename one of them; a flow's name is unique in the site."
    assert found.obj == "tests.catalog.test_flows: flow 'buy_product'"


@pytest.mark.parametrize("name", ["Buy", "", 5, None, "a" * 101, "buy-it"])
def test_a_bad_flow_name_is_refused(name: Any) -> None:
    found = refused(name=name)
    assert found.id == "agentweb.E031"
    assert found.dangerous is False
    assert "'buy_product'" in found.hint


@pytest.mark.parametrize(
    "steps",
    [
        (),
        None,
        "checkout",
        [5],
        [{"action": "checkout", "with": ["a"]}],
        [{"action": "checkout", "with": {"cart_id": object()}}],
        [{"action": "checkout", "with": {"cart_id": "a"}, "when": True}],
        [{"action": "search_products", "with": {"query": "a"}}] * 51,
    ],
)
def test_steps_that_are_none_are_refused(steps: Any) -> None:
    found = refused(steps)
    assert found.id == "agentweb.E032"
    assert found.dangerous is False
    assert '"with": {"quantity": "$input.quantity"}' in found.hint


def test_fifty_steps_are_allowed() -> None:
    assert len(held([{"action": "search_products", "with": {"query": "a"}}] * 50).steps) == 50


@pytest.mark.parametrize("step", [{"action": "vanish"}, {"action": 5}, {}])
def test_a_step_must_name_a_published_action(step: Any) -> None:
    found = refused([step])
    assert found.id == "agentweb.E033"
    assert found.dangerous is False
    assert "/steps/0/action" in found.message
    assert "is not published" in found.hint


@pytest.mark.parametrize(
    "reference", ["$price", "$input..a", "$steps.1.id", "$steps.5", "$steps.x", "$", "$input.a b", "$INPUT.a"]
)
def test_a_reference_must_be_one_and_look_back(reference: str) -> None:
    found = refused(
        [
            {"action": "search_products", "with": {"query": "a"}},
            {"action": "search_products", "with": {"query": reference}},
        ]
    )
    assert found.id == "agentweb.E034"
    assert found.dangerous is False
    assert found.message.startswith("/steps/1/with/query: ")
    assert "$steps.0.name" in found.hint


@pytest.mark.parametrize("output", ["$price", {"a": ["$steps.3.id"]}, "$steps.9"])
def test_a_reference_in_the_output_must_lead_to_a_step(output: Any) -> None:
    found = refused(output=output)
    assert found.id == "agentweb.E034"
    assert found.message.startswith("/output")


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({}, "/steps/0/with/query"),
        ({"query": "$input.query?"}, "/steps/0/with/query"),
        ({"query": "a", "colour": "red"}, "/steps/0/with/colour"),
        ({"query": ""}, "/steps/0/with/query"),
        ({"query": "a", "limit": "5"}, "/steps/0/with/limit"),
    ],
)
def test_a_step_must_give_what_its_action_takes(given: Any, pointer: str) -> None:
    found = refused([{"action": "search_products", "with": given}])
    assert found.id == "agentweb.E035"
    assert found.dangerous is False
    assert found.message.startswith(f"{pointer}: ")
    assert found.hint == "Give every required input of the action, and none that it does not take."


def test_a_doubled_dollar_is_a_literal() -> None:
    assert (
        held([{"action": "search_products", "with": {"query": "$$input"}}]).input_schema["properties"] == {}
    )


def test_a_closed_input_must_have_what_is_read_from_it() -> None:
    found = refused([{"action": "search_products", "with": {"query": "$input.words"}}], input=Query)
    assert found.id == "agentweb.E035"
    assert "words" in found.message


@pytest.mark.parametrize("schema", [{"type": "nothing"}, {"default": object()}, bytes, "text"])
def test_an_invalid_input_schema_is_refused(schema: Any) -> None:
    found = refused(input=schema)
    assert found.id == "agentweb.E036"
    assert found.dangerous is False
    assert found.hint == "Leave input out: it is derived from where the steps use it."


def test_an_output_that_is_not_json_is_refused() -> None:
    found = refused(output={"at": object()})
    assert found.id == "agentweb.E036"
    assert "output=" in found.hint


@pytest.mark.parametrize("description", [5, "a" * 1025, "  "])
def test_a_description_of_a_flow_is_a_short_text(description: Any) -> None:
    found = refused(description=description)
    assert found.id == "agentweb.E026"


def test_all_faults_of_a_flow_are_reported_at_once() -> None:
    _found, faults = made(
        [{"action": "vanish", "with": {"a": "$x"}}], name="X", description=5, input=bytes, output="$x"
    )
    assert sorted(each.id for each in faults) == [
        "agentweb.E026",
        "agentweb.E031",
        "agentweb.E033",
        "agentweb.E034",
        "agentweb.E034",
        "agentweb.E036",
    ]


def test_a_resolved_flow_can_be_given_to_a_test() -> None:
    found = held()
    with registry.only(flows=(found,)):
        assert registry.flows() == (found,)
        assert registry.faults() == []
