"""``POST /__aim/invoke``: what it takes, what it answers, and to whom."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from django import forms
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework import serializers

from agentweb import AgentError
from agentweb.access import approvals, sessions
from agentweb.access.models import Approval
from agentweb.catalog.pages import page
from agentweb.catalog.words import action
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.ledger.models import Receipt
from agentweb.testing import TestAgent, clock
from agentweb.wire.encoding import new_nonce
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("catalog", "many_callers", "site_key")

PATH = "/__aim/invoke"
KEY = "0123456789abcdef"
ORIGIN = "https://shop.example"


@pytest.fixture(autouse=True)
def actions(catalog: None) -> None:
    @action(
        effect="write",
        scope="requests:approve",
        consequential=True,
        description="Approve one pending request.",
        input={
            "type": "string",
            "description": "The request ID itself; do not wrap it in an object",
            "minLength": 1,
        },
        example="req-3",
    )
    def approve_request(inp: Any, ctx: Any) -> Any:
        if inp == "req-9":
            raise AgentError("already_approved", "Somebody was faster.", field="id")
        return {"approved": inp, "by": ctx.user.get_username(), "key": ctx.idempotency_key}

    @action(
        description="Find products.",
        input={
            "type": "object",
            "required": ["query"],
            "properties": {
                "query": {"type": "string", "minLength": 1},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                "in_stock": {"type": "boolean"},
            },
            "additionalProperties": False,
        },
    )
    def search_products(inp: Any, ctx: Any) -> Any:
        return {"found": inp, "kind": ctx.caller.kind, "user": ctx.request.user.get_username()}

    @action(
        description="One order.",
        scope="orders:read",
        input={"type": "object", "required": ["id"], "properties": {"id": {"type": "integer", "minimum": 1}}},
    )
    def order(inp: Any, ctx: Any) -> Any:
        if inp["id"] == 404:
            raise AgentError("no_such_order", "There is none.", field="id")
        return {"order": inp["id"]}

    @action(description="All orders.", input=None)
    def orders(_inp: Any, ctx: Any) -> Any:
        return []

    @action(
        effect="spend",
        scope="pay",
        cost={"field": "price", "currency": "USD"},
        description="Pay.",
        input={
            "type": "object",
            "required": ["price"],
            "properties": {"price": {"type": "number"}, "times": {"type": "integer"}},
        },
    )
    def pay(inp: Any, ctx: Any) -> Any:
        times = inp.get("times", 1)
        return {"ids": [ctx.charge(inp["price"] / times, "USD", item="tea")["id"] for _ in range(times)]}

    @action(effect="delete", scope="orders:delete", confirm="person", description="Delete all.", input=None)
    def delete_all(_inp: Any, ctx: Any) -> Any:
        return {"deleted": True}

    @action(description="For staff.", input=None, visible=lambda user: user.is_staff)
    def staff_report(_inp: Any, ctx: Any) -> Any:
        return {"report": []}

    @action(
        description="Nested.",
        method="POST",
        input={"type": "object", "properties": {"lines": {"type": "array", "items": {"type": "object"}}}},
    )
    def nested_report(inp: Any, ctx: Any) -> Any:
        return {}


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password="one of ann's")


@pytest.fixture
def agent(ann: User) -> TestAgent:
    return session(ann)


def session(user: User | None, spending: str | None = "USD:50.00/200.00", **more: Any) -> TestAgent:
    scopes = more.pop("scopes", ["requests:approve", "orders:*", "pay"])
    return TestAgent.with_session(scopes=scopes, user=user, spending=spending, **more)


def invoke(
    agent: TestAgent, action_id: str, value: Any = ..., *, key: str | None = None, **more: Any
) -> HttpResponse:
    body = {"actionId": action_id} | ({} if value is ... else {"input": value}) | more
    return agent.request("POST", PATH, body, key=key)


def anonymous(body: Any, **headers: str) -> HttpResponse:
    return send("POST", PATH, body if isinstance(body, bytes) else json.dumps(body).encode(), **headers)


def body_of(answer: HttpResponse) -> Any:
    return json.loads(answer.content)


def error_of(answer: HttpResponse) -> Any:
    body = body_of(answer)
    assert list(body) == ["ok", "error"]
    assert body["ok"] is False
    # A kept answer has the id of the run that it is the answer of.
    assert (body["error"]["request_id"] == answer["X-Request-Id"]) != ("Idempotent-Replayed" in answer)
    return body["error"]


def refusal(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, error_of(answer)["code"]


# -- what is done


@pytest.mark.requirement("AIP-2.11", "AIP-4.1", "AIP-4.9")
def test_an_action_runs_by_its_id_with_the_bare_text(agent: TestAgent) -> None:
    answer = invoke(agent, "approve_request", "req-3", key=KEY)
    assert answer.status_code == 200
    assert body_of(answer) == {
        "ok": True,
        "actionId": "approve_request",
        "result": {"approved": "req-3", "by": "ann", "key": KEY},
    }
    assert answer["Content-Type"] == "application/json; charset=utf-8"
    assert answer["Cache-Control"] == "no-store"
    assert "caller" in answer["RateLimit"]


def test_texts_become_the_values_that_the_handler_takes(agent: TestAgent) -> None:
    sent = {"query": "tea", "limit": "20", "in_stock": "true"}
    answer = body_of(invoke(agent, "search_products", sent))
    assert answer["result"]["found"] == {"query": "tea", "limit": 20, "in_stock": True}
    assert body_of(invoke(agent, "order", "7"))["result"] == {"order": 7}


def test_a_read_that_is_open_to_all_needs_no_token() -> None:
    answer = anonymous({"actionId": "search_products", "input": {"query": "tea"}})
    assert body_of(answer)["result"] == {"found": {"query": "tea"}, "kind": "anonymous", "user": ""}
    assert not AuditEntry.objects.exists()


def test_input_that_has_no_members_may_be_left_out() -> None:
    for body in ({"actionId": "orders"}, {"actionId": "orders", "input": {}}):
        assert body_of(anonymous(body)) == {"ok": True, "actionId": "orders", "result": []}


def test_a_signed_request_invokes_too(ann: User) -> None:
    agent = TestAgent(scopes=["requests:approve"], user=ann)
    assert body_of(invoke(agent, "approve_request", "req-3"))["result"]["by"] == "ann"
    assert refusal(invoke(TestAgent(), "approve_request", "req-3")) == (401, "grant_required")


def test_both_slash_forms_answer(agent: TestAgent) -> None:
    assert agent.request("POST", f"{PATH}/", {"actionId": "order", "input": "7"}).status_code == 200


def test_a_payment_is_answered_with_its_signed_receipt(agent: TestAgent) -> None:
    answer = body_of(invoke(agent, "pay", {"price": "2.50"}, key=KEY))
    receipt = Receipt.objects.get()
    assert list(answer) == ["ok", "actionId", "result", "receipt"]
    assert answer["receipt"] == json.loads(receipt.document)
    assert answer["result"] == {"ids": [receipt.id]}
    verified = send(
        "POST", "/agent-actions/receipts/verify", json.dumps({"receipt": answer["receipt"]}).encode()
    )
    assert body_of(verified)["valid"] is True


def test_several_payments_are_answered_with_all_receipts(agent: TestAgent) -> None:
    answer = body_of(invoke(agent, "pay", {"price": "2.50", "times": "2"}, key=KEY))
    assert [each["id"] for each in answer["receipts"]] == answer["result"]["ids"]
    assert answer["receipt"] == answer["receipts"][0]


def test_a_repeated_call_gets_equal_bytes(agent: TestAgent) -> None:
    for name, value in (
        ("pay", {"price": "2.50"}),
        ("pay", {"price": "2.5", "times": "2"}),
        ("approve_request", "r"),
    ):
        key = f"{KEY}{name}{len(str(value))}"
        first, second = (invoke(agent, name, value, key=key) for _ in range(2))
        assert first.status_code == second.status_code == 200
        assert first.content == second.content
        assert (first.get("Idempotent-Replayed"), second["Idempotent-Replayed"]) == (None, "true")
    assert Receipt.objects.count() == 3


def test_a_refusal_that_is_repeated_says_the_same(agent: TestAgent) -> None:
    first, second = (invoke(agent, "approve_request", "req-9", key=KEY) for _ in range(2))
    assert refusal(first) == (409, "already_approved")
    assert second["Idempotent-Replayed"] == "true"
    assert first.content == second.content


def test_a_key_belongs_to_its_address_and_input(agent: TestAgent) -> None:
    assert invoke(agent, "approve_request", "req-3", key=KEY).status_code == 200
    assert refusal(invoke(agent, "approve_request", "req-4", key=KEY)) == (422, "idempotency_key_reused")
    elsewhere = agent.request("POST", "/agent/approve_request", b'"req-3"', key=KEY)
    assert body_of(elsewhere)["error"]["code"] == "idempotency_key_reused"
    # The same for a site that is mounted elsewhere, or called with a slash at the end.
    again = agent.request("POST", f"{PATH}/", {"actionId": "approve_request", "input": "req-3"}, key=KEY)
    assert again["Idempotent-Replayed"] == "true"


def test_spending_needs_a_key_and_a_mandate(agent: TestAgent, ann: User) -> None:
    assert refusal(invoke(agent, "pay", {"price": "1"})) == (400, "idempotency_key_required")
    assert refusal(invoke(session(ann, None), "pay", {"price": "1"}, key=KEY)) == (403, "mandate_required")
    over = invoke(agent, "pay", {"price": "51"}, key=KEY)
    assert refusal(over) == (403, "mandate_exceeded")
    assert not Receipt.objects.exists()


def test_calls_are_in_the_log_under_this_protocol(agent: TestAgent) -> None:
    invoke(agent, "approve_request", "req-3")
    invoke(agent, "approve_request", "")
    assert list(
        AuditEntry.objects.order_by("at").values_list("protocol", "action", "outcome", "caller_kind")
    ) == [
        ("aip", "approve_request", "ok", "session"),
        ("aip", "approve_request", "invalid_input", "session"),
    ]
    assert AuditEntry.objects.filter(input_digest="").count() == 1


# -- the page's new state


@pytest.fixture
def pages(actions: None) -> dict[str, Any]:
    """A page of its person's own, one for staff, one that fails; what they show may be changed by a test."""
    shown: dict[str, Any] = {"pending": ["req-3"]}

    def own(ctx: Any) -> Any:
        return {"who": ctx.user.get_username(), "password": "hunter2", **shown, **ctx.kwargs}

    def failing(ctx: Any) -> Any:
        raise RuntimeError("postgres://user:hunter2@internal/db")

    page("/control-panel", title="Panel", state=own, actions=["approve_request"])
    page("/requests/<int:pk>", title="Request", state=own)
    page("/staff", title="Staff", state=own, permission=lambda user: user.is_staff)
    page("/failing", title="Failing", state=failing)
    page("/plain", title="Plain")
    return shown


