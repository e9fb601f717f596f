"""Flows that the site runs: each step as if it were called alone, up to the first refusal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb import AgentError, action, flow
from agentweb.access import approvals, site_keys
from agentweb.access.models import Mandate as MandateRow
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.invoke.models import AuditEntry
from agentweb.ledger.models import Receipt
from agentweb.testing import TestAgent

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("many_callers")]
BUY = "/agent-actions/flows/buy_product"
WANTED = {"input": {"query": "tea", "quantity": 2}}
KEY = "a-run-of-its-own-1"


class Shop:
    def __init__(self) -> None:
        self.stock = 5
        self.added = 0


@pytest.fixture
def shop(settings: Any) -> Iterator[Shop]:
    settings.AGENTWEB = {"ORIGIN": "https://shop.example", "FLOWS_ON_SERVER": True}
    site_keys.ensure_active_key()
    shop = Shop()

    def needs(**members: str) -> dict[str, Any]:
        properties = {name: {"type": kind} for name, kind in members.items()}
        return {"type": "object", "required": list(members), "properties": properties}

    def add(inp: Any, ctx: Any) -> Any:
        shop.added += 1
        return {"cart_id": f"{inp['quantity']} {inp['product_id']}"}

    def pay(inp: Any, ctx: Any) -> Any:
        if not shop.stock:
            raise AgentError("out_of_stock", "Nothing is left.")
        shop.stock -= 1
        return {"order_id": ctx.charge(25, "USD", item=inp["cart_id"])["id"]}

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
        )(add)
        action(
            "checkout",
            effect="spend",
            scope="checkout",
            description="Pay.",
            cost={"amount": 25, "currency": "USD"},
            input=needs(cart_id="string"),
        )(pay)
        action("publish", effect="send", scope="cart:write", description="Tell.", input={}, confirm="person")(
            lambda inp, ctx: {"published": True}
        )
        flow(
            "buy_product",
            steps=[
                {"action": "search_products", "with": {"query": "$input.query"}},
                {
                    "action": "add_to_cart",
                    "with": {"product_id": "$steps.0.items.0.id", "quantity": "$input.quantity"},
                },
                {"action": "checkout", "with": {"cart_id": "$steps.1.cart_id"}},
            ],
        )
        flow("tell", steps=[{"action": "search_products", "with": {"query": "a"}}, {"action": "publish"}])
        published.forget()
        yield shop
    published.forget()


def buyer(**members: Any) -> TestAgent:
    return TestAgent(scopes=["cart:write", "checkout"], spending="USD:50.00/60.00", **members)


def test_a_flow_runs_with_a_receipt_and_a_row_for_each_step(shop: Shop) -> None:
    agent = buyer()
    answer = agent.post(BUY, WANTED, key=KEY)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    receipt = Receipt.objects.get()
    assert body["value"] == {"order_id": receipt.pk}
    assert [step["action"] for step in body["steps"]] == ["search_products", "add_to_cart", "checkout"]
    assert body["steps"][1]["output"] == {"cart_id": "2 sku-tea"}
    assert sorted(AuditEntry.objects.values_list("action", flat=True)) == [
        "add_to_cart",
        "checkout",
        "search_products",
    ]


def test_a_run_whose_answer_was_lost_pays_once(shop: Shop) -> None:
    agent = buyer()
    first, again = (agent.post(BUY, WANTED, key=KEY) for _ in range(2))
    assert first.json() == again.json()
    assert (Receipt.objects.count(), shop.added, shop.stock) == (1, 1, 4)
    assert MandateRow.objects.get().spent == 25_00


def test_a_refused_step_says_where_and_the_run_goes_on_with_what_was_completed(shop: Shop) -> None:
    agent = buyer()
    shop.stock = 0
    refused = agent.post(BUY, WANTED, key=KEY)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (409, "out_of_stock")
    assert (error["flow"], error["step"], error["action"]) == ("buy_product", 2, "checkout")
    assert [step["output"] for step in error["completed"]][1] == {"cart_id": "2 sku-tea"}
    shop.stock = 1
    # The answer to this step is kept under its key; tried anew it is under another run's.
    resume = {**error["resume"], "run": "another-run-of-it-1"}
    done = agent.post(BUY, {**WANTED, "resume": resume, "completed": error["completed"]})
    assert done.status_code == 200, done.content
    assert (shop.added, Receipt.objects.count()) == (1, 1)


def test_each_step_needs_what_it_would_need_alone(shop: Shop) -> None:
    agent = TestAgent(scopes=["cart:write"])
    refused = agent.post(BUY, WANTED, key=KEY)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["step"]) == (403, "insufficient_scope", 2)
    assert error["required_scope"] == ["checkout"] or error["required_scope"] == "checkout"
    assert Receipt.objects.count() == 0
    # What a caller says was completed gives nothing that calling alone would not.
    completed = [*error["completed"]]
    again = agent.post(BUY, {**WANTED, "resume": error["resume"], "completed": completed})
    assert again.json()["error"]["code"] == "insufficient_scope"


def test_a_flow_stops_where_a_person_has_to_approve_and_goes_on(shop: Shop) -> None:
    ann = User.objects.create_user("ann")
    agent = buyer(user=ann)
    asked = agent.post("/agent-actions/flows/tell", {"input": {}})
    error = asked.json()["error"]
    assert (asked.status_code, error["code"], error["step"]) == (428, "needs_human", 1)
    approvals.approve(error["approval"], by=ann)
    done = agent.post(
        "/agent-actions/flows/tell", {"resume": error["resume"], "completed": error["completed"]}
    )
    assert done.json()["value"] == {"published": True}


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"input": {"query": "tea"}}, ["/quantity"]),
        ({"input": {"query": 1, "quantity": "2"}}, ["/quantity", "/query"]),
        ({"inputs": {}}, ["/inputs"]),
        ({"input": {}, "resume": {"run": "x"}}, ["/resume"]),
        ({"input": {}, "completed": [{"step": 0}]}, ["/completed"]),
    ],
    ids=["missing", "types", "unknown", "resume", "completed"],
)
def test_what_is_wrong_with_the_body_is_said_and_nothing_runs(
    shop: Shop, body: dict[str, Any], pointers: list[str]
) -> None:
    refused = buyer().post(BUY, body, key=KEY)
    assert refused.status_code == 422
    assert sorted({each["pointer"] for each in refused.json()["error"]["problems"]}) == pointers
    assert AuditEntry.objects.count() == 0


def test_a_flow_that_spends_needs_a_key_and_another_manifest_ends_a_run(shop: Shop) -> None:
    agent = buyer()
    assert agent.post(BUY, WANTED, key=None).json()["error"]["code"] == "idempotency_key_required"
    resume = {"run": "a-run-of-its-own-1", "from": 0, "manifest": "sha256:0"}
    changed = agent.post(BUY, {**WANTED, "resume": resume, "completed": []})
    assert (changed.status_code, changed.json()["error"]["code"]) == (409, "manifest_changed")
    assert shop.added == 0


def test_a_flow_is_no_way_around_the_limit_for_callers(shop: Shop, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CALLER_RATE": (0.001, 2)}
    refused = buyer().post(BUY, WANTED, key=KEY)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["step"]) == (429, "rate_limited", 2)
    assert (error["retry_after"] > 0, shop.added, shop.stock) == (True, 1, 5)


def test_the_manifest_says_where_flows_run_only_when_they_do(shop: Shop, settings: Any) -> None:
    agent = buyer()
    manifest = agent.get("/.well-known/agent-actions.json").json()
    assert manifest["endpoints"]["flows"] == "https://shop.example/agent-actions/flows"
    assert agent.post("/agent-actions/flows/nothing", WANTED).status_code == 404
    settings.AGENTWEB = {"ORIGIN": "https://shop.example"}
    published.forget()
    assert "flows" not in agent.get("/.well-known/agent-actions.json").json()["endpoints"]
    assert agent.post(BUY, WANTED, key=KEY).status_code == 404
    assert shop.added == 0
