"""Prices that agents negotiate, and the purchase that uses an agreement up."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentweb.client import AgentClient
from agentweb.client.negotiating import Negotiation
from tests.demo.shopping import Shop
from tests.demo.test_paying import client_of

GLUE = {"product_id": "wood-glue-250", "quantity": 10}
LIST_PRICE = Decimal("56.00")


def agreed(client: AgentClient, origin: str, terms: dict[str, Any]) -> Decimal:
    """The price that comes of a low offer."""
    talk = client.negotiate(origin, terms, "40.00", "USD")
    talk = talk if talk.agreement else talk.accept()
    assert talk.agreement is not None
    return Decimal(talk.agreement["price"])


def test_an_agreement_is_the_price_of_one_purchase_and_the_next_costs_the_list_price(
    shop: Shop, tmp_path: Path
) -> None:
    agent = shop.agent("ada")
    before = shop.desk.ask("stock", slug="wood-glue-250")
    with client_of(agent, tmp_path) as client:
        price = agreed(client, shop.origin, GLUE)
        assert LIST_PRICE * Decimal("0.85") < price < LIST_PRICE
        order = agent.does("buy_in_bulk", **GLUE, price=56)
        assert Decimal(str(order["total"])) == price
        [receipt] = client.receipts(shop.origin)
    assert (receipt["amount"], receipt["agreement"][:3]) == (str(price), "ag_")
    assert receipt["item"] == "10 x Wood glue, 250 ml"
    assert order["lines"] == [
        {"product_id": "wood-glue-250", "name": "Wood glue, 250 ml", "quantity": 10, "price": 5.6}
    ]
    assert agent.does("buy_in_bulk", **GLUE, price=56)["total"] == 56
    assert shop.desk.ask("stock", slug="wood-glue-250") == before - 20
    page = shop.browser("ada").open("/orders")
    assert page.count("as your agent agreed with us") == 1


def test_an_agreement_about_other_terms_is_not_the_price(shop: Shop, tmp_path: Path) -> None:
    agent = shop.agent("ada")
    with client_of(agent, tmp_path) as client:
        agreed(client, shop.origin, GLUE)
    assert agent.does("buy_in_bulk", **{**GLUE, "quantity": 9}, price=56)["total"] == 50.4


def test_a_price_below_the_agreed_one_buys_nothing(shop: Shop, tmp_path: Path) -> None:
    agent = shop.agent("ada")
    before = shop.desk.ask("stock", slug="wood-glue-250")
    with client_of(agent, tmp_path) as client:
        price = agreed(client, shop.origin, GLUE)
    error = agent.is_refused("buy_in_bulk", **GLUE, price=40)
    assert (error["status"], error["code"], error["amount"]) == (409, "cost_mismatch", str(price))
    assert shop.desk.ask("stock", slug="wood-glue-250") == before
    # The agreement is still there.
    assert Decimal(str(agent.does("buy_in_bulk", **GLUE, price=56)["total"])) == price


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({**GLUE, "quantity": 4}, "from 5 to 20"),
        ({**GLUE, "quantity": 21}, "from 5 to 20"),
        ({**GLUE, "quantity": "10"}, "whole number"),
        ({**GLUE, "quantity": True}, "whole number"),
        ({"product_id": "wood-glue-250"}, "whole number"),
        ({**GLUE, "colour": "blue"}, "nothing else"),
        ({**GLUE, "product_id": "no-such-thing"}, "no such product"),
        ({**GLUE, "product_id": ["wood-glue-250"]}, "no such product"),
        ({"product_id": "hojicha-100", "quantity": 10}, "JPY is not negotiated"),
    ],
    ids=["few", "many", "text", "true", "none", "more", "unknown", "list", "yen"],
)
def test_what_is_not_negotiated_about_is_said(
    shop: Shop, tmp_path: Path, terms: dict[str, Any], said: str
) -> None:
    with client_of(shop.agent("ada"), tmp_path) as client:
        talk: Negotiation = client.negotiate(shop.origin, terms, "40.00", "USD")
    assert (talk.state, talk.agreement) == ("rejected", None)
    assert said in talk.json()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({**GLUE, "product_id": "hojicha-100"}, "wrong_currency"),
        ({**GLUE, "product_id": "no-such-thing"}, "product_not_found"),
        ({**GLUE, "quantity": 4}, "invalid_input"),
        ({"product_id": "bird-feeder-oak", "quantity": 20}, "out_of_stock"),
    ],
    ids=["yen", "unknown", "few", "short"],
)
def test_what_cannot_be_bought_so_is_refused_and_costs_nothing(
    shop: Shop, given: dict[str, Any], code: str
) -> None:
    agent = shop.agent("ada", spending="USD:1000.00/1000.00")
    assert agent.is_refused("buy_in_bulk", **given, price=1000)["code"] == code
    assert shop.desk.ask("spent", subject=agent.key.public) == 0