def test_the_page_that_is_named_says_what_it_shows_now(agent: TestAgent, pages: dict[str, Any]) -> None:
    answer = body_of(invoke(agent, "approve_request", "req-3", page="/control-panel"))
    assert list(answer) == ["ok", "actionId", "result", "state"]
    assert answer["state"] == {"who": "ann", "pending": ["req-3"]}
    assert body_of(invoke(agent, "order", "7", page="/requests/7/"))["state"]["pk"] == 7
    assert body_of(invoke(agent, "order", "7", page="/plain"))["state"] == {}


@pytest.mark.parametrize("path", ["/staff", "/failing", "/nowhere", "/requests/x", "/control-panel?a=b"])
def test_a_page_that_the_caller_does_not_see_or_that_fails_takes_nothing_from_the_answer(
    agent: TestAgent, pages: dict[str, Any], path: str
) -> None:
    answer = invoke(agent, "approve_request", "req-3", page=path)
    assert (answer.status_code, list(body_of(answer))) == (200, ["ok", "actionId", "result"])
    assert b"hunter2" not in answer.content


def test_a_call_that_is_done_is_answered_though_the_database_fails_for_the_state(
    agent: TestAgent, pages: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def gone(*args: Any) -> None:
        raise OperationalError("the connection is closed")

    monkeypatch.setattr("agentweb.aip.invoke.live", gone)
    answer = invoke(agent, "approve_request", "req-3", page="/control-panel")
    assert (answer.status_code, list(body_of(answer))) == (200, ["ok", "actionId", "result"])
    assert "the connection is closed" in caplog.text


def test_without_a_session_no_page_shows_anything(pages: dict[str, Any]) -> None:
    answer = anonymous({"actionId": "orders", "page": "/control-panel"})
    assert list(body_of(answer)) == ["ok", "actionId", "result"]


def test_a_repeated_call_has_the_page_as_it_is_by_then(agent: TestAgent, pages: dict[str, Any]) -> None:
    first = body_of(invoke(agent, "approve_request", "req-3", key=KEY, page="/control-panel"))
    pages["pending"] = []
    again = body_of(invoke(agent, "approve_request", "req-3", key=KEY, page="/control-panel"))
    assert (first["state"]["pending"], again["state"]["pending"]) == (["req-3"], [])
    assert {**first, "state": None} == {**again, "state": None}


@pytest.mark.requirement("AIP-2.10")
def test_the_example_of_a_manifest_works_as_it_stands(agent: TestAgent, pages: dict[str, Any]) -> None:
    page("/shop", title="Shop", actions=["search_products", "order", "orders"])
    for path, caller in (("/control-panel", agent), ("/shop", None)):
        shown = agent.get(f"{path}.json") if caller is not None else send("GET", f"{path}.json")
        manifest = body_of(shown)
        example = manifest["invoke_example"]
        target = manifest["invoke_url"].removeprefix(ORIGIN)
        answer = (
            agent.request("POST", target, example)
            if caller is not None
            else send("POST", target, json.dumps(example).encode())
        )
        assert (manifest["invoke_method"], answer.status_code) == ("POST", 200), answer.content


# -- the outer document


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, [("/actionId", "required")]),
        ([], [("", "type")]),
        ("approve_request", [("", "type")]),
        ({"actionId": 3}, [("/actionId", "type")]),
        ({"actionId": None, "input": "x"}, [("/actionId", "type")]),
        ({"action_id": "orders"}, [("/action_id", "unknown_field"), ("/actionId", "required")]),
        ({"actionId": "orders", "token": "x"}, [("/token", "unknown_field")]),
        ({"actionId": "orders", "page": 3}, [("/page", "format")]),
        ({"actionId": "orders", "page": "cart", "a/b": 1}, [("/a~1b", "unknown_field"), ("/page", "format")]),
    ],
)
def test_the_document_has_its_own_members_and_no_others(body: Any, problems: Any) -> None:
    answer = anonymous(body)
    assert refusal(answer) == (422, "invalid_input")
    found = error_of(answer)["problems"]
    assert sorted((each["pointer"], each["code"]) for each in found) == sorted(problems)
    assert {each["in"] for each in found} == {"request"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed_json"),
        (b"{", "malformed_json"),
        (b'{"actionId":"orders","actionId":"pay"}', "duplicate_key"),
        (b'{"actionId":"orders","input":1e400}', "number_out_of_range"),
        (b'{"actionId":"orders\\u0000"}', "invalid_unicode"),
        (b"[" * 70 + b"]" * 70, "too_deep"),
    ],
)
def test_json_that_is_none_has_the_codes_of_every_room(body: bytes, code: str) -> None:
    assert refusal(anonymous(body)) == (400, code)


