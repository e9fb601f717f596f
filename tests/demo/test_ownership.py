"""Carts are one agent's working papers for one person; orders are the person's."""

from __future__ import annotations

import pytest

from agentweb.wire.signing import SigningKey
from tests.demo.shopping import Shop


def test_another_agent_cannot_see_or_order_a_cart(shop: Shop) -> None:
    ada, mallory = shop.agent("ada"), shop.agent("mallory")
    cart = ada.does("add_to_cart", product_id="earl-grey-100", quantity=1)
    assert mallory.does("cart") == {"carts": []}
    error = mallory.is_refused("checkout", cart_id=cart["cart_id"], price=cart["total"])
    made_up = mallory.is_refused("checkout", cart_id="ct_AAAAAAAAAAAAAAAAAAAAAA", price=cart["total"])
    assert (error["status"], error["code"]) == (404, "cart_not_found")
    # Nothing tells somebody else's id from one that never was.
    assert {**error, "request_id": ""} == {**made_up, "request_id": ""}
    assert ada.does("cart")["carts"] == [cart]


def test_two_agents_of_one_person_have_a_cart_each(shop: Shop) -> None:
    one, other = shop.agent("grace"), shop.agent("grace")
    cart = one.does("add_to_cart", product_id="earl-grey-100", quantity=1)
    assert other.does("cart") == {"carts": []}
    assert other.is_refused("checkout", cart_id=cart["cart_id"], price=100)["code"] == "cart_not_found"


def test_one_agent_of_two_persons_keeps_two_carts(shop: Shop) -> None:
    key = SigningKey.generate()
    for_ada, for_bob = shop.agent("ada-2", key=key), shop.agent("bob-2", key=key)
    cart = for_ada.does("add_to_cart", product_id="earl-grey-100", quantity=1)
    assert for_bob.does("cart") == {"carts": []}
    assert for_bob.is_refused("checkout", cart_id=cart["cart_id"], price=100)["code"] == "cart_not_found"
    order = for_ada.buys("earl-grey-100")
    assert for_bob.is_refused("order_status", order_id=order["order_id"])["code"] == "order_not_found"


def test_orders_of_a_person_are_seen_by_all_agents_of_that_person_only(shop: Shop) -> None:
    buyer, helper, stranger = shop.agent("edith"), shop.agent("edith"), shop.agent("mallory")
    order = buyer.buys("assam-second-flush-100", 2)
    assert helper.does("order_status", order_id=order["order_id"])["orders"] == [order]
    assert order in helper.does("order_status")["orders"]
    error = stranger.is_refused("order_status", order_id=order["order_id"])
    assert (error["status"], error["code"]) == (404, "order_not_found")
    assert stranger.is_refused("cancel_order", order_id=order["order_id"])["code"] == "order_not_found"
    assert order not in stranger.does("order_status")["orders"]


def test_orders_for_nobody_are_seen_by_their_agent_alone(shop: Shop) -> None:
    buyer, other = shop.agent(None), shop.agent(None)
    order = buyer.buys("jasmine-green-100")
    assert buyer.does("order_status")["orders"] == [order]
    assert other.does("order_status")["orders"] == []
    assert other.is_refused("cancel_order", order_id=order["order_id"])["code"] == "order_not_found"


def test_the_delivery_address_is_used_for_this_agent_and_person_only(shop: Shop) -> None:
    one, other = shop.agent("joan"), shop.agent("joan")
    address = {
        "recipient": "Joan",
        "street": "2 Hill Road",
        "postcode": "12345",
        "city": "Springfield",
        "country": "US",
    }
    told = one.does("set_delivery_address", address=address)
    assert told == {"delivery": "Joan\n2 Hill Road\n12345 Springfield\nUS"}
    assert one.buys("basil-seeds")["delivery"] == told["delivery"]
    assert other.buys("basil-seeds")["delivery"] == "kept for collection in the shop"


@pytest.mark.requirement("AA-6.15")
def test_a_grant_without_the_scope_is_not_enough(shop: Shop) -> None:
    reader = shop.agent("ada", scopes=("cart:read", "orders:read"), spending=None)
    error = reader.is_refused("add_to_cart", product_id="earl-grey-100", quantity=1)
    assert (error["status"], error["code"], error["required_scope"]) == (
        403,
        "insufficient_scope",
        ["cart:write"],
    )
