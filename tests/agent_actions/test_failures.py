"""Every way in which a call fails answers in one shape."""

import json
import re

import pytest

from agentweb import AgentError, action
from agentweb.testing import TestAgent, clock
from agentweb.wire.errors import STATUS, Code
from tests.site.models import Note
from tests.support.web import SECRET, send

pytestmark = pytest.mark.usefixtures("shop")

TEA = {"product_id": "tea", "quantity": 2}
BODY = b'{"product_id":"tea","quantity":2}'


def agent(*scopes, **more):
    return TestAgent(scopes=scopes, **more)


def replayed():
    caller = agent("cart:write")
    headers = caller.signed_headers("POST", "/agent/add_to_cart", BODY)
    assert caller.send("POST", "/agent/add_to_cart", BODY, headers).status_code == 200
    return caller.send("POST", "/agent/add_to_cart", BODY, headers)


def signed_for_another_body():
    caller = agent("cart:write")
    headers = caller.signed_headers("POST", "/agent/add_to_cart", BODY)
    return caller.send("POST", "/agent/add_to_cart", BODY.replace(b"2", b"3"), headers)


def key_used_twice():
    caller = agent("cart:write")
    caller.post("/agent/add_to_cart", TEA, key="one-intent-0000001")
    return caller.post("/agent/add_to_cart", {**TEA, "quantity": 3}, key="one-intent-0000001")


def out_of_date():
    with clock() as time:
        caller = agent("cart:write", expires_in=60)
        time.forward(61)
        return caller.post("/agent/add_to_cart", TEA)


def granted_elsewhere():
    caller = agent("cart:write", origin="https://other.example")
    caller.origin = "https://shop.example"
    return caller.post("/agent/add_to_cart", TEA)


def charged(spending):
    @action(effect="spend", scope="pay", description="Pay.", cost={"amount": 5, "currency": "USD"})
    def pay(inp, ctx):
        return ctx.charge(5, "USD", item="tea")

    return agent("pay", spending=spending).post("/agent/pay")


FAILURES = {
    "action_not_found": lambda: send("GET", "/agent/serch_products"),
    "method_not_allowed": lambda: send("DELETE", "/agent/search_products"),
    "malformed_json": lambda: send("POST", "/agent/mirror", b"{"),
    "duplicate_key": lambda: send("POST", "/agent/mirror", b'{"a":1,"a":2}'),
    "too_deep": lambda: send("POST", "/agent/mirror", b"[" * 99 + b"]" * 99),
    "unsupported_media_type": lambda: send("POST", "/agent/mirror", b"<a/>", Content_Type="text/xml"),
    "payload_too_large": lambda: send("POST", "/agent/mirror", b" " * 1_048_577),
    "token_in_url": lambda: send("GET", "/agent/search_products?query=tea&token=x"),
    "invalid_input": lambda: send("GET", "/agent/search_products"),
    "grant_required": lambda: send("POST", "/agent/add_to_cart", BODY),
    "insufficient_scope": lambda: agent("cart:read").post("/agent/add_to_cart", TEA),
    "grant_expired": out_of_date,
    "grant_wrong_site": granted_elsewhere,
    "signature_invalid": signed_for_another_body,
    "request_replayed": replayed,
    "idempotency_key_invalid": lambda: agent("cart:write").post("/agent/add_to_cart", TEA, key="short"),
    "idempotency_key_reused": key_used_twice,
    "mandate_required": lambda: charged(None),
    "mandate_exceeded": lambda: charged("USD:4.99/100.00"),
    "handler_error": lambda: send("POST", "/agent/crash", b"{}"),
    "out_of_stock": lambda: send("POST", "/agent/refuse", b"{}"),
    "receipt_not_found": lambda: agent("cart:read").get("/agent-actions/receipts/rc_AAAAAAAAAAAAAAAAAAAAAA"),
}
OF_THE_SHOP = {"out_of_stock"}


