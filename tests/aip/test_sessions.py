"""A program asks for a session over the wire, waits, uses it and gives it up."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb import action, page
from agentweb.access import sessions
from agentweb.access.models import Pairing, Revocation, Session
from agentweb.aip.sessions import read
from agentweb.testing import clock
from agentweb.wire.encoding import new_nonce
from tests.aip import sites
from tests.people.conftest import browser
from tests.support.web import send
from tests.support.web_fixtures import catalog, many_callers, site_key

__all__ = ["catalog", "many_callers", "site_key"]

pytestmark = pytest.mark.usefixtures("catalog", "site_key")

SESSIONS = "/__aim/sessions"
CURRENT = "/__aim/sessions/current"
CONNECT = "/agent-access/connect"
ASKED = {"client_name": "Desk helper", "scopes": ["cart:*"]}
NOTHING = {"type": "object"}
NOON = 1_790_000_000.0


@pytest.fixture(autouse=True)
def actions(catalog: None) -> None:
    @action(effect="write", scope="cart:write", description="Put it into the cart.", input=NOTHING)
    def add_to_cart(inp: Any, ctx: Any) -> Any:
        return {"user": ctx.user.get_username()}

    @action(effect="spend", scope="pay", description="Pay.", input=NOTHING)
    def pay(inp: Any, ctx: Any) -> Any:
        return {"receipt": ctx.charge(3, "USD", item="tea")["id"]}

    @action(
        effect="write",
        scope="payroll:write",
        description="Hidden.",
        input=NOTHING,
        visible=lambda user: user.is_staff,
    )
    def raise_wages(inp: Any, ctx: Any) -> Any:
        return {}


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password="one of ann's", first_name="Ann", last_name="Lee")


def ask(**asked: Any) -> dict[str, Any]:
    answer = send("POST", SESSIONS, json.dumps({**ASKED, **asked}).encode())
    assert answer.status_code == 201, answer.content
    return dict(json.loads(answer.content))


def call(
    token: str, method: str = "GET", path: str = CURRENT, value: Any = None, **headers: str
) -> HttpResponse:
    body = b"" if value is None else json.dumps(value).encode()
    return send(method, path, body, Authorization=f"Bearer {token}", **headers)


def body_of(answer: HttpResponse) -> Any:
    return json.loads(answer.content)


def error_of(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, body_of(answer)["error"]["code"]


def decide(client: Client, code: str, decision: str = "approve", **terms: Any) -> HttpResponse:
    return client.post(CONNECT, {"code": code, "decision": decision, "life": "86400", **terms})


def approved(user: User, **terms: Any) -> str:
    asked = ask()
    answer = decide(browser(user), asked["user_code"], scopes=["cart:write"], **terms)
    assert answer.status_code == 303, answer.content
    return str(asked["token"])


def test_a_program_gets_a_token_and_a_code_and_where_a_person_enters_it(db: None) -> None:
    asked = ask()
    assert set(asked) == {
        "token",
        "session_id",
        "user_code",
        "verification_url",
        "verification_url_complete",
        "expires_in",
        "interval",
    }
    assert asked["token"].startswith("agw_")
    assert asked["session_id"].startswith("ss_")
    assert asked["verification_url"] == f"https://shop.example{CONNECT}"
    assert asked["verification_url_complete"] == f"https://shop.example{CONNECT}?code={asked['user_code']}"
    assert (asked["expires_in"], asked["interval"]) == (900, 3)
    letters = asked["user_code"].replace("-", "")
    assert len(letters) == 8
    assert set(letters) <= set("BCDFGHJKMNPQRSTVWXZ")
    kept = " ".join(map(str, Pairing.objects.values().get().values()))
    assert asked["token"] not in kept
    assert letters not in kept
    assert asked["user_code"] not in kept


@pytest.mark.requirement("AIP-5.9")
def test_the_token_opens_nothing_until_the_person_agreed(ann: User) -> None:
    asked = ask()
    for path, method in ((CURRENT, "GET"), ("/agent/add_to_cart", "POST")):
        waiting = call(asked["token"], method, path, {} if method == "POST" else None)
        assert error_of(waiting) == (401, "session_pending")
        assert body_of(waiting)["error"]["retry_after"] == 3
        assert waiting["Retry-After"] == "3"
    assert decide(browser(ann), asked["user_code"], scopes=["cart:write"]).status_code == 303
    assert body_of(call(asked["token"], "POST", "/agent/add_to_cart", {})) == {"user": "ann"}
    current = body_of(call(asked["token"]))
    assert current.pop("expires_at") > 0
    assert current == {
        "session_id": asked["session_id"],
        "state": "active",
        "scopes": ["cart:write"],
        "mandate": None,
        "user": "Ann Lee",
    }


def test_waiting_is_no_failure_and_asking_without_waiting_is_limited(db: None, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "FAILURE_RATE": (0.01, 2)}
    token = ask()["token"]
    codes = [error_of(call(token)) for _ in range(6)]
    assert codes[:5] == [(401, "session_pending")] * 5
    assert codes[5] == (429, "rate_limited")


def test_a_person_who_says_no_is_told_to_the_program(ann: User) -> None:
    asked = ask()
    assert decide(browser(ann), asked["user_code"], "deny").status_code == 303
    assert error_of(call(asked["token"])) == (401, "session_denied")
    decide(browser(ann), asked["user_code"], scopes=["cart:write"])
    assert error_of(call(asked["token"])) == (401, "session_denied")
    assert not Session.objects.exists()


def test_a_request_that_nobody_answers_ends(ann: User) -> None:
    with clock(NOON):
        asked = ask()
    with clock(NOON + 899):
        assert error_of(call(asked["token"])) == (401, "session_pending")
    with clock(NOON + 900):
        assert error_of(call(asked["token"])) == (401, "session_expired")
        assert decide(browser(ann), asked["user_code"], scopes=["cart:write"]).status_code == 404


@pytest.mark.parametrize("is_approved", [True, False])
def test_a_program_gives_its_session_up_once_and_again(ann: User, is_approved: bool) -> None:
    asked = ask()
    if is_approved:
        decide(browser(ann), asked["user_code"], scopes=["cart:write"])
    for _ in range(2):
        answer = call(asked["token"], "DELETE")
        assert (answer.status_code, body_of(answer)) == (200, {"ended": True})
    assert error_of(call(asked["token"])) == (401, "session_revoked")
    decide(browser(ann), asked["user_code"], scopes=["cart:write"])
    assert error_of(call(asked["token"])) == (401, "session_revoked")
    assert Revocation.objects.count() == is_approved


def test_who_shows_no_session_is_told_where_to_get_one(db: None) -> None:
    for method in ("GET", "DELETE"):
        answer = send(method, CURRENT)
        assert error_of(answer) == (401, "session_required")
        error = body_of(answer)["error"]
        assert error["sessions_url"] == f"https://shop.example{SESSIONS}"
        assert error["connect_url"] == f"https://shop.example{CONNECT}"
    assert error_of(call("agw_" + "A" * 43, "DELETE")) == (401, "session_invalid")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([], [("body", "type")]),
        ({}, [("client_name", "required")]),
        ({"client_name": " "}, [("client_name", "format")]),
        ({"client_name": "x" * 101}, [("client_name", "format")]),
        ({"client_name": "a\u202eb"}, [("client_name", "format")]),
        ({"client_name": "a", "password": 1}, [("password", "unknown_field")]),
        ({"client_name": "a", "scopes": []}, [("scopes", "count")]),
        ({"client_name": "a", "scopes": "cart:*"}, [("scopes", "count")]),
        (
            {"client_name": "a", "scopes": ["car*", 5, "nothing:here", "payroll:write", "*"]},
            [
                ("scopes.0", "format"),
                ("scopes.1", "format"),
                ("scopes.2", "unknown_scope"),
                ("scopes.3", "unknown_scope"),
            ],
        ),
        ({"client_name": "a", "mandate": "USD"}, [("mandate", "type")]),
        ({"client_name": "a", "mandate": {"currency": "usd"}}, [("mandate.currency", "currency")]),
        (
            {"client_name": "a", "mandate": {"currency": "USD", "per_tx": 5, "total": "0.001", "x": 1}},
            [("mandate.x", "unknown_field"), ("mandate.per_tx", "type"), ("mandate.total", "amount")],
        ),
        (
            {"client_name": "a", "mandate": {"currency": "USD", "per_tx": "5", "total": "4"}},
            [("mandate.per_tx", "range")],
        ),
        ({"client_name": "a", "pages": ["cart", 1, "/cart"]}, [("pages.0", "format"), ("pages.1", "format")]),
        ({"scopes": [], "pages": 1}, [("client_name", "required"), ("scopes", "count"), ("pages", "count")]),
    ],
)
def test_everything_that_is_wrong_with_a_request_is_said_at_once(db: None, asked: Any, found: Any) -> None:
    answer = send("POST", SESSIONS, json.dumps(asked).encode())
    assert error_of(answer) == (422, "invalid_input")
    problems = body_of(answer)["error"]["problems"]
    assert [(each["field"], each["code"]) for each in problems] == found
    assert all(each["in"] == "request" for each in problems)
    assert not Pairing.objects.exists()


def test_a_scope_that_not_everybody_may_know_of_is_offered_to_who_may(ann: User) -> None:
    asked = body_of(send("POST", SESSIONS, b'{"client_name": "a"}'))
    assert "payroll" not in browser(ann).get(f"{CONNECT}?code={asked['user_code']}").content.decode()
    boss = User.objects.create_user("boss", is_staff=True)
    assert "payroll:write" in browser(boss).get(f"{CONNECT}?code={asked['user_code']}").content.decode()


def test_a_program_may_ask_for_what_a_page_offers(ann: User) -> None:
    page("/till", title="Till", actions=["pay"])
    page("/wages", title="Wages", actions=["raise_wages"], permission=lambda user: user.is_staff)
    # A page that does not exist, and one that must not be known of, are taken alike.
    asked = body_of(
        send("POST", SESSIONS, b'{"client_name": "a", "pages": ["/till/", "/wages", "/nowhere"]}')
    )
    shown = browser(ann).get(f"{CONNECT}?code={asked['user_code']}").content.decode()
    assert 'value="pay"' in shown
    assert "cart:write" not in shown
    assert "payroll" not in shown
    assert decide(browser(ann), asked["user_code"], scopes=["pay"]).status_code == 303
    assert body_of(call(asked["token"]))["scopes"] == ["pay"]


@pytest.mark.parametrize("prefix", ["", "/for/agents"])
def test_a_program_names_pages_as_their_manifests_do(ann: User, settings: Any, prefix: str) -> None:
    if prefix:
        settings.ROOT_URLCONF = sites.UnderAPath
    page("/till", title="Till", actions=["pay"])
    page("/t/<str:name>", title="Another", actions=["add_to_cart"])
    asked = {"client_name": "a", "pages": [f"{prefix}/till/", f"{prefix}/t/a%20b", f"{prefix}/nowhere"]}
    answer = send("POST", prefix + SESSIONS, json.dumps(asked).encode())
    code = body_of(answer)["user_code"]
    shown = browser(ann).get(f"{prefix}{CONNECT}?code={code}").content.decode()
    assert 'value="pay"' in shown
    assert 'value="cart:write"' in shown
    assert read({**asked, "pages": ["/till"]})[1].pages == ("/till",)


def test_a_page_with_nul_is_no_page(db: None) -> None:
    answer = send("POST", SESSIONS, b'{"client_name": "a", "pages": ["/a%00"]}')
    assert error_of(answer) == (422, "invalid_input")


def test_a_mandate_is_told_with_what_is_spent_and_left(ann: User) -> None:
    asked = ask(scopes=["pay"], mandate={"currency": "USD", "per_tx": "5.00", "total": "20.00"})
    terms = {"scopes": ["pay"], "spends": "1", "per_tx": "4", "total": "10.00"}
    assert decide(browser(ann), asked["user_code"], **terms).status_code == 303
    paid = call(asked["token"], "POST", "/agent/pay", {}, **{"Idempotency-Key": "k" * 20})
    assert paid.status_code == 200, paid.content
    assert body_of(call(asked["token"]))["mandate"] == {
        "currency": "USD",
        "per_tx": "4.00",
        "total": "10.00",
        "spent": "3.00",
        "left": "7.00",
    }


def test_one_address_starts_so_many_and_others_go_on(db: None, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "PAIRING_RATE": (0.001, 2)}
    body = json.dumps(ASKED).encode()
    assert [send("POST", SESSIONS, body).status_code for _ in range(3)] == [201, 201, 429]
    other = Client(REMOTE_ADDR="198.51.100.7")
    assert send("POST", SESSIONS, body, client=other).status_code == 201


def test_only_so_many_wait_at_once(ann: User, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "OPEN_PAIRINGS": 2}
    first = ask()
    ask()
    refused = send("POST", SESSIONS, json.dumps(ASKED).encode())
    assert error_of(refused) == (429, "rate_limited")
    decide(browser(ann), first["user_code"], "deny")
    ask()


def test_only_so_many_of_one_address_wait_and_others_go_on(db: None, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "OPEN_PAIRINGS_PER_ADDRESS": 2, "OPEN_PAIRINGS": 4}
    body = json.dumps(ASKED).encode()
    assert [send("POST", SESSIONS, body).status_code for _ in range(3)] == [201, 201, 429]
    other = Client(REMOTE_ADDR="198.51.100.7")
    assert send("POST", SESSIONS, body, client=other).status_code == 201
    # One subscriber has a whole network of IPv6, and is one address here.
    for number in (1, 2):
        third = Client(REMOTE_ADDR=f"2001:db8::{number}")
        assert send("POST", SESSIONS, body, client=third).status_code == (201, 429)[number - 1]
    assert "198.51.100" not in "".join(Pairing.objects.values_list("address", flat=True))


def test_a_request_that_is_taken_back_makes_room_at_its_address(db: None, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "OPEN_PAIRINGS_PER_ADDRESS": 1}
    asked = ask()
    body = json.dumps(ASKED).encode()
    assert send("POST", SESSIONS, body).status_code == 429
    assert call(asked["token"], "DELETE").status_code == 200
    ask()


def log_out(client: Client) -> None:
    client.logout()


def set_password(client: Client) -> None:
    user = User.objects.get(username="ann")
    user.set_password("another")
    user.save()


def close_account(client: Client) -> None:
    User.objects.filter(username="ann").update(is_active=False)


@pytest.mark.parametrize(
    ("end", "reason"), [(log_out, "logged_out"), (set_password, "password"), (close_account, "inactive")]
)
def test_what_ends_a_login_ends_the_session_at_the_next_request(
    ann: User, end: Callable[[Client], None], reason: str
) -> None:
    asked, client = ask(), browser(ann)
    decide(client, asked["user_code"], scopes=["cart:write"])
    other = approved(ann)  # in another browser
    assert call(asked["token"]).status_code == 200
    end(client)
    refused = call(asked["token"])
    assert error_of(refused) == (401, "session_revoked")
    assert body_of(refused)["error"]["reason"] == reason
    assert (call(other).status_code == 200) == (end is log_out)


def test_logging_out_costs_the_same_for_any_number_of_sessions(ann: User) -> None:
    counts = []
    sessions.log_out(new_nonce())  # the list of revocations has a head from now on
    for number in (1, 3):
        client = browser(ann)
        asked = [ask() for _ in range(number)]
        for each in asked:
            decide(client, each["user_code"], scopes=["cart:write"])
        login = Session.objects.order_by("-created_at")[0].login
        with CaptureQueriesContext(connection) as captured:
            assert sessions.log_out(login) == number
        counts.append(len(captured))
        assert {error_of(call(each["token"])) for each in asked} == {(401, "session_revoked")}
    assert counts[0] == counts[1]
    assert Revocation.objects.count() == 4