def test_other_methods_and_media_types_are_refused() -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH", "HEAD"):
        answer = send(method, PATH)
        assert answer.status_code == 405
        assert answer["Allow"] == "POST, OPTIONS"
        if method != "HEAD":
            assert error_of(answer)["allow"] == ["POST", "OPTIONS"]
    assert refusal(anonymous(b"{}", Content_Type="text/plain")) == (415, "unsupported_media_type")
    assert send("OPTIONS", PATH).status_code == 204
    assert refusal(send("POST", f"{PATH}?token=agw_x", b"{}")) == (400, "token_in_url")
    assert body_of(send("POST", "/__aim/nothing", b"{}"))["error"]["code"] == "not_found"


def test_problem_details_are_given_to_who_asks() -> None:
    answer = anonymous({"actionId": "nothing"}, Accept="application/problem+json")
    assert answer["Content-Type"] == "application/problem+json"
    body = body_of(answer)
    assert (body["ok"], body["status"], body["error"]["code"]) == (False, 404, "action_not_found")


# -- which actions


def test_an_unknown_action_is_not_found_and_similar_ones_are_named(agent: TestAgent) -> None:
    answer = invoke(agent, "aprove_request", "req-3")
    assert refusal(answer) == (404, "action_not_found")
    assert error_of(answer)["closest"] == ["approve_request"]
    assert error_of(invoke(agent, "x" * 10_000))["closest"] == []


