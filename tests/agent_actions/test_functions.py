"""What the one function of an action is given, what becomes of what it returns, and when it does not run at all."""

import json
from decimal import Decimal

import pytest

from agentweb import action
from agentweb.access.models import Mandate
from agentweb.testing import TestAgent
from agentweb.wire.receipts import verify_receipt
from tests.site.models import Note
from tests.support.entries import carry_out, entry_of, manifest
from tests.support.web import QUANTITY, send

RECEIPTS = "/agent-actions/receipts"
EMPTY = {"type": "object", "additionalProperties": False}
PRICE = {
    "type": "object",
    "required": ["price"],
    "properties": {"price": {"type": "number", "exclusiveMinimum": 0}},
}


def body_of(answer):
    return json.loads(answer.content)


def error_of(answer):
    return body_of(answer)["error"]


@pytest.fixture
def ran(catalog):
    """The inputs of every function that ran."""
    return []


def declare(ran, name="act", returns=None, **words):
    def function(inp, ctx):
        ran.append(inp)
        return returns

    action(name, **{"description": "Words.", "input": EMPTY, **words})(function)


@pytest.mark.requirement("AA-6.2")
def test_the_function_is_given_the_input_and_then_the_context(catalog):
    @action(effect="write", scope="cart:write", description="Words.", input=QUANTITY)
    def put(first, second):
        return {
            "input": first,
            "action": second.action.name,
            "by": second.caller.subject,
            "key": second.idempotency_key,
            "request": second.request_id,
        }

    agent = TestAgent(scopes=["cart:write"])
    answer = agent.post("/agent/put", {"product_id": "tea", "quantity": 2}, key="one-intent-0000001")
    assert body_of(answer) == {
        "input": {"product_id": "tea", "quantity": 2},
        "action": "put",
        "by": agent.key.public,
        "key": "one-intent-0000001",
        "request": answer["X-Request-Id"],
    }


@pytest.mark.requirement("AA-2.11", "AA-6.3", "AA-6.11")
@pytest.mark.parametrize(
    ("given", "pointer", "code"),
    [
        ({"product_id": "tea"}, "/quantity", "required"),
        ({"product_id": "tea", "quantity": "2"}, "/quantity", "type"),
        ({"product_id": "tea", "quantity": 1.5}, "/quantity", "type"),
        ({"product_id": "tea", "quantity": None}, "/quantity", "type"),
        ({"product_id": 7, "quantity": 2}, "/product_id", "type"),
        ({"product_id": "tea", "quantity": 0}, "/quantity", "minimum"),
        ({"product_id": "tea", "quantity": 21}, "/quantity", "maximum"),
        ([], "", "type"),
    ],
)
@pytest.mark.parametrize("effect", ["read", "write"])
def test_an_input_that_its_schema_refuses_never_reaches_the_function(ran, effect, given, pointer, code):
    declare(ran, effect=effect, scope="things:do", method="POST", input=QUANTITY)
    answer = TestAgent(scopes=["things:do"]).post("/agent/act", given)
    assert answer.status_code == 422
    [problem] = error_of(answer)["problems"]
    assert (problem["pointer"], problem["code"]) == (pointer, code)
    assert ran == []


@pytest.mark.requirement("AA-2.11")
@pytest.mark.parametrize("quantity", [1, 20])
def test_the_bounds_of_an_input_are_inside(ran, quantity):
    declare(ran, effect="write", scope="things:do", input=QUANTITY)
    given = {"product_id": "tea", "quantity": quantity}
    assert TestAgent(scopes=["things:do"]).post("/agent/act", given).status_code == 200
    assert ran == [given]


@pytest.mark.requirement("AA-2.13", "AA-6.11", "AA-3.2")
def test_everything_that_is_wrong_with_an_input_is_answered_at_once(ran):
    declare(ran, effect="write", scope="things:do", input=QUANTITY)
    answer = TestAgent(scopes=["things:do"]).post("/agent/act", {"quantity": 0, "colour": "red", "a/b": 1})
    error = error_of(answer)
    assert (answer.status_code, error["code"], error["field"]) == (422, "invalid_input", "a/b")
    assert [(problem["pointer"], problem["code"]) for problem in error["problems"]] == [
        ("/a~1b", "unknown_field"),
        ("/colour", "unknown_field"),
        ("/product_id", "required"),
        ("/quantity", "minimum"),
    ]
    assert ran == []


