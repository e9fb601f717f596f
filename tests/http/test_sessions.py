"""Calling with a session's token: as good as a signature, and never mixed with one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from agentweb.access import sessions
from agentweb.access.models import Mandate
from agentweb.catalog.words import action
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.ledger.models import Receipt
from agentweb.testing import TestAgent, mandate
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop", "site_key")

SITE = "shop.example"
RECEIPTS = "/agent-actions/receipts"
MANIFEST = "/.well-known/agent-actions.json"
PUT = {"product_id": "tea", "quantity": 2}


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password="one of ann's")


def begin(user: User | None = None, spending: str | None = None, **wanted: Any) -> str:
    wanted = {"scopes": ["cart:write", "pay"], "expires_in": 600, "site": SITE, **wanted}
    return sessions.create(user=user, mandate=mandate(spending) if spending else None, **wanted)[1]


def call(token: str, method: str, path: str, value: Any = None, **headers: str) -> HttpResponse:
    body = b"" if value is None else json.dumps(value).encode()
    return send(method, path, body, Authorization=f"Bearer {token}", **headers)


def body_of(answer: HttpResponse) -> Any:
    return json.loads(answer.content)


def error_of(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, body_of(answer)["error"]["code"]


@pytest.fixture
def pay(shop: None) -> None:
    @action("pay", effect="spend", scope="pay", description="Pay.", input={"type": "object"})
    def pay(inp: Any, ctx: Any) -> Any:
        return {"receipt": ctx.charge(1, "USD", item="tea")["id"]}


def test_a_token_opens_what_its_grant_covers_and_no_more(ann: User) -> None:
    token = begin(ann)
    assert body_of(call(token, "POST", "/agent/add_to_cart", PUT)) == {"put": PUT, "key": None}
    refused = call(token, "DELETE", "/orders/1")
    assert error_of(refused) == (403, "insufficient_scope")
    assert body_of(refused)["error"]["required_scope"] == ["orders:delete"]
    assert body_of(call(token, "GET", "/agent/who_am_i")) == {"user": "ann", "caller": "session"}


def test_the_word_bearer_is_read_in_any_case(ann: User) -> None:
    assert send("GET", "/agent/who_am_i", Authorization=f"bEaReR  {begin(ann)} ").status_code == 200


@pytest.mark.parametrize(
    "value", ["Bearer", "Bearer ", "Bearer agw_wrong", "Bearer eyJhbGciOi.J9", "bearer é"]
)
@pytest.mark.parametrize(
    "path", [MANIFEST, "/agent/search_products?query=tea", RECEIPTS, "/agent/add_to_cart"]
)
def test_a_wrong_token_is_never_taken_for_none(path: str, value: str) -> None:
    method, body = ("POST", json.dumps(PUT).encode()) if "cart" in path else ("GET", b"")
    answer = send(method, path, body, Authorization=value)
    assert error_of(answer) == (401, "session_invalid")
    assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("value", ["Basic YTpi", "Token agw_x", "agw_x", ""])
def test_another_scheme_says_nothing_about_an_agent(value: str) -> None:
    assert send("GET", "/agent/search_products?query=tea", Authorization=value).status_code == 200
    assert error_of(send("GET", RECEIPTS, Authorization=value)) == (401, "grant_required")


def test_a_request_says_in_one_way_who_sends_it(ann: User) -> None:
    agent = TestAgent(scopes=["cart:write"])
    answer = agent.post("/agent/add_to_cart", PUT, headers={"Authorization": f"Bearer {begin(ann)}"})
    assert error_of(answer) == (400, "invalid_parameter")
    assert body_of(answer)["error"]["field"] == "Authorization"
    for name in ("Agent_Grant", "Agent_Key", "Signature", "Signature_Input"):
        assert error_of(call(begin(ann), "GET", RECEIPTS, **{name: "x"})) == (400, "invalid_parameter")
    assert not AuditEntry.objects.exists()


def test_a_token_in_the_address_is_refused_whatever_else_is_sent(ann: User) -> None:
    token = begin(ann)
    for name in ("token", "access_token", "session_token"):
        assert error_of(call(token, "GET", f"{MANIFEST}?{name}={token}")) == (400, "token_in_url")


def test_a_login_cookie_is_nobody(ann: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ann)
    body = json.dumps(PUT).encode()
    assert error_of(send("POST", "/agent/add_to_cart", body, client=client)) == (401, "grant_required")
    assert body_of(send("GET", "/agent/who_am_i", client=client)) == {"user": "", "caller": "anonymous"}


def test_the_owner_of_a_cookie_does_not_come_through_and_csrf_is_not_asked(ann: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("eve"))
    headers = {"Authorization": f"Bearer {begin(ann)}"}
    assert body_of(send("GET", "/agent/who_am_i", client=client, **headers))["user"] == "ann"
    body = json.dumps(PUT).encode()
    assert send("POST", "/agent/add_to_cart", body, client=client, **headers).status_code == 200


@pytest.mark.usefixtures("pay")
def test_money_is_spent_under_the_sessions_mandate_and_receipted_to_it(ann: User) -> None:
    token = begin(ann, "USD:1.00/2.00")
    subject = f"session:{sessions.Session.objects.get().pk}"
    paid = [
        body_of(call(token, "POST", "/agent/pay", {}, Idempotency_Key=f"0123456789abcdef{n}"))["receipt"]
        for n in range(2)
    ]
    assert Receipt.objects.filter(agent=subject).count() == 2
    refused = call(token, "POST", "/agent/pay", {}, Idempotency_Key="0123456789abcdefx")
    assert error_of(refused) == (403, "mandate_exceeded")
    listed = body_of(call(token, "GET", RECEIPTS))["items"]
    assert [(each["id"], each["agent"]) for each in listed] == [(ident, subject) for ident in paid]
    assert body_of(call(token, "GET", f"{RECEIPTS}/{paid[0]}"))["id"] == paid[0]
    assert body_of(call(begin(ann), "GET", RECEIPTS))["items"] == []
    assert error_of(call(begin(ann), "GET", f"{RECEIPTS}/{paid[0]}")) == (404, "receipt_not_found")


@pytest.mark.usefixtures("pay")
def test_without_a_mandate_nothing_is_spent(ann: User) -> None:
    answer = call(begin(ann), "POST", "/agent/pay", {}, Idempotency_Key="0123456789abcdef")
    assert error_of(answer) == (403, "mandate_required")


@pytest.mark.usefixtures("pay")
def test_a_key_is_repeated_within_its_session_only(ann: User) -> None:
    first, second = (begin(ann, "USD:1.00/10.00") for _ in range(2))
    answers = [
        call(token, "POST", "/agent/pay", {}, Idempotency_Key="0123456789abcdef")
        for token in (first, first, second)
    ]
    paid = [body_of(answer)["receipt"] for answer in answers]
    assert paid[0] == paid[1] != paid[2]
    assert [answer.get("Idempotent-Replayed") for answer in answers] == [None, "true", None]
    assert IdempotencyRecord.objects.count() == 2
    assert sorted(Mandate.objects.values_list("spent", flat=True)) == [100, 100]


@pytest.mark.usefixtures("pay")
def test_an_ended_session_gets_no_kept_answer(ann: User) -> None:
    token = begin(ann, "USD:1.00/10.00")
    assert call(token, "POST", "/agent/pay", {}, Idempotency_Key="0123456789abcdef").status_code == 200
    sessions.revoke(sessions.Session.objects.get().pk)
    answer = call(token, "POST", "/agent/pay", {}, Idempotency_Key="0123456789abcdef")
    assert error_of(answer) == (401, "session_revoked")


def test_calls_are_in_the_log_under_the_session_and_its_token_is_not(ann: User) -> None:
    token = begin(ann)
    call(token, "POST", "/agent/add_to_cart", PUT)
    entry = AuditEntry.objects.get()
    assert (entry.caller_kind, entry.user, entry.outcome) == ("session", ann, "ok")
    assert entry.subject == f"session:{sessions.Session.objects.get().pk}"
    assert token not in str(AuditEntry.objects.values())


def test_a_session_has_a_limit_of_its_own(ann: User, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CALLER_RATE": (0.001, 2), "ANONYMOUS_RATE": (0.001, 1)}
    token = begin(ann)
    assert [call(token, "GET", RECEIPTS).status_code for _ in range(3)] == [200, 200, 429]
    assert call(begin(ann), "GET", RECEIPTS).status_code == 200


def test_wrong_tokens_close_an_address(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "FAILURE_RATE": (0.001, 2)}
    assert [call("agw_wrong", "GET", RECEIPTS).status_code for _ in range(3)] == [401, 401, 429]


def test_a_manifest_for_a_session_is_no_public_one(ann: User) -> None:
    staff = User.objects.create_user("sue", is_staff=True)
    public, plain, full = (
        send("GET", MANIFEST),
        call(begin(ann), "GET", MANIFEST),
        call(begin(staff), "GET", MANIFEST),
    )
    assert b"staff_report" not in public.content
    assert b"staff_report" not in plain.content
    assert b"staff_report" in full.content
    assert "Authorization" in public["Vary"]
    assert public["Cache-Control"].startswith("public")
    assert plain["Cache-Control"] == full["Cache-Control"] == "no-store"