def test_a_hidden_action_answers_as_one_that_does_not_exist(agent: TestAgent) -> None:
    staff = session(User.objects.create_user("sue", is_staff=True))
    assert invoke(staff, "staff_report").status_code == 200
    hidden, unknown = invoke(agent, "staff_report"), invoke(agent, "stuff_report")
    for answer in (hidden, unknown, anonymous({"actionId": "staff_report", "page": "/"})):
        assert refusal(answer) == (404, "action_not_found")
        assert "staff_report" not in error_of(answer)["closest"]
        assert "staff_report" not in error_of(answer)["message"]
    # Neither is in the log: there is no action that was called.
    assert not AuditEntry.objects.filter(user=agent.session and agent.session.user).exists()


def test_what_aip_does_not_offer_is_not_found_and_not_named(agent: TestAgent) -> None:
    answer = invoke(agent, "nested_report", {})
    assert refusal(answer) == (404, "action_not_found")
    assert "nested_report" not in error_of(invoke(agent, "nested_repor"))["closest"]


# -- who calls


def test_without_a_token_a_session_is_asked_for() -> None:
    for name, value in (("approve_request", "req-3"), ("order", "7"), ("pay", {}), ("delete_all", {})):
        answer = anonymous({"actionId": name, "input": value})
        assert refusal(answer) == (401, "session_required")
        error = error_of(answer)
        assert error["connect_url"].startswith(f"{ORIGIN}/agent-access/connect")
        assert error["sessions_url"] == f"{ORIGIN}/__aim/sessions"
        assert answer["WWW-Authenticate"].startswith("Bearer")
    assert error["required_scope"] == ["orders:delete"]
    assert not AuditEntry.objects.exists()