@pytest.mark.requirement("AA-6.4")
@pytest.mark.parametrize(
    ("returned", "sent"),
    [
        (
            {"order_id": "or_1", "lines": [{"n": 1}, {"n": 2}]},
            b'{"order_id":"or_1","lines":[{"n":1},{"n":2}]}',
        ),
        ({}, b"{}"),
        ([1, "é", True, None], '[1,"é",true,null]'.encode()),
        ("text", b'"text"'),
        (0, b"0"),
        (Decimal("19.90"), b"19.9"),
        (None, b"null"),
    ],
)
@pytest.mark.parametrize("effect", ["read", "write"])
def test_what_the_function_returns_is_the_body(ran, effect, returned, sent):
    declare(ran, effect=effect, scope="things:do", returns=returned)
    answer = carry_out(TestAgent(scopes=["things:do"]), entry_of("act"), {})
    assert (answer.status_code, answer.content) == (200, sent)
    assert answer["Content-Type"].partition(";")[0] == "application/json"


# --- who may call ---


@pytest.mark.requirement("AA-6.14")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_read_without_a_scope_is_answered_to_everybody(ran, method):
    declare(ran, method=method)
    assert send(method, "/agent/act").status_code == 200
    assert TestAgent().request(method, "/agent/act").status_code == 200
    assert len(ran) == 2


def refusals_without_a_grant(method):
    """Answers to nobody in particular, and to a known key that was granted nothing."""
    body = b"{}" if method == "POST" else b""
    return [send(method, "/agent/act", body), TestAgent().request(method, "/agent/act", body or None)]


@pytest.mark.requirement("AA-6.12")
@pytest.mark.parametrize(
    ("effect", "method"),
    [
        ("read", "GET"),
        ("read", "POST"),
        ("write", "POST"),
        ("send", "POST"),
        ("spend", "POST"),
        ("delete", "POST"),
    ],
)
def test_without_a_grant_no_action_with_a_scope_runs_not_even_a_read(ran, effect, method):
    declare(ran, effect=effect, method=method, scope="things:do")
    for answer in refusals_without_a_grant(method):
        assert (answer.status_code, error_of(answer)["code"]) == (401, "grant_required")
        assert error_of(answer)["required_scope"] == ["things:do"]
    assert ran == []
    agent = TestAgent(scopes=["things:do"], spending="USD:1.00/1.00")
    assert carry_out(agent, entry_of("act"), {}).status_code == 200


@pytest.mark.requirement("AA-6.13")
@pytest.mark.parametrize("effect", ["write", "send", "spend", "delete"])
def test_without_a_grant_nothing_but_a_read_runs_not_even_without_a_scope(ran, effect):
    declare(ran, effect=effect)
    for answer in refusals_without_a_grant("POST"):
        assert (answer.status_code, error_of(answer)["code"]) == (401, "grant_required")
    assert ran == []
    agent = TestAgent(scopes=["something:else"], spending="USD:1.00/1.00")
    assert carry_out(agent, entry_of("act"), {}).status_code == 200


@pytest.mark.requirement("AA-6.15")
@pytest.mark.parametrize("scopes", [["things:read"], ["other:*"], ["things:do:more"], ["things"]])
def test_a_grant_without_the_scope_is_refused_with_the_name_of_what_is_missing(ran, scopes):
    declare(ran, effect="write", scope="things:do")
    answer = TestAgent(scopes=scopes).post("/agent/act", {})
    assert (answer.status_code, error_of(answer)["code"]) == (403, "insufficient_scope")
    assert error_of(answer)["required_scope"] == ["things:do"]
    assert ran == []


# --- money ---


def shop_that_charges(takes=lambda inp: inp["price"], **words):
    """An action that takes this much; returns what was ordered so far."""
    began = []

    @action(effect="spend", scope="shop:pay", description="Words.", **{"input": PRICE, **words})
    def pay(inp, ctx):
        began.append(inp)
        Note.objects.create(text="ordered")
        receipt = ctx.charge(takes(inp), "USD", item="tea")
        return {"order_id": receipt["id"], "charged": receipt}

    return began


def spent(agent):
    return sum(Mandate.objects.values_list("spent", flat=True)), body_of(agent.get(RECEIPTS))["items"]


