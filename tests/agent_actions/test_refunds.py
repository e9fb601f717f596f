"""Asking for money back: who may, how much, what the site's policy says, and that asking twice gives once."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb.access import site_keys
from agentweb.agent_actions.mount import PAYMENT_EVENTS
from agentweb.catalog.words import action
from agentweb.ledger import providers, refunds, settling
from agentweb.models import IdempotencyRecord, Mandate, Payment, Receipt, Refund
from agentweb.testing import TestAgent, clock
from agentweb.testing.payments import SIGNATURE, sign_event
from agentweb.wire.receipts import verify_chain
from tests.support.payments import provider
from tests.support.web import send

__all__ = ["provider"]

pytestmark = [pytest.mark.usefixtures("shop", "many_callers")]

RECEIPTS, REFUNDS = "/agent-actions/receipts", "/agent-actions/refunds"
SEEN: list[Any] = []
TIME: list[Any] = []


def policy(receipt: dict[str, Any], amount: Decimal, ctx: Any) -> str:
    SEEN.append((receipt["id"], amount, ctx.remaining, ctx.reason, ctx.user.is_authenticated))
    return str(ctx.reason)


def slow_policy(receipt: dict[str, Any], amount: Decimal, ctx: Any) -> str:
    """While it is asked, the site replaces its key, and two minutes pass."""
    site_keys.rotate()
    TIME[0].forward(2 * site_keys.RETIREMENT_MARGIN_SECONDS)
    return "approve"


def broken_policy(receipt: dict[str, Any], amount: Decimal, ctx: Any) -> str:
    raise RuntimeError("hunter2")


@pytest.fixture
def buyer(settings: Any) -> TestAgent:
    settings.AGENTWEB = {**settings.AGENTWEB, "REFUND_POLICY": "tests.agent_actions.test_refunds.policy"}

    @action(effect="spend", scope="pay", description="Pay.", input={"type": "object"})
    def pay(inp: Any, ctx: Any) -> Any:
        return {"receipt": ctx.charge(100, "USD", item=inp.get("item", "tea"))["id"]}

    return TestAgent(scopes=["pay"], spending="USD:100.00/150.00")


def key(number: int = 1) -> str:
    return f"refund-{number:012d}"


def paid(agent: TestAgent, item: str = "tea") -> str:
    answer = agent.post("/agent/pay", {"item": item})
    assert answer.status_code == 200, answer.content
    return str(answer.json()["receipt"])


def ask(agent: TestAgent, receipt: str, number: int = 1, **members: Any) -> Any:
    body = {"receipt": receipt, "reason": "approve", **members}
    return agent.request("POST", REFUNDS, body, key=key(number))


def error_of(answer: Any) -> dict[str, Any]:
    told: dict[str, Any] = answer.json()["error"]
    return told


def spent() -> int:
    return Mandate.objects.get().spent


def chain_of(agent: TestAgent) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = agent.get(RECEIPTS).json()["items"]
    assert verify_chain(items, head=send_json("GET", f"{RECEIPTS}/head")) is None
    return items


def send_json(method: str, path: str, body: bytes = b"") -> Any:
    return json.loads(send(method, path, body).content)


def test_a_refund_that_is_approved_is_done_with_a_receipt_of_its_own(buyer: TestAgent) -> None:
    receipt = paid(buyer)
    answer = ask(buyer, receipt, amount="60.00")
    told = answer.json()
    assert answer.status_code == 200
    assert told["refund"] == {
        "id": Refund.objects.get().id,
        "state": "done",
        "receipt": receipt,
        "amount": "60.00",
        "currency": "USD",
        "refund_receipt": told["receipt"]["id"],
    }
    charge, refund = chain_of(buyer)
    assert refund == told["receipt"]
    assert (refund["kind"], refund["refund_of"], refund["amount"], refund["reason"]) == (
        "refund",
        receipt,
        "60.00",
        "approve",
    )
    assert (refund["item"], refund["agent"], refund["grant"]) == (
        charge["item"],
        charge["agent"],
        charge["grant"],
    )
    checked = send_json("POST", f"{RECEIPTS}/verify", json.dumps({"receipt": charge}).encode())
    assert (checked["status"], checked["refunded"]) == ("partly_refunded", "60.00")


def test_two_refunds_of_60_of_a_charge_of_100_are_one(buyer: TestAgent) -> None:
    receipt = paid(buyer)
    assert ask(buyer, receipt, 1, amount="60.00").status_code == 200
    refused = ask(buyer, receipt, 2, amount="60.00")
    assert (refused.status_code, error_of(refused)["code"]) == (422, "refund_exceeds_charge")
    assert error_of(refused)["remaining"] == "40.00"
    assert ask(buyer, receipt, 3).json()["refund"]["amount"] == "40.00", "all that is left"
    assert error_of(ask(buyer, receipt, 4))["remaining"] == "0.00"
    assert (Receipt.objects.get(kind="charge").refunded, spent()) == (10_000, 0)


@pytest.mark.parametrize("restores", [True, False])
def test_what_is_refunded_may_be_spent_again_unless_the_site_says_otherwise(
    buyer: TestAgent, settings: Any, restores: bool
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "REFUND_RESTORES_MANDATE": restores}
    receipt = paid(buyer)
    ask(buyer, receipt)
    assert (spent(), Mandate.objects.get().uses) == (0 if restores else 10_000, 1)
    assert buyer.post("/agent/pay", {}).status_code == (200 if restores else 403)


def test_a_refund_gives_back_to_every_grant_of_the_chain(buyer: TestAgent) -> None:
    parent = TestAgent(scopes=["pay"], spending="USD:100.00/150.00", delegate=1)
    child = TestAgent()
    parent.delegate_to(child, spending="USD:100.00/100.00")
    ask(child, paid(child), amount=25)
    assert sorted(Mandate.objects.values_list("spent", "uses")) == [(0, 0), (7_500, 1), (7_500, 1)]


def test_a_repeated_request_gives_one_refund_and_one_answer(buyer: TestAgent) -> None:
    receipt = paid(buyer)
    first, second = (ask(buyer, receipt, amount="10.00") for _ in range(2))
    assert (second.content, second.status_code) == (first.content, first.status_code)
    assert second["Idempotent-Replayed"] == "true"
    assert Refund.objects.count() == 1
    reused = ask(buyer, receipt, amount="11.00")
    assert (reused.status_code, error_of(reused)["code"]) == (422, "idempotency_key_reused")


def test_a_refund_whose_answer_was_lost_is_not_given_again(
    buyer: TestAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentweb.invoke import refunding

    receipt = paid(buyer)
    keep = refunding._Asking._keep

    def crash(*args: Any) -> Any:
        raise RuntimeError("the process ends here")

    monkeypatch.setattr(refunding._Asking, "_keep", crash)
    assert ask(buyer, receipt).status_code == 500
    monkeypatch.setattr(refunding._Asking, "_keep", keep)
    assert ask(buyer, receipt).json()["refund"]["state"] == "done"
    assert (Refund.objects.count(), spent()) == (1, 0)


def test_without_a_policy_a_refund_waits_for_the_staff(buyer: TestAgent, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "REFUND_POLICY": None}
    receipt = paid(buyer)
    answer = ask(buyer, receipt, amount="60.00")
    refund = Refund.objects.get()
    assert (answer.status_code, answer.json()) == (
        202,
        {
            "refund": {
                "id": refund.id,
                "state": "pending",
                "receipt": receipt,
                "amount": "60.00",
                "currency": "USD",
            }
        },
    )
    assert (spent(), refund.asked_by) == (10_000, buyer.key.public)
    again = ask(buyer, receipt, 2)
    assert (again.status_code, error_of(again)["code"]) == (409, "conflict")
    boss = User.objects.create_superuser("boss")
    refunds.decide(refund.id, is_given=True, by=boss)
    shown = buyer.get(f"{REFUNDS}/{refund.id}").json()["refund"]
    assert (shown["state"], spent()) == ("done", 4_000)
    assert [each["id"] for each in chain_of(buyer)] == [receipt, shown["refund_receipt"]]


def test_staff_may_refuse_and_the_agent_reads_why(buyer: TestAgent, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "REFUND_POLICY": None}
    ident = ask(buyer, paid(buyer)).json()["refund"]["id"]
    boss = User.objects.create_superuser("boss")
    refunds.decide(ident, is_given=False, by=boss, answer="It was drunk.")
    shown = buyer.get(f"{REFUNDS}/{ident}/").json()["refund"]
    assert (shown["state"], shown["reason"], spent()) == ("refused", "It was drunk.", 10_000)
    with pytest.raises(Exception, match="decided about already"):
        refunds.decide(ident, is_given=True, by=boss)


def test_a_waiting_refund_that_would_be_too_much_by_now_is_not_given(buyer: TestAgent, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "REFUND_POLICY": None}
    receipt = paid(buyer)
    ident = ask(buyer, receipt, amount="60.00").json()["refund"]["id"]
    boss = User.objects.create_superuser("boss")
    refunds.give(receipt, 6_000, reason="Cold.", by=boss, ident="rf_" + "a" * 22)
    with pytest.raises(Exception, match=r"only 40\.00 USD"):
        refunds.decide(ident, is_given=True, by=boss)
    assert (Refund.objects.get(pk=ident).state, spent()) == ("pending", 4_000)


def test_a_policy_refuses_and_is_told_what_it_needs(buyer: TestAgent) -> None:
    receipt = paid(buyer)
    SEEN.clear()
    answer = ask(buyer, receipt, amount="9.5", reason="refuse")
    assert (answer.status_code, error_of(answer)["code"]) == (403, "refund_not_allowed")
    [seen] = SEEN
    assert seen == (receipt, Decimal("9.50"), Decimal("100.00"), "refuse", False)
    assert not Refund.objects.exists()


@pytest.mark.parametrize("reason", ["maybe", "broken"])
def test_a_policy_that_is_broken_gives_nothing_and_tells_nothing(
    buyer: TestAgent, settings: Any, reason: str
) -> None:
    if reason == "broken":
        path = "tests.agent_actions.test_refunds.broken_policy"
        settings.AGENTWEB = {**settings.AGENTWEB, "REFUND_POLICY": path}
    answer = ask(buyer, paid(buyer), reason=reason)
    assert answer.status_code == 500
    assert b"hunter2" not in answer.content
    assert (Refund.objects.count(), spent()) == (0, 10_000)
    assert not IdempotencyRecord.objects.filter(action="agent-actions/refunds").exists()


def test_only_the_agent_that_paid_may_ask(buyer: TestAgent) -> None:
    receipt = paid(buyer)
    stranger = TestAgent(scopes=["pay"], spending="USD:100.00/150.00")
    assert error_of(ask(stranger, receipt))["code"] == "receipt_not_found"
    assert ask(TestAgent(key=buyer.key), receipt).status_code == 200, "its key alone is enough"
    parent = TestAgent(scopes=["pay"], spending="USD:100.00/150.00", delegate=1)
    child = TestAgent()
    parent.delegate_to(child, spending="USD:100.00/100.00")
    refused = ask(parent, paid(child))
    assert (refused.status_code, error_of(refused)["code"]) == (403, "refund_not_allowed")
    unsigned = send("POST", REFUNDS, json.dumps({"receipt": receipt, "reason": "x"}).encode())
    assert unsigned.status_code == 401


def test_a_session_asks_for_what_it_has_bought(buyer: TestAgent) -> None:
    session = TestAgent.with_session(scopes=["pay"], spending="USD:100.00/150.00")
    assert ask(session, paid(session)).json()["refund"]["state"] == "done"


def test_a_refund_is_shown_to_those_who_may_read_its_receipt(buyer: TestAgent) -> None:
    ident = ask(buyer, paid(buyer)).json()["refund"]["id"]
    assert buyer.get(f"{REFUNDS}/{ident}").status_code == 200
    for agent, path in ((TestAgent(), ident), (buyer, "rf_" + "a" * 22), (buyer, "x" * 200)):
        answer = agent.get(f"{REFUNDS}/{path}")
        assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")
    assert send("GET", f"{REFUNDS}/{ident}").status_code == 401


def test_the_receipt_of_a_refund_is_not_refunded(buyer: TestAgent) -> None:
    given = ask(buyer, paid(buyer)).json()["refund"]["refund_receipt"]
    assert error_of(ask(buyer, given, 2))["code"] == "refund_not_allowed"


@pytest.mark.parametrize(
    ("amount", "reason"),
    [
        ("-1", "range"),
        ("0", "range"),
        (-60, "range"),
        ("0.001", "precision"),
        ("1e3", "format"),
        ("", "format"),
    ],
)
def test_an_amount_that_is_none_is_refused(buyer: TestAgent, amount: Any, reason: str) -> None:
    answer = ask(buyer, paid(buyer), amount=amount)
    assert (answer.status_code, error_of(answer)["code"]) == (422, "amount_invalid")
    assert error_of(answer)["reason"] == reason
    assert spent() == 10_000


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/reason", "/receipt"]),
        (
            {"receipt": 5, "reason": "", "amount": True, "more": 1},
            ["/amount", "/more", "/reason", "/receipt"],
        ),
        ([], [""]),
        ({"receipt": "rc_x", "reason": "x" * 201}, ["/reason"]),
    ],
)
def test_everything_that_is_wrong_with_a_request_is_listed(
    buyer: TestAgent, body: Any, pointers: list[str]
) -> None:
    answer = buyer.request("POST", REFUNDS, body, key=key())
    assert (answer.status_code, error_of(answer)["code"]) == (422, "invalid_input")
    assert sorted(each["pointer"] for each in error_of(answer)["problems"]) == pointers


def test_a_request_without_a_key_is_refused(buyer: TestAgent) -> None:
    answer = buyer.request("POST", REFUNDS, {"receipt": paid(buyer), "reason": "approve"})
    assert error_of(answer)["code"] == "idempotency_key_required"


def test_the_manifest_says_where_refunds_are() -> None:
    document = send_json("GET", "/.well-known/agent-actions.json")
    assert document["endpoints"]["refunds"].endswith(REFUNDS)


# -- with a payment provider


def test_a_refund_goes_through_the_provider_that_took_the_money(
    buyer: TestAgent, provider: Any, settings: Any
) -> None:
    receipt = paid(buyer)
    settings.AGENTWEB = {**settings.AGENTWEB, "PAYMENTS": None}
    assert ask(buyer, receipt, amount="30.00").json()["refund"]["state"] == "done"
    assert (provider.taken(), spent(), len(chain_of(buyer))) == (7_000, 7_000, 2)


def test_a_refund_that_the_provider_declines_is_undone(buyer: TestAgent, provider: Any) -> None:
    receipt = paid(buyer, "refuse-refund")
    answer = ask(buyer, receipt, amount="30.00")
    assert (answer.status_code, error_of(answer)["code"]) == (402, "payment_declined")
    assert ask(buyer, receipt, amount="30.00").content == answer.content
    row = Receipt.objects.get()
    assert (row.refunded, spent(), Refund.objects.get().state) == (0, 10_000, "declined")
    assert buyer.get(f"{REFUNDS}/{Refund.objects.get().id}").json()["refund"]["reason"]


@pytest.mark.parametrize("item", ["lose-refund", "late-refund"])
def test_a_refund_that_is_not_known_is_asked_for_again_with_the_same_id(
    buyer: TestAgent, provider: Any, item: str
) -> None:
    receipt = paid(buyer, item)
    answer = ask(buyer, receipt, amount="60.00")
    assert (answer.status_code, error_of(answer)["code"]) == (503, "payment_unknown")
    assert answer["Retry-After"]
    assert (Receipt.objects.get().refunded, spent()) == (6_000, 10_000), "reserved"
    over = ask(buyer, receipt, 2, amount="60.00")
    assert error_of(over)["remaining"] == "40.00"
    done = ask(buyer, receipt, amount="60.00")
    assert (done.status_code, done.json()["refund"]["state"]) == (200, "done")
    assert (len(provider.refunds()), provider.taken(), spent()) == (1, 4_000, 4_000)


def test_a_refund_that_nobody_asks_for_again_is_finished_by_the_sweep(
    buyer: TestAgent, provider: Any
) -> None:
    with clock() as time:
        receipt = paid(buyer, "lose-refund")
        ask(buyer, receipt)
        time.forward(60)
        assert settling.sweep().ended == {"refund_done": 1}
        assert ask(buyer, receipt).json()["refund"]["state"] == "done", "and the answer is there"
    assert (len(provider.refunds()), spent()) == (1, 0)


def test_a_key_that_is_replaced_while_the_policy_is_asked_signs_nothing_afterwards(
    buyer: TestAgent, settings: Any
) -> None:
    receipt = paid(buyer)
    settings.AGENTWEB = {**settings.AGENTWEB, "REFUND_POLICY": "tests.agent_actions.test_refunds.slow_policy"}
    with clock() as time:
        TIME[:] = [time]
        assert ask(buyer, receipt).json()["refund"]["state"] == "done"
        assert [each["kind"] for each in chain_of(buyer)] == ["charge", "refund"]
        keys = site_keys.published_keys()
        assert verify_chain(buyer.get(RECEIPTS).json()["items"], keys=keys) is None


@pytest.mark.parametrize("path", ["nowhere.Provider", "tests.agent_actions.test_refunds.policy"])
def test_a_refund_at_a_provider_that_is_gone_waits_until_it_is_back(
    buyer: TestAgent, provider: Any, path: str
) -> None:
    receipt = paid(buyer)
    there = Payment.objects.get().provider
    Payment.objects.update(provider=path)
    for _ in range(2):
        answer = ask(buyer, receipt)
        assert (answer.status_code, error_of(answer)["code"]) == (503, "payment_unknown")
        assert error_of(answer)["refund"]["state"] == "processing"
    headers, body = provider.event(receipt)
    assert send("POST", f"/{PAYMENT_EVENTS}", body, **named(headers)).status_code == 204
    Payment.objects.update(provider=there)
    assert ask(buyer, receipt).json()["refund"]["state"] == "done"
    assert (provider.taken(), Refund.objects.count()) == (0, 1)


# -- webhooks


def named(headers: dict[str, str]) -> dict[str, str]:
    """As ``send`` takes them."""
    return {name.replace("-", "_"): value for name, value in headers.items()}


def test_an_event_settles_a_payment_and_may_come_any_number_of_times(buyer: TestAgent, provider: Any) -> None:
    unknown = buyer.post("/agent/pay", {"item": "lost"})
    assert unknown.status_code == 503
    [payment] = Payment.objects.all()
    headers, body = provider.event(payment.id)
    for _ in range(3):
        answer = send("POST", f"/{PAYMENT_EVENTS}", body, **named(headers))
        assert answer.status_code == 204
        payment.refresh_from_db()
        assert (payment.state, spent()) == ("captured", 10_000)
    assert provider.taken() == 10_000


def test_an_event_of_a_refund_settles_that(buyer: TestAgent, provider: Any) -> None:
    receipt = paid(buyer, "late-refund")
    ask(buyer, receipt)
    ident = Refund.objects.get().id
    for _ in range(2):
        headers, body = provider.event(ident)
        assert send("POST", f"/{PAYMENT_EVENTS}", body, **named(headers)).status_code == 204
    assert (Refund.objects.get().state, Receipt.objects.count(), spent()) == ("done", 2, 0)


def test_an_event_that_is_not_signed_is_refused_and_one_of_nothing_does_nothing(
    buyer: TestAgent, provider: Any
) -> None:
    headers, body = provider.event("rc_" + "a" * 22)
    assert send("POST", f"/{PAYMENT_EVENTS}", body, **named(headers)).status_code == 204
    forged = send("POST", f"/{PAYMENT_EVENTS}", body + b" ", headers=headers)
    assert forged.status_code == 403
    assert provider.calls() == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer a-token-of-the-provider"},
        {"Signature": "t=1,v1=abc"},
        {"Signature_Input": "sig1=()", "Signature": "sig1=:YWJj:"},
        {"Agent_Key": "none of ours"},
        {"Content_Type": "application/x-www-form-urlencoded"},
        {"Content_Type": "application/vnd.api+json"},
        {"Content_Encoding": "gzip"},
    ],
    ids=["bearer", "signature", "http-signature", "agent-key", "form", "other-json", "packed"],
)
def test_the_form_of_an_event_is_the_providers_own(
    buyer: TestAgent, provider: Any, headers: dict[str, str]
) -> None:
    buyer.post("/agent/pay", {"item": "lost"})
    signed, body = provider.event(Payment.objects.get().id)
    assert send("POST", f"/{PAYMENT_EVENTS}", body, **named(signed), **headers).status_code == 204
    assert Payment.objects.get().state == "captured"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"5",
        b"null",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"id": 5}',
        b'{"id": "rf_\\u0000"}',
        b'{"id": "rc_\\u0000"}',
    ],
    ids=[
        "empty",
        "list",
        "number",
        "null",
        "torn",
        "no-text",
        "deep",
        "id-number",
        "nul-in-refund",
        "nul-in-charge",
    ],
)
def test_an_event_that_nobody_can_read_is_no_crash(provider: Any, body: bytes) -> None:
    answer = send("POST", f"/{PAYMENT_EVENTS}", body, **named({SIGNATURE: sign_event(body)}))
    assert answer.status_code in {204, 400}


@pytest.mark.parametrize("ident", [5, ["rc_"], b"rc_", "rc_\0"], ids=["number", "list", "bytes", "nul"])
def test_an_event_whose_id_is_none_does_nothing(
    provider: Any, monkeypatch: pytest.MonkeyPatch, ident: Any
) -> None:
    monkeypatch.setattr(provider, "read_event", lambda headers, body: ident)
    assert send("POST", f"/{PAYMENT_EVENTS}", b"{}").status_code == 204


def test_without_a_provider_there_is_no_place_for_events() -> None:
    assert providers.configured() is None
    assert send("POST", f"/{PAYMENT_EVENTS}", b"{}").status_code == 404
