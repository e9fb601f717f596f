import json

import pytest

from agentweb.agent_actions.manifest import manifest
from agentweb.catalog.flows import Flow, Step, flow
from agentweb.catalog.registry import registry
from agentweb.catalog.words import action

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
    assert entry == {
        "name": "add_to_cart",
        "description": "Add a product to the cart",
        "method": "POST",
        "path": "/api/cart",
        "effect": "write",
        "scope": "cart:write",
        "input": INPUT,
    }


def test_flows_come_out_as_they_were_written(catalog):
    text = {"type": "string"}
    declare("search_products", input={"type": "object", "required": ["query"], "properties": {"query": text}})
    declare("add_to_cart", effect="write", scope="cart:write", input=INPUT)
    declare(
        "checkout",
        effect="write",
        scope="checkout",
        input={"type": "object", "properties": {"cart_id": text}},
    )
    steps = [
        {"action": "search_products", "with": {"query": "$input.query"}},
        {
            "action": "add_to_cart",
            "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity"},
        },
        {"action": "checkout", "with": {"cart_id": "$steps.1.cart_id"}},
    ]
    flow("buy_product", steps=steps)
    [entry] = the_manifest(flows=registry.flows())["flows"]
    assert {name: entry[name] for name in ("name", "steps")} == {"name": "buy_product", "steps": steps}
    assert entry.keys() == {"name", "steps", "input"}
    assert entry["input"]["properties"] == {"query": text, "quantity": INPUT["properties"]["quantity"]}


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
        tags=["buy", "pay"],
    )
    declare(
        "tip", effect="spend", scope="tip", cost={"amount": 25, "currency": "USD"}, input={"type": "object"}
    )
    declare(
        "publish",
        effect="write",
        scope="p",
        consequential=True,
        idempotent=True,
        confirm="person",
        input={"type": "object"},
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
        "tags": ["buy", "pay"],
    }
    assert tip["cost"] == {"amount": 25, "currency": "USD"}
    assert (publish["consequential"], publish["idempotent"]) == (True, True)
    assert publish["confirm"] == "person"


@pytest.mark.parametrize("effect", ["read", "write", "send", "spend", "delete"])
def test_what_the_effect_implies_is_not_repeated(catalog, effect):
    declare("act", effect=effect, scope="s", input={"type": "object"})
    members = {"name", "description", "method", "path", "effect", "scope", "input"}
    assert the_manifest()["actions"][0].keys() == members


def test_an_example_is_listed_when_it_says_more_than_the_schema(catalog):
    declare("given", input=INPUT, example={"product_id": "tea-1", "quantity": 2})
    declare("made", input=INPUT)
    given, made = the_manifest()["actions"]
    assert given["example"] == {"product_id": "tea-1", "quantity": 2}
    assert "example" not in made


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
