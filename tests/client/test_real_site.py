"""The client against the package's own site: both ends of the wire agree."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from agentweb import action, flow
from agentweb.access import approvals, grants, site_keys
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.client.agent import AgentClient
from agentweb.client.approvals.policy import ApprovalPolicy
from agentweb.client.errors import SiteError
from agentweb.client.keystore import KeyStore
from agentweb.models import Mandate
from agentweb.testing import clock, mandate
from agentweb.wire.errors import AgentError
from tests.site.models import Note

pytestmark = pytest.mark.django_db
ORIGIN = "https://shop.example"


class Lossy(httpx.BaseTransport):
    """Hands requests to the site in this process; loses the answers of the next ``lose`` requests."""

    def __init__(self) -> None:
        self.site = httpx.WSGITransport(get_wsgi_application())
        self.lose = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.site.handle_request(request)
        response.read()
        if self.lose:
            self.lose -= 1
            raise httpx.ReadError("The connection was lost.")
        return response


@pytest.fixture
def network() -> Iterator[Lossy]:
    # As Django's test client does: a request's end must not close the connection that holds the test's transaction.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield Lossy()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def agent(tmp_path: Path, network: Lossy) -> Iterator[AgentClient]:
    site_keys.ensure_active_key()
    published.forget()  # keys of another test
    with clock() as time, httpx.Client(transport=network) as http:
        yield AgentClient(
            KeyStore(tmp_path / "agent.json"),
            approval=ApprovalPolicy.never_ask(),
            http=http,
            allow_hosts=["shop.example"],
            attempts=2,
            sleep=time.forward,
        )


def issue(agent: AgentClient, *scopes: str, spending: str | None = None, **members: Any) -> str:
    chain = grants.issue(
        subject=agent.keystore.key.public,
        scopes=scopes,
        expires_in=3_600,
        site="shop.example",
        mandate=mandate(spending) if spending else None,
        **members,
    )
    return agent.add_grant([grant.document for grant in chain]).id


def refusal(agent: AgentClient, name: str, value: object) -> AgentError:
    with pytest.raises(AgentError) as caught:
        agent.call_action(ORIGIN, name, value)
    return caught.value


def test_read_without_a_grant(agent: AgentClient) -> None:
    assert agent.call_action(ORIGIN, "echo", {"text": "a b&c=é+%2F"}).value == {"text": "a b&c=é+%2F"}


@pytest.mark.requirement("AA-7.1", "AA-7.3")
def test_write_under_a_grant(agent: AgentClient) -> None:
    held = issue(agent, "notes:*")
    result = agent.call_action(ORIGIN, "write_note", {"text": "hello"})
    assert (result.grant, result.replayed) == (held, False)
    assert Note.objects.get().text == "hello"


def test_lost_answer_acts_once(agent: AgentClient, network: Lossy) -> None:
    issue(agent, "notes:*")
    agent.discover_actions(ORIGIN)
    network.lose = 1
    assert agent.call_action(ORIGIN, "write_note", {"text": "hello"}).replayed is True
    network.lose = 2
    assert refusal(agent, "write_note", {"text": "again"}).code == "site_unreachable"
    assert agent.call_action(ORIGIN, "write_note", {"text": "again"}).replayed is True
    assert Note.objects.count() == 2
    assert agent.pending() == []


def test_what_the_client_finds_invalid_the_site_never_sees(agent: AgentClient) -> None:
    issue(agent, "notes:*")
    problems = refusal(agent, "write_note", {"text": 5, "more": 1}).problems
    assert problems is not None
    assert [(problem["pointer"], problem["code"]) for problem in problems] == [
        ("/more", "unknown_field"),
        ("/text", "type"),
    ]
    assert not Note.objects.exists()


def test_error_of_the_action_comes_back_whole_and_settles(agent: AgentClient) -> None:
    issue(agent, "notes:*")
    error = refusal(agent, "write_and_refuse", {"text": "x"})
    assert isinstance(error, SiteError)
    assert (error.code, error.status, error.field, error.extra["left"]) == ("out_of_stock", 409, "text", 3)
    assert error.request_id is not None
    assert agent.pending() == []


def test_call_that_a_person_has_to_approve(agent: AgentClient) -> None:
    ann = User.objects.create_user("ann")
    issue(agent, "notes:*", user=ann)
    with registry.only():
        action(
            "publish", effect="send", scope="notes:write", description="Publish.", input={}, confirm="person"
        )(lambda inp, ctx: {"published": inp["text"]})
        for _ in range(2):
            error = refusal(agent, "publish", {"text": "x"})
            assert isinstance(error, SiteError)
            assert (error.code, error.status, error.retry_after) == ("needs_human", 428, 5)
            assert error.extra["approve_url"] == f"{ORIGIN}/agent-access/approvals/{error.extra['approval']}"
            assert agent.pending() == []
        approvals.approve(error.extra["approval"], by=ann)
        assert agent.call_action(ORIGIN, "publish", {"text": "x"}).value == {"published": "x"}
        denied = refusal(agent, "publish", {"text": "y"}).extra["approval"]
        approvals.deny(denied, by=ann)
        assert refusal(agent, "publish", {"text": "y"}).code == "approval_denied"
    published.forget()


def test_crash_of_the_action_leaves_the_intent_open(agent: AgentClient) -> None:
    issue(agent, "notes:*")
    assert refusal(agent, "write_and_crash", {"text": "x"}).code == "handler_error"
    (first,) = agent.pending()
    # Repeating is safe: the same key, which the site has freed, so that the action runs again.
    error = refusal(agent, "write_and_crash", {"text": "x"})
    assert (error.code, "Idempotent-Replayed" in error.headers) == ("handler_error", False)
    assert [call.key for call in agent.pending()] == [first.key]
    assert not Note.objects.exists()


def test_money_from_the_mandate_to_the_receipts(agent: AgentClient) -> None:
    held = issue(agent, "shop:pay", spending="USD:50.00/60.00")
    result = agent.call_action(ORIGIN, "pay", {"item": "tea", "price": Decimal("19.90")})
    (receipt,) = agent.receipts(ORIGIN)
    assert isinstance(result.value, dict)
    assert (receipt["id"], receipt["amount"], receipt["grant"]) == (result.value["receipt"], "19.90", held)
    assert agent.verify_receipt(ORIGIN, receipt) is None
    assert agent.keystore.site("shop.example").spent == {held: 19_90}


def test_lost_answer_of_a_payment_is_one_charge_and_one_receipt(agent: AgentClient, network: Lossy) -> None:
    held = issue(agent, "shop:pay", spending="USD:50.00/60.00")
    agent.discover_actions(ORIGIN)
    order = {"item": "tea", "price": Decimal("19.90")}
    network.lose = 2
    assert refusal(agent, "pay", order).code == "site_unreachable"
    result = agent.call_action(ORIGIN, "pay", order)
    assert result.replayed
    assert isinstance(result.value, dict)
    assert [(each["id"], each["amount"]) for each in agent.receipts(ORIGIN)] == [
        (result.value["receipt"], "19.90")
    ]
    assert agent.keystore.site("shop.example").spent == {held: 19_90}
    assert [row.spent for row in Mandate.objects.all()] == [19_90]
    # 40.10 is left, and the client knows.
    assert refusal(agent, "pay", {"item": "tea", "price": Decimal("40.11")}).code == "grant_required"
    agent.call_action(ORIGIN, "pay", {"item": "tea", "price": Decimal("40.10")})
    assert [each["amount"] for each in agent.receipts(ORIGIN)] == ["19.90", "40.10"]


def test_site_tells_what_is_left_when_the_client_does_not_know(agent: AgentClient) -> None:
    held = issue(agent, "shop:pay", spending="USD:50.00/60.00")
    for _ in range(2):
        agent.call_action(ORIGIN, "pay", {"item": "tea", "price": 25})
    error = refusal(agent, "pay", {"item": "tea", "price": 25})
    assert (error.code, error.extra["remaining"]) == ("mandate_exceeded", "10.00")
    assert agent.keystore.site("shop.example").spent == {held: 50_00}
    assert refusal(agent, "pay", {"item": "tea", "price": 25}).code == "grant_required"


def test_revoked_grant_is_not_used_again(agent: AgentClient) -> None:
    held = issue(agent, "notes:*")
    grants.revoke(held)
    assert refusal(agent, "write_note", {"text": "x"}).code == "grant_revoked"
    assert refusal(agent, "write_note", {"text": "x"}).code == "grant_required"


def test_one_time_grant_is_used_once(agent: AgentClient) -> None:
    issue(agent, "notes:*", one_time=True)
    agent.call_action(ORIGIN, "write_note", {"text": "x"})
    assert refusal(agent, "write_note", {"text": "y"}).code == "grant_required"


@pytest.mark.requirement("AA-2.31")
def test_flow_of_the_specification_is_published_unchanged_and_runs(agent: AgentClient) -> None:
    issue(agent, "cart:write")
    paying = issue(agent, "checkout", spending="USD:50.00/60.00")
    steps = [
        {"action": "search_products", "with": {"query": "$input.query"}},
        {
            "action": "add_to_cart",
            "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity"},
        },
        {"action": "checkout", "with": {"cart_id": "$steps.1.cart_id"}},
    ]

    def needs(**members: str) -> dict[str, Any]:
        properties = {name: {"type": kind} for name, kind in members.items()}
        return {"type": "object", "required": list(members), "properties": properties}

    with registry.only():
        action("search_products", effect="read", description="Search.", input=needs(query="string"))(
            lambda inp, ctx: {"items": [{"id": f"sku-{inp['query']}"}]}
        )
        action(
            "add_to_cart",
            effect="write",
            scope="cart:write",
            description="Add.",
            input=needs(product_id="string", quantity="integer"),
        )(lambda inp, ctx: {"cart_id": f"{inp['quantity']} {inp['product_id']}"})
        action(
            "checkout",
            effect="spend",
            scope="checkout",
            description="Pay.",
            cost={"amount": 25, "currency": "USD"},
            input=needs(cart_id="string"),
        )(lambda inp, ctx: {"order_id": ctx.charge(25, "USD", item=inp["cart_id"])["id"]})
        flow("buy_product", steps=steps)
        published.forget()
        manifest = agent.discover_actions(ORIGIN)
        assert manifest.flows["buy_product"].steps == steps
        result = agent.run_flow(ORIGIN, "buy_product", {"query": "tea", "quantity": 2})
    published.forget()
    (receipt,) = agent.receipts(ORIGIN)
    assert result.value == {"order_id": receipt["id"]}
    assert (receipt["item"], receipt["grant"]) == ("2 sku-tea", paying)


def test_refunds_of_the_site_and_what_the_mandate_has_again(agent: AgentClient, settings: Any) -> None:
    issue(agent, "shop:pay", spending="USD:50.00/60.00")
    agent.call_action(ORIGIN, "pay", {"item": "tea", "price": Decimal("19.90")})
    (paid,) = agent.receipts(ORIGIN)
    waiting = agent.refund(ORIGIN, paid["id"], "5.00", reason="Too bitter.")
    assert (waiting.is_pending, waiting.state, waiting.receipt) == (True, "pending", None)
    assert waiting.id is not None
    assert agent.refund_state(ORIGIN, waiting.id).is_pending is True
    with pytest.raises(SiteError) as caught:
        agent.refund(ORIGIN, paid["id"], "20.00", reason="Too bitter.")
    assert caught.value.code in {"refund_exceeds_charge", "conflict"}
    assert agent.pending() == []


def test_refund_that_a_policy_gives_at_once(agent: AgentClient, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "REFUND_POLICY": "tests.client.test_real_site.approve"}
    issue(agent, "shop:pay", spending="USD:50.00/60.00")
    agent.call_action(ORIGIN, "pay", {"item": "tea", "price": Decimal("19.90")})
    (paid,) = agent.receipts(ORIGIN)
    given = agent.refund(ORIGIN, paid["id"], reason="Too bitter.")
    assert (given.state, given.is_pending) == ("done", False)
    assert given.receipt is not None
    assert (given.receipt["amount"], given.receipt["refund_of"]) == ("19.90", paid["id"])
    assert agent.grants()[0]["mandate"]["remaining"] == "60.00"
    assert given.id is not None
    assert agent.refund_state(ORIGIN, given.id).state == "done"
    assert [each["kind"] for each in agent.receipts(ORIGIN)] == ["charge", "refund"]
    assert agent.grants()[0]["mandate"]["remaining"] == "60.00"


def approve(receipt: Any, amount: Any, ctx: Any) -> str:
    return "approve"
