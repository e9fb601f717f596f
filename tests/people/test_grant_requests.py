"""An agent asks for a grant: over HTTP, on the person's page, and back with the grant that they gave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from agentweb import action
from agentweb.access import pairing, revocations, site_keys
from agentweb.access.models import Grant, Pairing, Session
from agentweb.access.retention import clear_expired
from agentweb.client import AgentClient, KeyStore
from agentweb.models import AuditEntry
from agentweb.people.checks import check_approval_pages
from agentweb.people.terms import in_words
from agentweb.testing import TestAgent, clock, mandate
from agentweb.wire.errors import AgentError, InputError
from agentweb.wire.signing import SigningKey
from tests.people.conftest import browser
from tests.people.test_approvals import Document
from tests.support.web import send
from tests.support.web_fixtures import many_callers

__all__ = ["many_callers"]

pytestmark = pytest.mark.usefixtures("shop", "many_callers")

GRANTS = "/agent-actions/grants"
CONNECT = "/agent-access/connect"
NOTHING = {"type": "object"}
NOON = 1_790_000_000.0
USD = {"currency": "USD", "per_tx": "20.00", "total": "50.00"}
ASKED = {"scopes": ["cart:*"], "mandate": USD, "expires_in": 86_400, "reason": "To buy paper."}


@pytest.fixture
def shop(catalog: None, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_REQUESTS": True, "PAIRING_RATE": (1e6, 10**6)}
    site_keys.ensure_active_key()

    @action(effect="write", scope="cart:write", title="Fill the cart", description="Put in.", input=NOTHING)
    def add_to_cart(inp: Any, ctx: Any) -> Any:
        return {"for": ctx.user.get_username()}

    @action(effect="write", scope="checkout", title="Pay", description="Pay for it.", input=NOTHING)
    def pay(inp: Any, ctx: Any) -> Any:
        return {}

    @action(effect="write", scope="staff:write", description="Raise.", input=NOTHING, visible=staff_only)
    def raise_wages(inp: Any, ctx: Any) -> Any:
        return {}


def staff_only(user: Any) -> bool:
    return bool(user.is_staff)


def ask(agent: TestAgent, **changes: Any) -> dict[str, Any]:
    answer = agent.post(GRANTS, {**ASKED, **changes})
    assert answer.status_code == 202, answer.content
    return dict(answer.json())


def at(asked: dict[str, Any]) -> str:
    return f"{GRANTS}/requests/{asked['request_id']}"


def decide(client: Client, asked: dict[str, Any], decision: str = "approve", **terms: Any) -> HttpResponse:
    given = {"scopes": ["cart:write"], "life": "3600", **terms}
    return client.post(CONNECT, {"code": asked["user_code"], "decision": decision, **given})


def code_of(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, json.loads(answer.content)["error"]["code"]


def test_an_agent_asks_a_person_narrows_and_the_key_acts_under_the_grant(ann: User) -> None:
    agent, client = TestAgent(), browser(ann)
    with clock(NOON):
        asked = ask(agent)
        assert asked == {
            "request_id": asked["request_id"],
            "user_code": asked["user_code"],
            "approve_url": f"https://shop.example{CONNECT}?code={asked['user_code']}",
            "retry_after": 5,
            "expires": int(NOON) + 900,
        }
        waiting = agent.get(at(asked))
        assert (waiting.status_code, waiting["Retry-After"]) == (202, "5")
        assert waiting.json() == {
            "request_id": asked["request_id"],
            "state": "pending",
            "retry_after": 5,
            "expires": int(NOON) + 900,
        }
        page = Document(client.get(asked["approve_url"].removeprefix("https://shop.example")))
        for said in ("To buy paper.", agent.key.public, "Fill the cart", "50.00 USD", asked["user_code"]):
            assert said in page.text
        assert {each["for"] for each in page.all("label")} <= {each.get("id") for _, each in page.tags}
        assert not page.all("script")
        answer = decide(client, asked, spends="1", per_tx="5", total="12.50")
        assert answer.status_code == 303
        assert "gets its grant" in Document(client.get(answer["Location"])).text
        given = agent.get(at(asked))
        assert given.status_code == 200
        body = given.json()
        assert (body["request_id"], body["state"]) == (asked["request_id"], "approved")
        grant = body["grant"]
        assert (grant["subject"], grant["audience"]) == (agent.key.public, "shop.example")
        assert (grant["scopes"], grant["expires"]) == (["cart:write"], int(NOON) + 3_600)
        assert grant["mandate"] == {"currency": "USD", "per_tx": "5.00", "total": "12.50"}
        assert grant["note"] == "To buy paper."
        assert "delegate" not in grant, "who asks for one cannot hand it on"
        agent.grant_header = body["header"]
        assert agent.post("/agent/add_to_cart").json() == {"for": "ann"}
        # Whoever fetches it again gets the same.
        assert agent.get(at(asked)).json() == body
    assert Grant.objects.get().user == ann
    assert not Session.objects.exists()


@pytest.fixture
def origin(request: pytest.FixtureRequest, settings: Any) -> Iterator[str]:
    # The server would look for files of STATIC_ROOT there.
    settings.STATIC_URL = "/unused/"
    server = request.getfixturevalue("live_server")
    settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": server.url}
    yield str(server.url)
    # Threads that answered hold connections to the database, which is to be dropped.
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(timeout=10)


def test_a_real_client_asks_waits_and_calls(
    transactional_db: None, shop: None, origin: str, ann: User, tmp_path: Path
) -> None:
    with AgentClient(KeyStore(tmp_path / "agent.json", key=SigningKey.generate())) as client:

        def asks() -> Any:
            return client.request_grant(
                origin, ["cart:write"], mandate="USD:5.00/9.00", expires_in=600, reason="To shop."
            )

        asked = asks()
        assert asked.approve_url == f"{origin}{CONNECT}?code={asked.user_code}"
        assert asks() == asked
        decide(browser(ann), {"user_code": asked.user_code}, life="600", spends="1", per_tx="5", total="9")
        assert asks().grant is not None
        [held] = client.grants()
        assert (held["scopes"], held["mandate"]["total"]) == (["cart:write"], "9.00")
        assert client.call_action(origin, "add_to_cart", {}).value == {"for": "ann"}
        again = client.request_grant(origin, ["checkout"], reason="To pay.")
        decide(browser(ann), {"user_code": again.user_code}, "deny")
        with pytest.raises(AgentError) as refused:
            client.request_grant(origin, ["checkout"], reason="To pay.")
        assert refused.value.code == "approval_denied"


def test_it_is_where_the_site_lets_agents_ask_and_nowhere_else(db: None, settings: Any) -> None:
    def manifest() -> dict[str, Any]:
        return dict(json.loads(send("GET", "/.well-known/agent-actions.json").content))

    def required() -> dict[str, Any]:
        return dict(json.loads(send("POST", "/agent/add_to_cart", b"{}").content)["error"])

    agent = TestAgent()
    assert manifest()["endpoints"]["grants"] == f"https://shop.example{GRANTS}"
    assert (required()["code"], required()["grants_url"]) == (
        "grant_required",
        f"https://shop.example{GRANTS}",
    )
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_REQUESTS": False}
    assert "grants" not in manifest()["endpoints"]
    assert (required()["code"], required().get("grants_url")) == ("grant_required", None)
    assert code_of(agent.post(GRANTS, ASKED)) == (404, "not_found")
    assert code_of(agent.get(f"{GRANTS}/requests/gq_x")) == (404, "not_found")


def test_who_signs_nothing_asks_for_nothing(ann: User) -> None:
    asked = ask(TestAgent())
    session = TestAgent.with_session(scopes=["*"], user=ann)
    for answer in (
        send("POST", GRANTS, json.dumps(ASKED).encode()),
        send("GET", at(asked)),
        session.post(GRANTS, ASKED),
        session.get(at(asked)),
        session.request("DELETE", at(asked)),
    ):
        assert code_of(answer) == (401, "grant_required")
    assert Pairing.objects.get().state == "pending"


def test_a_request_is_for_the_eyes_of_its_own_key(ann: User) -> None:
    agent, other = TestAgent(), TestAgent(scopes=["*"], user=ann)
    asked = ask(agent)
    for method in ("GET", "DELETE"):
        assert code_of(other.request(method, at(asked))) == (404, "not_found")
    decide(browser(ann), asked)
    assert code_of(other.get(at(asked))) == (404, "not_found")
    assert agent.get(at(asked)).json()["state"] == "approved"


def test_nobody_decides_by_a_signature_or_a_token(ann: User) -> None:
    agent = TestAgent(scopes=["*"], user=ann)
    asked = ask(agent)
    form = f"code={asked['user_code']}&decision=approve&life=3600&scopes=cart:write".encode()
    plain = {"Content-Type": "application/x-www-form-urlencoded"}
    session = TestAgent.with_session(scopes=["*"], user=ann)
    for caller in (agent, session):
        assert caller.request("POST", CONNECT, form, headers=plain).status_code == 302
    assert Pairing.objects.get().state == "pending"


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"scopes": ["checkout"]}, "was not asked for"),
        ({"scopes": []}, "Tick what it may do"),
        ({"spends": "1", "per_tx": "20.01", "total": "50"}, "At most 20.00 USD"),
        ({"life": "86400"}, "valid choice"),
    ],
    ids=["scope", "none", "money", "life"],
)
def test_a_person_gives_no_more_than_was_asked_for(ann: User, terms: dict[str, Any], said: str) -> None:
    asked = ask(TestAgent(), expires_in=7_200)
    answer = decide(browser(ann), asked, **terms)
    assert answer.status_code == 422
    assert said in Document(answer).text
    assert not Grant.objects.exists()


def test_a_longer_life_is_refused_below_the_form_too(ann: User) -> None:
    asked = ask(TestAgent(), expires_in=60)
    with pytest.raises(InputError) as refused:
        pairing.approve(
            Pairing.objects.get(pk=asked["request_id"]),
            by=ann,
            scopes=["cart:write"],
            mandate=mandate("USD:20.00/51.00"),
            expires_in=61,
            site="shop.example",
        )
    assert [each["field"] for each in refused.value.problems or []] == ["expires_in", "mandate.total"]


@pytest.mark.parametrize(
    ("expires_in", "offered", "chosen"),
    [
        (90, ["90 seconds"], "90"),
        (1_200, ["20 minutes"], "1200"),
        (7_200, ["1 hour", "2 hours"], "7200"),
        (259_200, ["1 hour", "1 day", "3 days"], "86400"),
        (604_800, ["1 hour", "1 day", "7 days"], "86400"),
    ],
)
def test_lives_are_offered_up_to_the_one_that_was_asked_for(
    ann: User, expires_in: int, offered: list[str], chosen: str
) -> None:
    asked = ask(TestAgent(), expires_in=expires_in)
    page = Document(browser(ann).get(CONNECT, {"code": asked["user_code"]}))
    lives = [each for each in page.all("input") if each.get("name") == "life"]
    assert [in_words(int(str(each["value"]))) for each in lives] == offered
    assert [each["value"] for each in lives if "checked" in each] == [chosen]
    assert decide(browser(ann), asked, life=chosen).status_code == 303


def test_what_the_person_may_not_see_they_cannot_give(ann: User) -> None:
    boss = User.objects.create_user("boss", is_staff=True)
    asked = ask(TestAgent(), scopes=["*"])
    assert decide(browser(ann), asked, scopes=["staff:write"]).status_code == 422
    assert decide(browser(boss), asked, scopes=["staff:write"]).status_code == 303
    assert Grant.objects.get().user == boss


def test_it_is_answered_once_by_one_person(ann: User) -> None:
    agent = TestAgent()
    asked = ask(agent)
    first = decide(browser(ann), asked)
    assert decide(browser(ann), asked, "deny")["Location"] == first["Location"]
    assert decide(browser(User.objects.create_user("eve")), asked).status_code == 404
    assert agent.get(at(asked)).json()["state"] == "approved"
    assert Grant.objects.count() == 1


def test_every_end_has_its_own_answer(ann: User) -> None:
    agent = TestAgent()
    denied, old, taken, ended = (ask(agent) for _ in range(4))
    decide(browser(ann), denied, "deny")
    assert code_of(agent.get(at(denied))) == (403, "approval_denied")
    row = Pairing.objects.get(pk=old["request_id"])
    Pairing.objects.filter(pk=row.pk).update(expires_at=row.created_at)
    assert code_of(agent.get(at(old))) == (410, "request_expired")
    assert decide(browser(ann), old).status_code == 404
    for _ in range(2):
        assert agent.request("DELETE", at(taken)).json() == {
            "request_id": taken["request_id"],
            "state": "cancelled",
        }
    assert code_of(agent.get(at(taken))) == (404, "not_found")
    assert decide(browser(ann), taken).status_code == 404
    decide(browser(ann), ended)
    assert code_of(agent.request("DELETE", at(ended))) == (409, "conflict")
    revocations.revoke(Grant.objects.get().pk, "changed my mind")
    assert code_of(agent.get(at(ended))) == (403, "approval_denied")
    assert code_of(agent.get(f"{GRANTS}/requests/gq_nothing")) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, ["/expires_in required", "/reason required", "/scopes required"]),
        ([], [" type"]),
        ({**ASKED, "one_time": True}, ["/one_time unknown_field"]),
        ({**ASKED, "scopes": []}, ["/scopes count"]),
        ({**ASKED, "scopes": ["car*"]}, ["/scopes/0 format"]),
        ({**ASKED, "scopes": ["staff:write"]}, ["/scopes/0 unknown_scope"]),
        ({**ASKED, "mandate": {**USD, "per_tx": 20}}, ["/mandate/per_tx type"]),
        ({**ASKED, "expires_in": 0, "reason": ""}, ["/expires_in range", "/reason format"]),
        ({**ASKED, "expires_in": 90 * 86_400 + 1}, ["/expires_in range"]),
        ({**ASKED, "expires_in": True}, ["/expires_in range"]),
        ({**ASKED, "reason": "two\nlines"}, ["/reason format"]),
        ({**ASKED, "reason": "x" * 201}, ["/reason format"]),
    ],
    ids=[
        "nothing",
        "list",
        "more",
        "none",
        "shape",
        "hidden",
        "sum",
        "two",
        "long",
        "true",
        "lines",
        "words",
    ],
)
def test_a_wrong_request_is_told_all_that_is_wrong_with_it(db: None, body: Any, problems: list[str]) -> None:
    answer = TestAgent().post(GRANTS, body)
    assert code_of(answer) == (422, "invalid_input")
    found = answer.json()["error"]["problems"]
    assert sorted(f"{each['pointer']} {each['code']}" for each in found) == problems
    assert not Pairing.objects.exists()


def test_few_requests_of_one_key_wait_at_once(db: None, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "OPEN_GRANT_REQUESTS": 2}
    agent = TestAgent()
    first, _ = ask(agent), ask(agent)
    assert code_of(agent.post(GRANTS, ASKED)) == (429, "rate_limited")
    ask(TestAgent())
    agent.request("DELETE", at(first))
    ask(agent)


def test_few_requests_of_one_address_wait_at_once(db: None, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "OPEN_PAIRINGS_PER_ADDRESS": 2}
    ask(TestAgent())
    pairing.start(client_name="Desk", wanted=pairing.Wanted(), address="127.0.0.1")
    assert code_of(TestAgent().post(GRANTS, ASKED)) == (429, "rate_limited")


def test_who_asks_without_waiting_is_slowed_down(db: None) -> None:
    agent = TestAgent()
    with clock(NOON):
        asked = ask(agent)
        answers = [agent.get(at(asked)) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [202] * 5 + [429]


def test_a_key_that_was_revoked_gets_nothing(ann: User) -> None:
    agent = TestAgent()
    asked = ask(agent)
    revocations.revoke(agent.key.public, "lost")
    assert decide(browser(ann), asked).status_code == 422
    assert not Grant.objects.exists()
    assert code_of(agent.get(at(asked)))[0] == 401


def test_asking_and_taking_back_leave_rows_in_the_audit_log(db: None) -> None:
    agent = TestAgent()
    asked = ask(agent)
    agent.get(at(asked))
    agent.post(GRANTS, {})
    agent.request("DELETE", at(asked))
    rows = AuditEntry.objects.filter(action="grant-request").order_by("pk")
    assert [(row.status, row.outcome) for row in rows] == [(202, "ok"), (422, "invalid_input"), (200, "ok")]
    assert {row.subject for row in rows} == {agent.key.public}


def test_the_answer_waits_a_day_for_its_key_and_is_cleared_then(ann: User) -> None:
    agent = TestAgent()
    asked = ask(agent)
    decide(browser(ann), asked)
    over = Pairing.objects.get().expires_at
    clear_expired(over + timedelta(hours=23))
    assert agent.get(at(asked)).status_code == 200
    clear_expired(over + timedelta(hours=25))
    assert code_of(agent.get(at(asked))) == (404, "not_found")
    assert Grant.objects.count() == 1


def test_a_site_whose_people_cannot_log_in_is_warned(settings: Any) -> None:
    settings.LOGIN_URL = "/nowhere/"
    [warning] = check_approval_pages(None)
    assert warning.id == "agentweb.W050"
    assert "GRANT_REQUESTS" in warning.msg
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_REQUESTS": False}
    assert check_approval_pages(None) == []