def test_a_cookie_is_no_token(ann: User) -> None:
    client = Client()
    client.force_login(ann)
    body = json.dumps({"actionId": "approve_request", "input": "req-3"}).encode()
    answer = send("POST", PATH, body, client=client)
    assert refusal(answer) == (401, "session_required")
    read = json.dumps({"actionId": "search_products", "input": {"query": "t"}}).encode()
    assert body_of(send("POST", PATH, read, client=client))["result"]["user"] == ""


def test_every_state_of_a_token_has_its_code(ann: User) -> None:
    def code_of(agent: TestAgent) -> tuple[int, str]:
        return refusal(invoke(agent, "approve_request", "req-3"))

    unknown = session(ann)
    unknown.token = "agw_" + "x" * 43
    assert code_of(unknown) == (401, "session_invalid")
    expired, revoked = session(ann, expires_in=60), session(ann)
    assert revoked.session is not None
    sessions.revoke(revoked.session.pk)
    assert code_of(revoked) == (401, "session_revoked")
    logged_out = session(ann)
    wanted = {"scopes": ["requests:approve"], "expires_in": 600, "site": "shop.example"}
    logged_out.session, logged_out.token = sessions.create(user=ann, login="a login of ann's", **wanted)
    sessions.log_out("a login of ann's")
    assert code_of(logged_out) == (401, "session_revoked")
    changed = session(ann)
    ann.set_password("another one of ann's")
    ann.save()
    assert code_of(changed) == (401, "session_revoked")
    dormant = session(ann)
    ann.is_active = False
    ann.save()
    assert code_of(dormant) == (401, "session_revoked")
    # Never taken for nobody: what is open to all is refused too.
    answer = invoke(dormant, "search_products", {"query": "tea"})
    assert refusal(answer) == (401, "session_revoked")
    with clock() as time:
        time.forward(61)
        assert code_of(expired) == (401, "session_expired")


