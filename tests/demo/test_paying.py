"""What agents pay goes to the test provider, which moves no money; and the policy about giving it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from agentweb.client import AgentClient, KeyStore
from tests.demo.shopping import Shop, Shopper


def client_of(agent: Shopper, folder: Path) -> AgentClient:
    client = AgentClient(KeyStore(folder / "agent.json", key=agent.key))
    client.add_grant(agent.grant)
    return client


def booked(shop: Shop, order: dict[str, Any]) -> tuple[list[int], list[int]]:
    """(taken, given back) in the provider's books."""
    found = shop.desk.ask("booked", receipt=order["receipt"])
    return found["taken"], found["given"]


def test_a_purchase_is_in_the_books_of_the_provider_and_a_part_goes_back_at_once(
    shop: Shop, tmp_path: Path
) -> None:
    agent = shop.agent("ada")
    order = agent.buys("hammer-claw-450", 2)
    assert booked(shop, order) == ([3980], [])
    with client_of(agent, tmp_path) as client:
        refund = client.refund(shop.origin, order["receipt"], "19.90", reason="One of them is bent.")
        assert refund.state == "done"
        kinds = [(each["kind"], each["amount"]) for each in client.receipts(shop.origin)]
    assert kinds == [("charge", "39.80"), ("refund", "19.90")]
    assert booked(shop, order) == ([3980], [1990])
    # What came back may be spent again.
    assert shop.desk.ask("spent", subject=agent.key.public) == 1990


@pytest.mark.parametrize(
    ("amount", "prepare"),
    [("20.01", None), ("5.00", "age"), ("5.00", "cancel")],
    ids=["much", "long-ago", "cancelled"],
)
def test_about_everything_else_the_staff_decide(
    shop: Shop, tmp_path: Path, amount: str, prepare: str | None
) -> None:
    agent = shop.agent("ada")
    order = agent.buys("hammer-claw-450", 2)
    if prepare == "age":
        shop.desk.ask("age", order_id=order["order_id"], hours=25)
    if prepare == "cancel":
        agent.does("cancel_order", order_id=order["order_id"])
    with client_of(agent, tmp_path) as client:
        assert client.refund(shop.origin, order["receipt"], amount, reason="Bent.").state == "pending"
    assert booked(shop, order) == ([3980], [])


@pytest.mark.parametrize("cents", [2, 3, 4, 5, 6, 7, 8])
def test_no_total_makes_the_provider_decline_or_hang(shop: Shop, cents: int) -> None:
    agent = shop.agent("ada")
    shop.desk.ask("price", slug="work-gloves-m", minor=700 + cents)
    try:
        assert booked(shop, agent.buys("work-gloves-m")) == ([700 + cents], [])
    finally:
        shop.desk.ask("price", slug="work-gloves-m", minor=740)


def test_that_no_money_moves_is_said_on_every_page_and_where_agents_pay(shop: Shop) -> None:
    assert "no money moves" in httpx.get(shop.origin, trust_env=False).text
    manifest = httpx.get(f"{shop.origin}/.well-known/agent-actions.json", trust_env=False).json()
    paying = [each for each in manifest["actions"] if each["effect"] == "spend"]
    assert {each["name"] for each in paying} == {"buy_in_bulk", "checkout", "checkout_jpy"}
    assert all("no money moves" in each["description"] for each in paying)
