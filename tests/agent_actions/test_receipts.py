import json
from typing import Any

import pytest

from agentweb.access import site_keys
from agentweb.catalog.words import action
from agentweb.testing import TestAgent
from agentweb.wire.receipts import verify_chain
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop", "many_callers")

RECEIPTS = "/agent-actions/receipts"


@pytest.fixture
def buyer():
    @action(effect="spend", scope="pay", description="Pay.", input={"type": "object"})
    def pay(inp: Any, ctx: Any) -> Any:
        return {"receipt": ctx.charge(1, "USD", item="tea")["id"]}

    return TestAgent(scopes=["pay"], spending="USD:5.00/100.00")


def body_of(answer):
    return json.loads(answer.content)


def pay(agent):
    return body_of(agent.post("/agent/pay", {}))["receipt"]


@pytest.mark.requirement("AA-2.26")
def test_a_caller_lists_its_own_receipts_page_by_page(buyer):
    paid = [pay(buyer) for _ in range(3)]
    stranger = TestAgent(scopes=["pay"], spending="USD:5.00/100.00")
    other = pay(stranger)
    first = body_of(buyer.get(f"{RECEIPTS}?limit=2"))
    assert [each["id"] for each in first["items"]] == paid[:2]
    rest = body_of(buyer.get(f"{RECEIPTS}/?limit=2&after={first['next_cursor']}"))
    assert [each["id"] for each in rest["items"]] == paid[2:]
    assert rest["next_cursor"] is None
    assert [each["id"] for each in body_of(stranger.get(RECEIPTS))["items"]] == [other]
    assert verify_chain([*first["items"], *rest["items"]], head=None) is None


@pytest.mark.requirement("AA-6.8")
def test_a_receipt_of_somebody_else_is_not_there(buyer):
    paid = pay(buyer)
    assert body_of(buyer.get(f"{RECEIPTS}/{paid}"))["id"] == paid
    stranger = TestAgent(scopes=["pay"], spending="USD:5.00/100.00")
    refused = stranger.get(f"{RECEIPTS}/{paid}")
    assert (refused.status_code, body_of(refused)["error"]["code"]) == (404, "receipt_not_found")
    assert body_of(stranger.get(f"{RECEIPTS}/nonsense"))["error"]["code"] == "receipt_not_found"


def test_receipts_are_shown_to_their_key_also_without_its_grant(buyer):
    paid = pay(buyer)
    bare = TestAgent(key=buyer.key)
    assert [each["id"] for each in body_of(bare.get(RECEIPTS))["items"]] == [paid]


@pytest.mark.parametrize("path", [RECEIPTS, f"{RECEIPTS}/rc_AAAAAAAAAAAAAAAAAAAAAA"])
def test_nobody_known_has_no_receipts(path):
    answer = send("GET", path)
    assert (answer.status_code, body_of(answer)["error"]["code"]) == (401, "grant_required")


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("limit=0", "invalid_parameter", "limit"),
        ("limit=101", "invalid_parameter", "limit"),
        ("limit=1e1", "invalid_parameter", "limit"),
        ("limit=%D9%A3", "invalid_parameter", "limit"),
        ("limit=1&limit=2", "invalid_parameter", "limit"),
        ("after=-1", "invalid_cursor", "after"),
        ("after=", "invalid_cursor", "after"),
        ("after=99999999999999999999", "invalid_cursor", "after"),
    ],
)
def test_a_bad_page_is_refused(buyer, query, code, field):
    answer = buyer.get(f"{RECEIPTS}?{query}")
    assert answer.status_code == 400
    assert (body_of(answer)["error"]["code"], body_of(answer)["error"]["field"]) == (code, field)


def test_the_head_is_signed_and_open(buyer):
    site_keys.ensure_active_key()
    empty = body_of(send("GET", f"{RECEIPTS}/head"))
    assert (empty["type"], empty["site"], empty["seq"]) == ("agent-receipts-head/0.1", "shop.example", 0)
    pay(buyer)
    items = body_of(buyer.get(RECEIPTS))["items"]
    assert verify_chain(items, head=body_of(send("GET", f"{RECEIPTS}/head/"))) is None


def test_anybody_may_have_a_receipt_checked(buyer):
    receipt = body_of(buyer.get(f"{RECEIPTS}/{pay(buyer)}"))
    answer = send("POST", f"{RECEIPTS}/verify", json.dumps({"receipt": receipt}).encode())
    assert body_of(answer) == {
        "valid": True, "reason": None, "in_log": True, "status": "charged", "refunded": "0.00"
    }  # fmt: skip
    forged = json.dumps({"receipt": {**receipt, "amount": "9.00"}}).encode()
    assert body_of(send("POST", f"{RECEIPTS}/verify", forged))["valid"] is False


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"receipt":{},"more":1}'])
def test_a_check_of_anything_else_is_refused(body):
    answer = send("POST", f"{RECEIPTS}/verify", body)
    assert answer.status_code == (400 if body == b"" else 422)


@pytest.mark.parametrize("receipt", ["null", "[]", "1e30", '"rc_"', "{}", '{"type":"agent-receipt/0.1"}'])
def test_what_is_no_receipt_is_not_valid(receipt):
    answer = send("POST", f"{RECEIPTS}/verify", f'{{"receipt":{receipt}}}'.encode())
    assert (answer.status_code, body_of(answer)["valid"]) == (200, False)


def test_checking_counts_against_the_address(settings):
    settings.AGENTWEB = {**settings.AGENTWEB, "ANONYMOUS_RATE": (0.1, 1)}
    send("POST", f"{RECEIPTS}/verify", b'{"receipt":null}')
    assert send("POST", f"{RECEIPTS}/verify", b'{"receipt":null}').status_code == 429


@pytest.mark.parametrize(
    "path", ["/agent-actions/", "/agent-actions/nope", f"{RECEIPTS}/a/b", "/agent-actions/a/b/c/"]
)
def test_nothing_else_under_our_name_is_anything_but_json(path):
    for method in ("GET", "POST", "OPTIONS", "FOO"):
        answer = send(method, path)
        assert (answer.status_code, body_of(answer)["error"]["code"]) == (404, "not_found")


def test_a_nul_in_the_path_is_refused_before_a_database_sees_it(buyer):
    answer = buyer.get("/agent-actions/receipts/%00")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_unicode"
