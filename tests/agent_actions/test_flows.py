"""Flows that the site runs: each step as if it were called alone, up to the first refusal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb import AgentError, action, flow
from agentweb.access import approvals, revocations, site_keys
from agentweb.access.models import Grant
from agentweb.access.models import Mandate as MandateRow
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.invoke.models import AuditEntry
from agentweb.ledger.models import Receipt
from agentweb.testing import TestAgent, clock

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


def test_an_input_that_was_sent_bare_is_told_to_go_into_input(shop: Shop) -> None:
    refused = buyer().post(BUY, WANTED["input"], key=KEY)
    said = {each["field"]: each["message"] for each in refused.json()["error"]["problems"]}
    assert said == {
        name: f"There is no member '{name}' here; put it into 'input': {{\"input\": {{…}}}}."
        for name in ("query", "quantity")
    }
    assert AuditEntry.objects.count() == 0


def test_the_base_of_the_flows_lists_those_that_the_caller_may_run(shop: Shop, settings: Any) -> None:
    action("hidden", effect="read", description="No.", input={}, visible=lambda user: user.is_staff)(
        lambda inp, ctx: {}
    )
    flow("unseen", steps=[{"action": "hidden"}])
    answer = buyer().get("/agent-actions/flows")
    assert (answer.status_code, answer.json()["next_cursor"]) == (200, None)
    listed = {each["name"]: each for each in answer.json()["items"]}
    assert list(listed) == ["buy_product", "tell"]
    assert listed["tell"]["url"] == "https://shop.example/agent-actions/flows/tell"
    assert [step["action"] for step in listed["tell"]["steps"]] == ["search_products", "publish"]
    assert buyer().post("/agent-actions/flows", WANTED, key=KEY).status_code == 405
    settings.AGENTWEB = {"ORIGIN": "https://shop.example"}
    assert buyer().get("/agent-actions/flows").status_code == 404


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


def revoke(agent: TestAgent, ann: User) -> None:
    revocations.revoke(Grant.objects.get().pk)


def close_the_account(agent: TestAgent, ann: User) -> None:
    User.objects.filter(pk=ann.pk).update(is_active=False)


def let_time_pass(agent: TestAgent, ann: User) -> None:
    agent.moved.forward(7_200)  # type: ignore[attr-defined]


def change_the_password(agent: TestAgent, ann: User) -> None:
    ann.set_password("another")
    ann.save()


@pytest.mark.parametrize(
    ("is_session", "ending", "code"),
    [
        (False, revoke, "grant_revoked"),
        (False, close_the_account, "grant_revoked"),
        (False, let_time_pass, "grant_expired"),
        (True, revoke, "session_revoked"),
        (True, close_the_account, "session_revoked"),
        (True, let_time_pass, "session_expired"),
        (True, change_the_password, "session_revoked"),
    ],
    ids=[
        "revoked",
        "inactive",
        "over",
        "session-revoked",
        "session-inactive",
        "session-over",
        "session-password",
    ],
)
def test_a_flow_does_not_go_on_past_the_end_of_the_right_to_act(
    shop: Shop, is_session: bool, ending: Any, code: str
) -> None:
    ann = User.objects.create_user("ann")
    with registry.only(), clock() as moved:
        made = TestAgent.with_session if is_session else TestAgent
        agent = made(scopes=["cart:write"], user=ann, expires_in=3_600)
        agent.moved = moved  # type: ignore[attr-defined]
        action("look", effect="read", description="Look.", input={})(lambda inp, ctx: ending(agent, ann))
        done = action("act", effect="write", scope="cart:write", description="Act.", input={})
        done(lambda inp, ctx: setattr(shop, "added", 1))
        flow("long", steps=[{"action": "look"}, {"action": "act"}])
        published.forget()
        refused = agent.post("/agent-actions/flows/long", {"input": {}})
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["step"]) == (401, code, 1)
    assert shop.added == 0


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"input": {}}, "flow_reference_missing"),
        ({"input": {"text": "x", "more": "x"}, "completed": [None]}, "flow_reference_missing"),
        ({"input": {"text": "x", "more": "x" * 1_500_000}}, "flow_invalid"),
    ],
    ids=["left-out", "brought", "large"],
)
def test_what_the_steps_make_of_what_was_sent_is_no_crash_of_the_site(
    shop: Shop, settings: Any, sent: dict[str, Any], code: str
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "MAX_BODY_BYTES": 2_000_000}
    with registry.only():
        action("say", effect="read", description="Say.", input={}, method="POST")(lambda inp, ctx: inp)
        flow(
            "twice",
            input={"type": "object", "properties": {"text": {}, "more": {}}},
            steps=[
                {"action": "say", "with": {"text": "$input.text"}},
                {"action": "say", "with": {"a": "$steps.0.text", **dict.fromkeys("bcd", "$input.more")}},
            ],
        )
        published.forget()
        agent = buyer()
        place = "/agent-actions/flows/twice"
        if "completed" in sent:
            stopped = agent.post(place, {"input": {"text": "x"}}).json()["error"]
            brought = [{"step": 0, "action": "say", "output": sent["completed"][0]}]
            sent = {**sent, "resume": stopped["resume"], "completed": brought}
        refused = agent.post(place, sent)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, code), refused.content


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