@pytest.mark.requirement("AA-3.1", "AA-3.4")
@pytest.mark.parametrize("code", FAILURES)
def test_a_failed_call_answers_with_its_code_and_a_message(code):
    answer = FAILURES[code]()
    assert answer["Content-Type"].partition(";")[0] == "application/json"
    body = json.loads(answer.content)
    assert list(body) == ["error"]
    assert body["error"]["code"] == code
    assert re.fullmatch(r"[A-Z'].*[.?!]", body["error"]["message"]), body
    assert answer.status_code == STATUS.get(code, 409)
    assert answer.status_code >= 400
    assert (code in set(Code)) is (code not in OF_THE_SHOP)


@pytest.mark.requirement("AA-3.2")
@pytest.mark.parametrize(
    ("target", "field"),
    [
        ("/agent/search_products", "query"),
        ("/agent/search_products?query=tea&limit=0", "limit"),
        ("/agent/search_products?query=tea&limit=x", "limit"),
        ("/agent/search_products?query=tea&colour=red", "colour"),
        ("/orders/0", "id"),
        ("/agent-actions/receipts?limit=0", "limit"),
    ],
)
def test_an_error_about_one_member_of_the_input_names_it(target, field):
    answer = agent("cart:read").get(target)
    assert answer.status_code in {400, 422}
    assert json.loads(answer.content)["error"]["field"] == field


@pytest.mark.requirement("AA-3.3")
def test_who_waits_as_long_as_the_error_says_is_answered(settings):
    settings.AGENTWEB = {**settings.AGENTWEB, "ANONYMOUS_RATE": (0.1, 1)}
    target = "/agent/search_products?query=tea"
    with clock() as time:
        assert send("GET", target).status_code == 200
        refused = send("GET", target)
        error = json.loads(refused.content)["error"]
        assert (refused.status_code, error["code"], error["retry_after"]) == (429, "rate_limited", 10)
        assert refused["Retry-After"] == "10"
        time.forward(error["retry_after"] - 1)
        assert send("GET", target).status_code == 429
        time.forward(1)
        assert send("GET", target).status_code == 200


@pytest.mark.requirement("AA-3.3")
@pytest.mark.parametrize("code", ["invalid_input", "grant_required", "mandate_exceeded", "handler_error"])
def test_an_error_that_waiting_does_not_mend_names_no_time(code):
    answer = FAILURES[code]()
    assert "retry_after" not in json.loads(answer.content)["error"]
    assert "Retry-After" not in answer.headers


@pytest.mark.requirement("AA-6.16")
def test_a_refusal_of_the_function_arrives_as_it_was_raised_and_undoes_its_work():
    @action(effect="write", scope="cart:write", description="Words.", input={"type": "object"})
    def refuse_politely(inp, ctx):
        Note.objects.create(text="half of it")
        raise AgentError("too_late", "We closed at six; come after nine.", field="when", opens="09:00")

    answer = agent("cart:write").post("/agent/refuse_politely", {})
    assert answer.status_code == 409
    assert json.loads(answer.content)["error"] == {
        "code": "too_late",
        "message": "We closed at six; come after nine.",
        "field": "when",
        "opens": "09:00",
        "request_id": answer["X-Request-Id"],
    }
    assert not Note.objects.exists()


@pytest.mark.requirement("AA-6.17")
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("effect", ["read", "write"])
def test_a_crash_of_the_function_tells_nothing_of_itself(settings, debug, effect):
    @action(effect=effect, scope="cart:write", description="Words.", method="POST", input={"type": "object"})
    def fall_over(inp, ctx):
        Note.objects.create(text="half of it")
        raise KeyError(SECRET)

    settings.DEBUG = debug
    answer = agent("cart:write").post("/agent/fall_over", {})
    assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (500, "application/json")
    error = json.loads(answer.content)["error"]
    assert error.keys() == {"code", "message", "request_id"}
    assert error["code"] == "handler_error"
    for word in (SECRET, "hunter2", "KeyError", "Traceback", "fall_over", "test_failures", "line "):
        assert word not in answer.content.decode()
    assert Note.objects.exists() is (effect == "read")
