import json

import pytest

from agentweb.agent_actions.manifest import manifest
from agentweb.catalog.actions import action
from agentweb.catalog.flows import Flow, Step
from agentweb.catalog.registry import registry

KEY = {"kid": "MEvZ2Aj17tpo3SBEHFFPvV72b3Qih3CH9nAKVNflovk", "kty": "OKP", "crv": "Ed25519", "x": "AAAA"}
INPUT = {
    "type": "object",
    "required": ["product_id", "quantity"],
    "properties": {
        "product_id": {"type": "string"},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 20},
    },
}


def handler(inp, ctx):
    return None


@pytest.fixture
def catalog():
    with registry.only() as empty:
        yield empty


def declare(name, **written):
    action(name, **{"description": "Words.", **written})(handler)
    found = registry.get(name)
    assert found is not None, registry.faults()
    return found


def the_manifest(**more):
    return manifest(
        **{
            "actions": registry.actions(),
            "flows": (),
            "site": "shop.example",
            "keys": [],
            "endpoints": {},
            **more,
        }
    )


def without(document, *names):
    return {name: value for name, value in document.items() if name not in names}


def test_the_specification_s_own_example_comes_out_member_for_member(catalog):
    declare(
        "add_to_cart",
        description="Add a product to the cart",
        effect="write",
        scope="cart:write",
        method="POST",
        path="/api/cart",
        input=INPUT,
    )
    document = the_manifest()
    [entry] = document["actions"]
    assert list(document) == ["version", "site", "auth", "actions", "flows"]
    assert document == {
        "version": "agent-actions/0.1",
        "site": "shop.example",
        "auth": {"type": "agent-grant"},
        "actions": [entry],
        "flows": [],
    }
    assert without(entry, "example") == {
        "name": "add_to_cart",
        "description": "Add a product to the cart",
        "method": "POST",
        "path": "/api/cart",
        "effect": "write",
        "scope": "cart:write",
        "input": INPUT,
    }


def test_flows_come_out_as_they_were_written(catalog):
    for name in ("search_products", "add_to_cart", "checkout"):
        declare(name, effect="read", input={"type": "object"}, method="POST")
    steps = [
        {"action": "search_products", "with": {"query": "$input.query"}},
        {
            "action": "add_to_cart",
            "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity"},
        },
        {"action": "checkout", "with": {"cart_id": "$steps.1.cart_id"}},
    ]
    written = Flow(
        name="buy_product",
        description="",
        input_schema={"type": "object"},
        steps=tuple(Step(step["action"], step["with"]) for step in steps),
    )
    document = the_manifest(flows=[written])
    assert document["flows"] == [{"name": "buy_product", "steps": steps, "input": {"type": "object"}}]


def test_everything_that_can_be_said_of_an_action_is_said_once(catalog):
    declare(
        "checkout",
        title="Pay for the cart",
        description="Order and pay.",
        effect="spend",
        scope="checkout",
        input={
            **INPUT,
            "properties": {**INPUT["properties"], "price": {"type": "number"}},
            "required": ["price"],
        },
        output={"type": "object", "properties": {"order_id": {"type": "string"}}},
        example={"price": 5},
        cost={"field": "price", "currency": "USD"},
        confirm="person",
        tags=["buy", "pay"],
    )
    declare(
        "tip", effect="spend", scope="tip", cost={"amount": 25, "currency": "USD"}, input={"type": "object"}
    )
    declare(
        "publish", effect="write", scope="p", consequential=True, idempotent=True, input={"type": "object"}
    )
    checkout, publish, tip = the_manifest()["actions"]
    assert checkout == {
        "name": "checkout",
        "description": "Order and pay.",
        "method": "POST",
        "path": "/agent/checkout",
        "effect": "spend",
        "scope": "checkout",
        "input": {
            "type": "object",
            "required": ["price"],
            "properties": {**INPUT["properties"], "price": {"type": "number"}},
        },
        "cost": {"field": "price", "currency": "USD"},
        "title": "Pay for the cart",
        "output": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        "example": {"price": 5},
        "confirm": "person",
        "tags": ["buy", "pay"],
    }
    assert tip["cost"] == {"amount": 25, "currency": "USD"}
    assert (publish["consequential"], publish["idempotent"]) == (True, True)


@pytest.mark.parametrize("effect", ["read", "write", "send", "spend", "delete"])
def test_what_the_effect_implies_is_not_repeated(catalog, effect):
    declare("act", effect=effect, scope="s", input={"type": "object"}, example={})
    assert the_manifest()["actions"][0].keys() == {
        *("name", "description", "method", "path", "effect", "scope", "input", "example")
    }


def test_an_action_without_scope_or_cost_has_neither_member(catalog):
    declare("look", input={"type": "object"})
    assert not {"scope", "cost"} & the_manifest()["actions"][0].keys()


def test_keys_and_endpoints_are_there_when_they_exist(catalog):
    document = the_manifest(keys=[KEY], endpoints={"receipts": "https://shop.example/agent-actions/receipts"})
    assert document["keys"] == [KEY]
    assert document["endpoints"] == {"receipts": "https://shop.example/agent-actions/receipts"}


def test_a_prefix_stands_before_every_path(catalog):
    declare("look", input={"type": "object"})
    declare("order", input={**INPUT, "required": ["product_id"]}, path="/orders/{product_id}")
    assert [entry["path"] for entry in the_manifest(prefix="/shop")["actions"]] == [
        "/shop/agent/look",
        "/shop/orders/{product_id}",
    ]


def test_a_flow_with_an_unseen_action_is_not_mentioned(catalog):
    declare("look", input={"type": "object"})
    seen = Flow(name="a", description="Words.", input_schema={}, steps=(Step("look", {}),), output="$steps.0")
    unseen = Flow(name="b", description="", input_schema={}, steps=(Step("look", {}), Step("secret", {})))
    document = the_manifest(flows=[seen, unseen])
    assert [entry["name"] for entry in document["flows"]] == ["a"]
    assert document["flows"][0]["description"] == "Words."
    assert document["flows"][0]["output"] == "$steps.0"
    assert "secret" not in json.dumps(document)
