"""Bargaining over HTTP: where it is, who may, what is sent and answered, and what is written down."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.checks import Error, Warning

from agentweb import action
from agentweb.access import site_keys
from agentweb.agent_actions.checks import check_negotiator
from agentweb.catalog.registry import registry
from agentweb.models import AuditEntry, Negotiation
from agentweb.negotiation import counter
from agentweb.testing import TestAgent
from agentweb.wire.agreements import verify_agreement
from tests.negotiation import negotiators
from tests.support.web import send

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("shop", "many_callers")]

NEGOTIATIONS = "/agent-actions/negotiations"
TERMS = {"product_id": "sku-1", "quantity": 2}
OPENING = {"terms": TERMS, "price": "80.00", "currency": "USD"}
BARGAIN = "tests.negotiation.negotiators.bargain"
SCRIPTED = "tests.negotiation.negotiators.scripted"


@pytest.fixture
def bargains(settings: Any, shop: Any) -> Any:
    """Set the negotiator; by default the bundled strategy between 70 and 100 USD."""

    def set_to(path: str | None) -> None:
        settings.AGENTWEB = {**settings.AGENTWEB, "NEGOTIATOR": path}

    site_keys.ensure_active_key()
    negotiators.script.clear()
    set_to(BARGAIN)
    return set_to


def endpoints() -> dict[str, str]:
    manifest: dict[str, Any] = json.loads(send("GET", "/.well-known/agent-actions.json").content)
    return manifest["endpoints"]  # type: ignore[no-any-return]


def agent(**grant: Any) -> TestAgent:
    return TestAgent(scopes=["cart:write"], spending="USD:100.00/500.00", **grant)


def test_the_manifest_names_it_where_the_site_bargains_and_nothing_answers_elsewhere(bargains: Any) -> None:
    assert endpoints()["negotiation"] == f"https://shop.example{NEGOTIATIONS}"
    bargains(None)
    assert "negotiation" not in endpoints()
    for answer in (agent().post(NEGOTIATIONS, OPENING), agent().get(f"{NEGOTIATIONS}/ng_x")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_an_agent_bargains_and_buys_at_the_price_that_was_agreed_on(bargains: Any) -> None:
    buyer = agent()
    opened = buyer.post(NEGOTIATIONS, {**OPENING, "price": 80})
    assert opened.status_code == 200
    talk = opened.json()
    assert (talk["state"], talk["round"], talk["rounds_left"], talk["agreement"]) == ("countered", 1, 4, None)
    at = f"{NEGOTIATIONS}/{talk['id']}"
    talk = buyer.post(at, {"offer": "82.50", "note": "please"}).json()
    assert talk["round"] == 2
    assert buyer.get(at).json() == talk
    agreed = buyer.post(f"{at}/", {"accept": 2}).json()
    agreement = agreed["agreement"]
    assert (agreed["state"], agreement["price"]) == ("accepted", talk["offer"]["price"])
    assert verify_agreement(agreement, site_keys.published_keys()) is None
    with registry.only():

        @action(
            effect="spend", scope="cart:write", description="Buy.", input={"type": "object"}, name="buy_it"
        )
        def buy_it(inp: Any, ctx: Any) -> Any:
            deal = ctx.agreement({"product_id": "sku-1"})
            return ctx.charge(deal["price"] if deal else 100, "USD", item="sku-1")

        paid = [buyer.post("/agent/buy_it", {}, key=f"buying-{number:012d}").json() for number in range(2)]
    assert [each["amount"] for each in paid] == [agreement["price"], "100.00"]
    assert paid[0]["agreement"] == agreement["id"]


def test_a_session_bargains_as_a_signed_agent_does(bargains: Any) -> None:
    session = TestAgent.with_session(scopes=["cart:write"])
    talk = session.post(NEGOTIATIONS, OPENING).json()
    agreed = session.post(f"{NEGOTIATIONS}/{talk['id']}", {"accept": 1}).json()
    assert agreed["agreement"]["buyer"]["agent"].startswith("session:ss_")


def test_who_has_no_grant_is_told_to_get_one(bargains: Any) -> None:
    for stranger in (TestAgent(), None):
        answer = (
            stranger.post(NEGOTIATIONS, OPENING)
            if stranger is not None
            else send("POST", NEGOTIATIONS, json.dumps(OPENING).encode())
        )
        assert (answer.status_code, json.loads(answer.content)["error"]["code"]) == (401, "grant_required")
    assert not Negotiation.objects.exists()


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, ["/currency required", "/price required", "/terms required"]),
        ([], [" type"]),
        ({**OPENING, "terms": {}}, ["/terms terms"]),
        ({**OPENING, "terms": {"weight": 0.5}}, ["/terms terms"]),
        ({**OPENING, "terms": "tea"}, ["/terms terms"]),
        ({**OPENING, "note": "x" * 201}, ["/note format"]),
        ({**OPENING, "note": 5, "floor": 1}, ["/floor unknown_field", "/note format"]),
        ({**OPENING, "currency": 5}, ["/currency type"]),
    ],
    ids=["nothing", "list", "empty", "half", "text", "long", "two", "currency"],
)
def test_a_first_offer_that_is_none_is_told_all_that_is_wrong_with_it(
    bargains: Any, body: Any, problems: list[str]
) -> None:
    error = agent().post(NEGOTIATIONS, body).json()["error"]
    assert error["code"] == "invalid_input"
    assert sorted(f"{each['pointer']} {each['code']}" for each in error["problems"]) == problems


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"price": "80.001"}, "price", "precision"),
        ({"price": True}, "price", "format"),
        ({"currency": "usd"}, "currency", "currency"),
        ({"currency": "EUR"}, "currency", "currency"),
    ],
    ids=["precise", "true", "lower", "other"],
)
def test_a_price_that_is_none_is_an_invalid_offer(
    bargains: Any, changes: Any, field: str, reason: str
) -> None:
    answer = agent().post(NEGOTIATIONS, {**OPENING, **changes})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "offer_invalid")
    assert (error["field"], error["reason"]) == (field, reason)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"accept": 1, "reject": True},
        {"accept": "1"},
        {"accept": True},
        {"reject": False},
        {"offers": 1},
        [],
    ],
    ids=["nothing", "two", "text", "true", "false", "unknown", "list"],
)
def test_a_move_is_one_of_three(bargains: Any, body: Any) -> None:
    buyer = agent()
    talk = buyer.post(NEGOTIATIONS, OPENING).json()
    answer = buyer.post(f"{NEGOTIATIONS}/{talk['id']}", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_input")
    assert buyer.get(f"{NEGOTIATIONS}/{talk['id']}").json() == talk


def test_offers_count_against_a_limit_of_their_own_and_ends_do_not(bargains: Any, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "NEGOTIATION_RATE": (0.001, 2)}
    buyer = agent()
    opened = buyer.post(NEGOTIATIONS, OPENING)
    assert '"offers";q=2' in opened["RateLimit-Policy"]
    at = f"{NEGOTIATIONS}/{opened.json()['id']}"
    assert buyer.post(at, {"offer": "81"}).status_code == 200
    refused = buyer.post(at, {"offer": "82"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert buyer.post(at, {"reject": True}).json()["state"] == "rejected"


def test_every_move_leaves_a_row_in_the_audit_log_and_looking_none(bargains: Any) -> None:
    buyer = agent()
    talk = buyer.post(NEGOTIATIONS, OPENING).json()
    at = f"{NEGOTIATIONS}/{talk['id']}"
    buyer.get(at)
    buyer.post(at, {"accept": 7})
    buyer.post(at, {"accept": 1})
    rows = AuditEntry.objects.filter(action="negotiation").order_by("pk")
    assert [(row.status, row.outcome) for row in rows] == [
        (200, "ok"),
        (409, "negotiation_changed"),
        (200, "ok"),
    ]
    assert {row.subject for row in rows} == {buyer.key.public}
    assert {row.protocol for row in rows} == {"agent-actions"}
    assert all(row.input_digest.startswith("sha256:") and row.grant for row in rows)


def test_the_negotiator_finds_the_person_and_the_request(bargains: Any, django_user_model: Any) -> None:
    bargains(SCRIPTED)
    ann = django_user_model.objects.create_user("ann")
    negotiators.script.append(counter(95))
    agent(user=ann).post(NEGOTIATIONS, OPENING)
    context = negotiators.contexts[-1]
    assert context.user == ann
    assert context.request.path == NEGOTIATIONS
    assert context.request_id.startswith("rq_")


def test_a_crash_of_the_negotiator_is_no_traceback(bargains: Any) -> None:
    bargains(SCRIPTED)
    negotiators.script.append(RuntimeError("hunter2"))
    answer = agent().post(NEGOTIATIONS, OPENING)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "handler_error")
    assert b"hunter2" not in answer.content
    assert AuditEntry.objects.get(action="negotiation").outcome == "handler_error"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("no.such.module", "No module named"),
        ("tests.negotiation.negotiators.missing", "does not define"),
        ("tests.negotiation.negotiators.NO_FUNCTION", "no function"),
        ("tests.negotiation.negotiators.with_one_argument", "two arguments"),
    ],
)
def test_a_negotiator_that_cannot_be_asked_is_found_by_the_checks(
    bargains: Any, path: str, said: str
) -> None:
    bargains(path)
    [message] = check_negotiator(None)
    assert (message.id, type(message)) == ("agentweb.E042", Error)
    assert said in message.msg


def test_bargaining_without_anything_to_buy_is_a_warning(bargains: Any) -> None:
    assert check_negotiator(None) == []
    with registry.only():
        [message] = check_negotiator(None)
        assert (message.id, type(message)) == ("agentweb.W044", Warning)
        bargains(None)
        assert check_negotiator(None) == []