def test_a_token_that_waits_is_told_to_come_again(db: None) -> None:
    asked = body_of(send("POST", "/__aim/sessions", b'{"client_name":"Helper"}'))
    answer = anonymous(
        {"actionId": "approve_request", "input": "req-3"}, Authorization=f"Bearer {asked['token']}"
    )
    assert refusal(answer) == (401, "session_pending")
    assert answer["Retry-After"] == str(error_of(answer)["retry_after"])


def test_a_token_opens_what_its_scopes_cover(ann: User) -> None:
    answer = invoke(session(ann, scopes=["orders:read"]), "approve_request", {"wrong": 1})
    assert refusal(answer) == (403, "insufficient_scope")
    assert error_of(answer)["required_scope"] == ["requests:approve"]


# -- a person's word


def test_a_person_approves_exactly_this_call(agent: TestAgent, ann: User) -> None:
    asked = invoke(agent, "delete_all", {}, key=KEY)
    assert refusal(asked) == (428, "needs_human")
    error = error_of(asked)
    assert error["approve_url"] == f"{ORIGIN}/agent-access/approvals/{error['approval']}"
    assert refusal(invoke(agent, "delete_all", key=KEY)) == (428, "needs_human")
    assert Approval.objects.count() == 1
    approvals.approve(error["approval"], by=ann)
    assert body_of(invoke(agent, "delete_all", {}, key=KEY))["result"] == {"deleted": True}
    assert refusal(invoke(agent, "delete_all", {}, key=KEY[::-1])) == (428, "needs_human")


def test_an_approval_can_be_denied(agent: TestAgent, ann: User) -> None:
    asked = invoke(agent, "delete_all", {})
    approvals.deny(error_of(asked)["approval"], by=ann)
    assert refusal(invoke(agent, "delete_all", {})) == (403, "approval_denied")


# -- wrong input


@pytest.mark.requirement("AIP-4.10")
def test_an_object_around_a_text_is_refused_with_what_to_send_instead(agent: TestAgent) -> None:
    answer = invoke(agent, "approve_request", {"id": "req-3"})
    assert refusal(answer) == (422, "invalid_input")
    [problem] = error_of(answer)["problems"]
    assert (problem["pointer"], problem["field"], problem["code"], problem["expected"]) == (
        "",
        "input",
        "type",
        "string",
    )
    assert problem["message"].endswith(', as in "input": "req-3".')
    assert "without an object" in problem["message"]
    assert "in" not in problem


def test_every_wrong_shape_tells_what_to_send_instead(agent: TestAgent) -> None:
    for value in (3, True, None, ["req-3"], ..., 1.5, [], {}):
        [problem] = error_of(invoke(agent, "approve_request", value))["problems"]
        assert (problem["pointer"], problem["field"]) == ("", "input")
        assert '"req-3"' in problem["message"]
    for value in ("tea", '{"query": "tea"}', 3, None, ["tea"], [["query", "tea"]]):
        [problem] = error_of(invoke(agent, "search_products", value))["problems"]
        assert (problem["pointer"], problem["expected"]) == ("", "object")
        assert '{"query":"text"}' in problem["message"]
    answer = invoke(
        agent, "search_products", {"limit": 20, "in_stock": None, "qery": "tea", "query": {"text": "tea"}}
    )
    problems = {each["pointer"]: (each["code"], each["message"]) for each in error_of(answer)["problems"]}
    assert problems == {
        "/limit": ("type", "'limit' must be a text: put it in quotes."),
        "/in_stock": ("type", "'in_stock' must be a text; leave it out if there is none."),
        "/qery": ("unknown_field", "'qery' is not a member here; did you mean 'query'?"),
        "/query": ("type", "'query' must be one text; nothing is nested here."),
    }
    missing = error_of(invoke(agent, "search_products"))["problems"]
    assert [(each["pointer"], each["code"]) for each in missing] == [("/query", "required")]