@pytest.mark.requirement("AA-6.6", "AA-6.8")
def test_a_charge_is_booked_and_its_receipt_is_found_under_the_id_that_it_returned(catalog):
    shop_that_charges()
    agent = TestAgent(scopes=["shop:pay"], spending="USD:50.00/60.00")
    answer = body_of(agent.post("/agent/pay", {"price": Decimal("19.99")}))
    assert {name: answer["charged"][name] for name in ("amount", "currency", "item")} == {
        "amount": "19.99",
        "currency": "USD",
        "item": "tea",
    }
    stored = body_of(agent.get(f"{RECEIPTS}/{answer['order_id']}"))
    assert stored["id"] == answer["order_id"]
    assert (stored["amount"], stored["currency"], stored["item"]) == ("19.99", "USD", "tea")
    assert verify_receipt(stored, manifest()["keys"]) is None
    assert spent(agent) == (19_99, [stored])
    # It is off the mandate: 40.01 is left of 60.
    refused = agent.post("/agent/pay", {"price": Decimal("40.02")})
    assert error_of(refused)["remaining"] == "40.01"
    assert agent.post("/agent/pay", {"price": Decimal("40.01")}).status_code == 200


@pytest.mark.requirement("AA-6.7")
@pytest.mark.parametrize(
    ("spending", "code"),
    [
        (None, "mandate_required"),
        ("USD:10.00/100.00", "mandate_exceeded"),
        ("EUR:100.00/100.00", "mandate_exceeded"),
    ],
)
def test_a_charge_that_no_mandate_covers_is_refused_and_leaves_nothing_behind(catalog, spending, code):
    # No cost is declared, so the charge itself is what the mandate meets.
    shop_that_charges()
    agent = TestAgent(scopes=["shop:pay"], spending=spending)
    answer = agent.post("/agent/pay", {"price": Decimal("10.01")})
    assert (answer.status_code, error_of(answer)["code"]) == (403, code)
    assert spent(agent) == (0, [])
    assert not Note.objects.exists()


@pytest.mark.requirement("AA-2.21")
def test_a_declared_cost_may_be_the_amount_that_an_input_holds(catalog):
    began = shop_that_charges(cost={"field": "price", "currency": "USD"})
    entry = entry_of("pay")
    assert entry["cost"] == {"field": "price", "currency": "USD"}
    assert entry["input"]["properties"]["price"]["type"] == "number"
    agent = TestAgent(scopes=["shop:pay"], spending="USD:20.00/100.00")
    refused = carry_out(agent, entry, {"price": Decimal("20.01")})
    assert error_of(refused)["code"] == "mandate_exceeded"
    assert began == []
    assert carry_out(agent, entry, {"price": 20}).status_code == 200
    assert spent(agent)[0] == 20_00


@pytest.mark.requirement("AA-2.21")
def test_no_call_takes_more_than_the_input_that_holds_its_cost(catalog):
    shop_that_charges(lambda inp: Decimal("5.01"), cost={"field": "price", "currency": "USD"})
    agent = TestAgent(scopes=["shop:pay"], spending="USD:20.00/100.00")
    refused = agent.post("/agent/pay", {"price": 5})
    assert (refused.status_code, error_of(refused)["code"]) == (409, "cost_mismatch")
    assert (error_of(refused)["amount"], error_of(refused)["currency"]) == ("5.01", "USD")
    assert spent(agent) == (0, [])


@pytest.mark.requirement("AA-2.22")
def test_a_declared_cost_may_be_an_amount_and_then_no_call_takes_more(catalog):
    # The input has a say in what this function takes, but none in what it may.
    began = shop_that_charges(cost={"amount": 25, "currency": "USD"})
    entry = entry_of("pay")
    assert entry["cost"] == {"amount": 25, "currency": "USD"}
    poor = TestAgent(scopes=["shop:pay"], spending="USD:24.99/100.00")
    assert error_of(carry_out(poor, entry, {"price": 1}))["code"] == "mandate_exceeded"
    assert began == []
    agent = TestAgent(scopes=["shop:pay"], spending="USD:100.00/100.00")
    more = carry_out(agent, entry, {"price": Decimal("25.01")})
    assert (more.status_code, error_of(more)["code"]) == (500, "cost_mismatch")
    assert spent(agent) == (0, [])
    assert carry_out(agent, entry, {"price": 25}).status_code == 200
    assert [receipt["amount"] for receipt in spent(agent)[1]] == ["25.00"]
