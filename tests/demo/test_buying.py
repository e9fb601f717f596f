"""From cart to order: what is charged, what is refused, and what is left afterwards."""

from __future__ import annotations

import pytest

from tests.demo.shopping import Shop


@pytest.mark.requirement("AA-6.6")
def test_a_cart_becomes_an_order_that_is_paid_and_taken_from_stock(shop: Shop) -> None:
    agent = shop.agent("ada")
    before = shop.desk.ask("stock", slug="tape-measure-5m")
    agent.does("add_to_cart", product_id="tape-measure-5m", quantity=1)
    cart = agent.does("add_to_cart", product_id="tape-measure-5m", quantity=2)
    assert (cart["lines"][0]["quantity"], cart["total"]) == (3, 26.7)
    order = agent.does("checkout", cart_id=cart["cart_id"], price=cart["total"])
    assert (order["state"], order["total"], order["currency"]) == ("placed", 26.7, "USD")
    assert order["lines"] == [
        {"product_id": "tape-measure-5m", "name": "Tape measure, 5 m", "quantity": 3, "price": 8.9}
    ]
    assert order["receipt"].startswith("rc_")
    assert shop.desk.ask("stock", slug="tape-measure-5m") == before - 3
    assert shop.desk.ask("spent", subject=agent.key.public) == 2670
    assert agent.does("cart") == {"carts": []}


def test_a_price_below_the_total_is_answered_with_the_real_one(shop: Shop) -> None:
    agent = shop.agent("ada")
    cart = agent.does("add_to_cart", product_id="wood-glue-250", quantity=1)
    error = agent.is_refused("checkout", cart_id=cart["cart_id"], price=5)
    assert (error["status"], error["code"], error["field"]) == (409, "cost_mismatch", "price")
    assert (error["amount"], error["currency"]) == ("5.60", "USD")
    assert shop.desk.ask("spent", subject=agent.key.public) == 0
    assert agent.does("cart")["carts"] == [cart]
    assert agent.does("checkout", cart_id=cart["cart_id"], price=5.6)["state"] == "placed"


def test_a_price_above_the_total_is_a_ceiling_and_not_what_is_charged(shop: Shop) -> None:
    agent = shop.agent("ada")
    cart = agent.does("add_to_cart", product_id="wood-glue-250", quantity=1)
    assert agent.does("checkout", cart_id=cart["cart_id"], price=100)["total"] == 5.6
    assert shop.desk.ask("spent", subject=agent.key.public) == 560


def test_a_cart_is_ordered_once(shop: Shop) -> None:
    agent = shop.agent("ada")
    cart = agent.does("add_to_cart", product_id="basil-seeds", quantity=1)
    order = agent.does("checkout", cart_id=cart["cart_id"], price=cart["total"])
    error = agent.is_refused("checkout", cart_id=cart["cart_id"], price=cart["total"])
    assert (error["status"], error["code"]) == (409, "cart_already_ordered")
    assert error["order_id"] == order["order_id"]
    assert shop.desk.ask("spent", subject=agent.key.public) == 240


def test_the_same_key_answers_from_the_record(shop: Shop) -> None:
    agent = shop.agent("ada")
    cart = agent.does("add_to_cart", product_id="basil-seeds", quantity=1)
    purchase = {"cart_id": cart["cart_id"], "price": cart["total"], "key": "the-same-key-twice"}
    assert agent.does("checkout", **purchase) == agent.does("checkout", **purchase)
    assert shop.desk.ask("spent", subject=agent.key.public) == 240


def test_yen_are_paid_by_their_own_action_without_decimals(shop: Shop) -> None:
    agent = shop.agent("ada", spending="JPY:5000/5000")
    cart = agent.does("add_to_cart", product_id="hojicha-100", quantity=2)
    assert (cart["total"], cart["currency"]) == (2400, "JPY")
    wrong = agent.is_refused("checkout_jpy", cart_id=cart["cart_id"], price=2400.5)
    assert (wrong["status"], wrong["code"], wrong["reason"]) == (422, "amount_invalid", "precision")
    order = agent.does("checkout_jpy", cart_id=cart["cart_id"], price=2400)
    assert (order["total"], order["currency"]) == (2400, "JPY")
    assert shop.desk.ask("spent", subject=agent.key.public) == 2400


def test_a_yen_cart_is_sent_to_the_yen_checkout(shop: Shop) -> None:
    agent = shop.agent("ada")
    cart = agent.does("add_to_cart", product_id="hojicha-100", quantity=1)
    error = agent.is_refused("checkout", cart_id=cart["cart_id"], price=20)
    assert (error["code"], error["field"], error["currency"]) == ("wrong_currency", "cart_id", "JPY")
    assert "checkout_jpy" in error["message"]


def test_dollars_and_yen_are_two_carts(shop: Shop) -> None:
    agent = shop.agent("ada")
    agent.does("add_to_cart", product_id="hojicha-100", quantity=1)
    agent.does("add_to_cart", product_id="basil-seeds", quantity=1)
    assert [cart["currency"] for cart in agent.does("cart")["carts"]] == ["JPY", "USD"]