def test_all_problems_of_a_call_are_listed_at_once(agent: TestAgent) -> None:
    answer = invoke(agent, "search_products", {"query": "", "limit": "1e3", "in_stock": "yes"})
    problems = [(each["pointer"], each["code"]) for each in error_of(answer)["problems"]]
    assert problems == [("/in_stock", "type"), ("/limit", "type"), ("/query", "minLength")]


def test_places_in_an_error_are_those_of_the_input_that_was_sent(agent: TestAgent) -> None:
    """The action takes an object; on AIP it is a text, which has no members to point at."""
    below = invoke(agent, "order", "0")
    [problem] = error_of(below)["problems"]
    assert (problem["pointer"], problem["field"], problem["message"]) == (
        "",
        "input",
        "The input must be at least 1.",
    )
    assert error_of(below)["field"] == "input"
    assert error_of(invoke(agent, "order", "404"))["field"] == "input"


def test_what_a_form_or_serializer_says_points_into_the_text_too(agent: TestAgent) -> None:
    class Code(forms.Form):
        code = forms.CharField()

        def clean_code(self) -> str:
            raise forms.ValidationError("This code is used up.", code="used_up")

    class CodeSerializer(serializers.Serializer[Any]):
        code = serializers.CharField()

        def validate_code(self, value: str) -> str:
            raise serializers.ValidationError("This code is used up.", code="used_up")

    action("redeem", description="Redeem.", effect="write", scope="pay", form=Code)(lambda inp, ctx: inp)
    action("redeem_too", description="Redeem.", effect="write", scope="pay", serializer=CodeSerializer)(
        lambda inp, ctx: inp
    )
    for name in ("redeem", "redeem_too"):
        for _ in range(2):  # kept under its key, and said again
            [problem] = error_of(invoke(agent, name, "tea-1", key=f"{KEY}{name}"))["problems"]
            assert (problem["pointer"], problem["field"], problem["code"]) == ("", "input", "used_up")


def test_input_is_judged_after_the_scope_and_before_the_key(agent: TestAgent, ann: User) -> None:
    narrow = session(ann, scopes=["orders:read"])
    assert refusal(invoke(narrow, "pay", "wrong", key="x")) == (403, "insufficient_scope")
    assert refusal(invoke(agent, "pay", "wrong", key="x")) == (422, "invalid_input")
    assert refusal(invoke(agent, "pay", {"price": "1"}, key="x")) == (400, "idempotency_key_invalid")
    assert not IdempotencyRecord.objects.exists()


# -- what it costs


def test_a_call_asks_the_database_as_often_as_at_the_action_s_own_path(
    agent: TestAgent,
) -> None:
    def queries(send_it: Any) -> int:
        send_it()
        with CaptureQueriesContext(connection) as captured:
            assert send_it().status_code == 200
        return len(captured)

    for name, here, there in (
        ("order", "7", lambda: agent.get("/agent/order?id=7")),
        ("approve_request", "req-3", lambda: agent.post("/agent/approve_request", b'"req-3"')),
        ("pay", {"price": "0.01"}, lambda: agent.post("/agent/pay", {"price": 0.01})),
    ):
        is_keyed = name != "order"
        ours = partial(_invoke_anew, agent, name, here, is_keyed=is_keyed)
        assert queries(ours) == queries(there), name
    anonymous_read = {"actionId": "search_products", "input": {"query": "tea"}}
    assert queries(lambda: anonymous(anonymous_read)) == queries(
        lambda: send("GET", "/agent/search_products?query=tea")
    )


def _invoke_anew(agent: TestAgent, name: str, value: Any, *, is_keyed: bool) -> HttpResponse:
    return invoke(agent, name, value, key=new_nonce() if is_keyed else None)