@pytest.mark.requirement("AA-6.7")
def test_more_than_the_mandate_is_refused_and_nothing_happens(shop: Shop) -> None:
    agent = shop.agent("ada", spending="USD:10.00/10.00")
    before = shop.desk.ask("stock", slug="bird-feeder-oak")
    cart = agent.does("add_to_cart", product_id="bird-feeder-oak", quantity=1)
    error = agent.is_refused("checkout", cart_id=cart["cart_id"], price=cart["total"])
    assert (error["status"], error["code"], error["remaining"]) == (403, "mandate_exceeded", "10.00")
    assert shop.desk.ask("stock", slug="bird-feeder-oak") == before
    assert agent.does("cart")["carts"] == [cart]


def test_a_cart_holds_at_most_twenty_of_one_product(shop: Shop) -> None:
    agent = shop.agent("ada")
    agent.does("add_to_cart", product_id="basil-seeds", quantity=15)
    error = agent.is_refused("add_to_cart", product_id="basil-seeds", quantity=6)
    assert (error["code"], error["held"], error["limit"]) == ("quantity_limit", 15, 20)
    assert "at most 5 more" in error["message"]
    assert agent.is_refused("add_to_cart", product_id="basil-seeds", quantity=21)["code"] == "invalid_input"


def test_more_than_is_left_is_answered_with_what_is_left(shop: Shop) -> None:
    agent = shop.agent("ada")
    shop.desk.ask("set_stock", slug="book-night-sky-atlas", left=3)
    error = agent.is_refused("add_to_cart", product_id="book-night-sky-atlas", quantity=4)
    assert (error["status"], error["code"], error["field"]) == (409, "out_of_stock", "quantity")
    assert error["unavailable"] == [{"product_id": "book-night-sky-atlas", "wanted": 4, "left": 3}]
    assert "3 left" in error["message"]


def test_stock_that_went_while_the_cart_was_full_is_said_at_the_checkout(shop: Shop) -> None:
    agent = shop.agent("ada")
    agent.does("add_to_cart", product_id="book-knots", quantity=3)
    cart = agent.does("add_to_cart", product_id="book-plain-letters", quantity=2)
    shop.desk.ask("set_stock", slug="book-knots", left=1)
    plain = shop.desk.ask("stock", slug="book-plain-letters")
    error = agent.is_refused("checkout", cart_id=cart["cart_id"], price=cart["total"])
    assert error["unavailable"] == [{"product_id": "book-knots", "wanted": 3, "left": 1}]
    assert shop.desk.ask("stock", slug="book-plain-letters") == plain
    # The cart is still there, and can be put right.
    cart = agent.does("change_cart", product_id="book-knots", quantity=1)
    assert agent.does("checkout", cart_id=cart["cart_id"], price=cart["total"])["state"] == "placed"


def test_an_emptied_cart_cannot_be_ordered(shop: Shop) -> None:
    agent = shop.agent("ada")
    agent.does("add_to_cart", product_id="basil-seeds", quantity=1)
    cart = agent.does("change_cart", product_id="basil-seeds", quantity=0)
    assert (cart["lines"], cart["total"]) == ([], 0)
    assert agent.is_refused("checkout", cart_id=cart["cart_id"], price=1)["code"] == "cart_empty"
    assert agent.does("cart") == {"carts": []}


def test_a_cancelled_order_returns_its_products_once(shop: Shop) -> None:
    agent = shop.agent("ada")
    before = shop.desk.ask("stock", slug="pruning-shears")
    order = agent.buys("pruning-shears", 2)
    for _ in range(2):
        assert agent.does("cancel_order", order_id=order["order_id"])["state"] == "cancelled"
        assert shop.desk.ask("stock", slug="pruning-shears") == before


def test_a_shipped_order_is_not_cancelled(shop: Shop) -> None:
    agent = shop.agent("ada")
    order = agent.buys("pruning-shears")
    shop.desk.ask("ship", order_id=order["order_id"])
    assert agent.is_refused("cancel_order", order_id=order["order_id"])["code"] == "order_shipped"
    [seen] = agent.does("order_status", order_id=order["order_id"])["orders"]
    assert seen["state"] == "shipped"


@pytest.mark.requirement("AA-2.13")
def test_every_problem_of_a_nested_address_has_its_pointer(shop: Shop) -> None:
    error = shop.agent("ada").is_refused(
        "set_delivery_address",
        address={
            "recipient": "",
            "street": "1 Row",
            "city": "Springfield",
            "country": "usa",
            "planet": "Mars",
        },
    )
    assert (error["status"], error["code"]) == (422, "invalid_input")
    assert [problem["pointer"] for problem in error["problems"]] == [
        "/address/country",
        "/address/planet",
        "/address/postcode",
        "/address/recipient",
    ]


def test_a_letter_reaches_the_staff_and_a_flood_does_not(shop: Shop) -> None:
    agent = shop.agent("ada")
    sent = agent.does(
        "contact_shop", topic="delivery", text="Before nine, please.", reply_to="ada@example.com"
    )
    assert sent["message_id"].startswith("cm_")
    assert ["delivery", "Before nine, please."] in shop.desk.ask("letters")
    answers = [agent("contact_shop", topic="other", text="Hello?")[0] for _ in range(6)]
    assert answers == [200] * 4 + [429] * 2
