"""A person connects a program: what the page shows, what they can give, and that nobody else can."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb import action
from agentweb.access import grants, pairing, sessions, site_keys
from agentweb.access.models import Grant, Mandate, Pairing, Session
from agentweb.access.pairing import Started, Wanted
from agentweb.testing import TestAgent, clock, mandate
from tests.people.conftest import browser
from tests.people.test_approvals import Document

pytestmark = pytest.mark.usefixtures("shop")

CONNECT = "/agent-access/connect"
AGENTS = "/agent-access/"
TOKEN = "/agent-access/token"
KEY = "/agent-access/key"
NOTHING = {"type": "object"}
NOON = 1_790_000_000.0


@pytest.fixture
def shop(catalog: None) -> None:
    site_keys.ensure_active_key()

    @action(effect="write", scope="cart:write", title="Fill the cart", description="Put in.", input=NOTHING)
    def add_to_cart(inp: Any, ctx: Any) -> Any:
        return {}

    @action(scope="cart:read", title="Look into the cart", description="Look.", input=NOTHING)
    def view_cart(inp: Any, ctx: Any) -> Any:
        return {}

    @action(effect="spend", scope="checkout", title="Pay", description="Pay for it.", input=NOTHING)
    def pay(inp: Any, ctx: Any) -> Any:
        return {}

    @action(effect="delete", scope="cart:delete", title="Empty the cart", description="All.", input=NOTHING)
    def empty(inp: Any, ctx: Any) -> Any:
        return {}


def ask(name: str = "Desk helper", **wanted: Any) -> Started:
    wanted = {"scopes": ("cart:*", "checkout"), "mandate": mandate("USD:20.00/50.00"), **wanted}
    return pairing.start(client_name=name, wanted=Wanted(**wanted), address="192.0.2.1")


def decide(client: Client, code: str, decision: str = "approve", **terms: Any) -> HttpResponse:
    return client.post(CONNECT, {"code": code, "decision": decision, "life": "86400", **terms})


def ticked(document: Document) -> dict[str, bool]:
    return {
        str(each["value"]): "checked" in each
        for each in document.all("input")
        if each.get("name") == "scopes"
    }


def grant_of(ident: str) -> Any:
    return grants.parse_stored(Session.objects.get(pk=ident).grant.chain)[0]


def test_the_page_says_who_asks_for_what_in_words(ann: User) -> None:
    asked = ask()
    answer = browser(ann).get(f"{CONNECT}?code={asked.code}")
    document = Document(answer)
    for said in ("Desk helper", asked.code, "ann", "Fill the cart", "Put in.", "spends money", "50.00 USD"):
        assert said in document.text
    assert {each["for"] for each in document.all("label")} <= {each.get("id") for _, each in document.tags}
    assert answer["Cache-Control"] == "no-store"
    assert answer["X-Frame-Options"] == "DENY"
    assert not document.all("script")


def test_nothing_that_spends_sends_or_deletes_is_ticked_beforehand(ann: User) -> None:
    document = Document(browser(ann).get(f"{CONNECT}?code={ask().code}"))
    assert ticked(document) == {
        "cart:read": True,
        "cart:write": True,
        "cart:delete": False,
        "checkout": False,
    }
    [spends] = [each for each in document.all("input") if each.get("name") == "spends"]
    assert "checked" not in spends
    left_open = ask(scopes=None, mandate=None)
    document = Document(browser(ann).get(f"{CONNECT}?code={left_open.code}"))
    assert ticked(document) == {
        "cart:read": True,
        "cart:write": False,
        "cart:delete": False,
        "checkout": False,
    }
    assert "may not spend money" in document.text


@pytest.mark.parametrize("written", ["{}", "{} ", " {}\n", "{lower}", "{spaced}", "{bare}"])
def test_a_code_is_found_however_it_is_typed(ann: User, written: str) -> None:
    code = ask().code
    typed = written.format(
        code, lower=code.lower(), spaced=code.replace("-", " "), bare=code.replace("-", "")
    )
    answer = browser(ann).get(CONNECT, {"code": typed})
    assert answer.status_code == 200
    assert code in Document(answer).text


def test_what_was_approved_is_what_the_session_may_do(ann: User) -> None:
    client = browser(ann)
    with clock(NOON):
        asked = ask()
        answer = decide(
            client,
            asked.code,
            scopes=["cart:write", "checkout"],
            spends="1",
            per_tx="5",
            total="12.50",
            life="3600",
        )
    assert (answer.status_code, answer["Location"]) == (303, f"/agent-access?connected={asked.id}")
    grant = grant_of(asked.id)
    assert (grant.scopes, grant.mandate, grant.expires) == (
        ("cart:write", "checkout"),
        mandate("USD:5.00/12.50"),
        int(NOON) + 3_600,
    )
    assert Session.objects.get(pk=asked.id).user == ann
    with clock(NOON):
        assert "Desk helper" in Document(client.get(answer["Location"])).text


def test_money_is_given_only_when_it_is_ticked(ann: User) -> None:
    asked = ask()
    decide(browser(ann), asked.code, scopes=["checkout"], per_tx="5", total="5")
    assert grant_of(asked.id).mandate is None
    assert not Mandate.objects.exists()


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"scopes": ["orders:read"]}, "was not asked for"),
        ({"scopes": ["*"]}, "was not asked for"),
        ({"scopes": ["cart:*"]}, "was not asked for"),
        ({"scopes": []}, "Tick what it may do"),
        ({"spends": "1", "per_tx": "20.01", "total": "50"}, "At most 20.00 USD"),
        ({"spends": "1", "per_tx": "1", "total": "50.01"}, "At most 50.00 USD"),
        ({"spends": "1", "per_tx": "5", "total": "4"}, "at most as much as in all"),
        ({"spends": "1", "per_tx": "5", "total": ""}, "Write how much"),
        ({"spends": "1", "per_tx": "five", "total": "5,00"}, "digits"),
        ({"life": "31536000"}, "valid choice"),
        ({"life": ""}, "required"),
    ],
)
def test_nobody_gives_more_than_was_asked_for_or_what_means_nothing(
    ann: User, terms: dict[str, Any], said: str
) -> None:
    asked = ask()
    answer = decide(browser(ann), asked.code, **{"scopes": ["cart:write"], **terms})
    assert answer.status_code == 422
    assert said in Document(answer).text
    assert not Session.objects.exists()
    assert Pairing.objects.get().state == "pending"


def test_terms_wider_than_what_was_asked_for_are_refused_below_the_form_too(ann: User) -> None:
    asked = ask(scopes=("cart:*",), mandate=mandate("USD:5.00/10.00"))
    row = Pairing.objects.get(pk=asked.id)
    for terms, fields in (
        ({"scopes": ["checkout", "cart:*"]}, ["scopes.0"]),
        ({"mandate": mandate("EUR:1.00/1.00")}, ["mandate.currency"]),
        ({"mandate": mandate("USD:6.00/11.00")}, ["mandate.per_tx", "mandate.total"]),
    ):
        given = {"scopes": ["cart:write"], "mandate": None, "expires_in": 60, "site": "shop.example", **terms}
        with pytest.raises(pairing.InputError) as refused:
            pairing.approve(row, by=ann, **given)
        assert [each["field"] for each in refused.value.problems or []] == fields


@pytest.mark.parametrize("decision", ["", "yes"])
def test_neither_button_decides_nothing(ann: User, decision: str) -> None:
    asked = ask()
    answer = decide(browser(ann), asked.code, decision, scopes=["cart:write"])
    assert answer.status_code == 400
    assert "one of the two buttons" in Document(answer).text
    assert Pairing.objects.get().state == "pending"


def test_wrong_used_and_old_codes_look_alike(ann: User) -> None:
    client = browser(ann)
    used, denied, old = ask(), ask(), ask()
    decide(client, used.code, scopes=["cart:write"])
    decide(client, denied.code, "deny")
    Pairing.objects.filter(pk=old.id).update(expires_at=Pairing.objects.get(pk=old.id).created_at)
    answers = [
        client.get(CONNECT, {"code": code})
        for code in (used.code, denied.code, old.code, "WDJB-MJHT", "\0é", "x")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    eve = browser(User.objects.create_user("eve"))
    for code in (used.code, denied.code, old.code):
        assert decide(eve, code, scopes=["cart:write"]).content == answers[0].content


def test_who_clicks_twice_is_told_what_the_first_click_did(ann: User) -> None:
    client = browser(ann)
    for decision, said in (("approve", "is connected"), ("deny", "Denied.")):
        asked = ask()
        answers = [decide(client, asked.code, decision, scopes=["cart:write"]) for _ in range(2)]
        assert answers[0]["Location"] == answers[1]["Location"]
        # Whoever changes their mind has to end it in the list.
        other = "deny" if decision == "approve" else "approve"
        assert decide(client, asked.code, other, scopes=["cart:write"])["Location"] == answers[0]["Location"]
        assert said in Document(client.get(answers[0]["Location"])).text
    assert Session.objects.count() == 1


@pytest.mark.parametrize("who", ["person", "address"])
def test_guessing_is_limited_for_a_person_and_for_an_address(ann: User, settings: Any, who: str) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CODE_RATE": (0.001, 3)}
    asked = ask()
    others = (
        [browser(ann, REMOTE_ADDR=f"192.0.2.{n}") for n in range(4)]
        if who == "person"
        else [browser(User.objects.create_user(f"u{n}"), REMOTE_ADDR="192.0.2.9") for n in range(4)]
    )
    answers = [client.get(CONNECT, {"code": "WDJB-MJHT"}) for client in others]
    assert [answer.status_code for answer in answers] == [404, 404, 404, 429]
    assert "Retry-After" in answers[3]
    refused = decide(others[3], asked.code, scopes=["cart:write"])
    assert refused.status_code == 429
    assert Pairing.objects.get().state == "pending"


def test_what_the_program_calls_itself_is_shown_harmlessly(ann: User) -> None:
    asked = ask("<script>alert(1)</script>{{ 7 }}")
    content = browser(ann).get(f"{CONNECT}?code={asked.code}").content.decode()
    assert "<script" not in content
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7 }}" in content
    Pairing.objects.update(client_name="a\u202eb")
    assert "a[U+202E]b" in browser(ann).get(f"{CONNECT}?code={asked.code}").content.decode()


@pytest.mark.parametrize(
    "address", [CONNECT, AGENTS, TOKEN, KEY, "/agent-access/receipts", "/agent-access/end"]
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_who_has_not_logged_in_is_sent_to_do_so_and_comes_back(db: None, address: str, method: str) -> None:
    asked = ask()
    answer = getattr(browser(), method)(f"{address}?code={asked.code}")
    assert answer.status_code == 302
    assert answer["Location"] == f"/accounts/login/?next={address}%3Fcode%3D{asked.code}"
    assert answer["Cache-Control"] == "no-store"
    assert Pairing.objects.get().state == "pending"


def test_no_token_and_no_signature_approves_anything(ann: User) -> None:
    asked = ask()
    _, other = sessions.create(user=ann, scopes=["*"], expires_in=60, site="shop.example")
    form = {"code": asked.code, "decision": "approve", "life": "3600", "scopes": ["cart:write"]}
    for token in (asked.token, other):
        bearer = {"Authorization": f"Bearer {token}"}
        for address in (CONNECT, TOKEN, "/agent-access/end"):
            assert Client().post(address, form, headers=bearer).status_code == 302
            assert Client().get(address, headers=bearer).status_code == 302
    agent = TestAgent(scopes=["*"], user=ann)
    for address in (CONNECT, TOKEN, "/agent-access/end"):
        body = f"code={asked.code}&decision=approve&life=3600&scopes=cart:write".encode()
        form_type = {"Content-Type": "application/x-www-form-urlencoded"}
        assert agent.request("POST", address, body, headers=form_type).status_code == 302
    assert Pairing.objects.get().state == "pending"
    assert Session.objects.count() == 1


def test_a_form_of_another_site_approves_nothing(ann: User) -> None:
    asked = ask()
    client = browser(ann, enforce_csrf_checks=True)
    for address in (CONNECT, TOKEN, "/agent-access/end"):
        assert decide_at(client, address, asked.code).status_code == 403
    assert Pairing.objects.get().state == "pending"


def decide_at(client: Client, address: str, code: str) -> HttpResponse:
    form = {"code": code, "decision": "approve", "life": "3600", "scopes": ["cart:write"], "id": "ss_"}
    return client.post(address, form)


def test_a_site_without_a_key_says_so_to_the_person(ann: User) -> None:
    asked = ask()
    site_keys.SiteKey.objects.all().delete()
    answer = decide(browser(ann), asked.code, scopes=["cart:write"])
    assert answer.status_code == 422
    assert "Nothing was given yet" in Document(answer).text
    assert Pairing.objects.get().state == "pending"


def make(client: Client, **terms: Any) -> HttpResponse:
    [intent] = [
        each["value"] for each in Document(client.get(TOKEN)).all("input") if each.get("name") == "intent"
    ]
    return client.post(
        TOKEN,
        {"intent": intent, "client_name": "My script", "life": "3600", "scopes": ["cart:read"], **terms},
    )


def test_a_person_makes_a_token_which_is_shown_once(ann: User) -> None:
    client = browser(ann)
    [intent] = [
        each["value"] for each in Document(client.get(TOKEN)).all("input") if each.get("name") == "intent"
    ]
    form = {
        "intent": intent,
        "client_name": "My script",
        "life": "3600",
        "scopes": ["cart:read", "checkout"],
        "currency": "USD",
        "total": "30",
        "per_tx": "",
    }
    answer = client.post(TOKEN, form)
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    [token] = [each["value"] for each in Document(answer).all("input") if each.get("id") == "token"]
    caller = sessions.authenticate(str(token), "shop.example", "")
    assert (caller.scopes, caller.user) == (("cart:read", "checkout"), ann)
    assert caller.grant is not None
    assert caller.grant.mandate == mandate("USD:30.00/30.00")
    again = client.post(TOKEN, form)
    assert again.status_code == 422
    assert "agw_" not in again.content.decode()
    assert Session.objects.count() == 1
    assert "agw_" not in client.get(AGENTS).content.decode()


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"client_name": ""}, "required"),
        ({"client_name": "a\u202eb"}, "one line"),
        ({"scopes": ["orders:read"]}, "was not asked for"),
        ({"total": "5"}, "currency"),
        ({"currency": "USD"}, "Write how much"),
        ({"currency": "JPY", "total": "5.5"}, "JPY"),
        ({"intent": "x"}, "valid value"),
    ],
)
def test_a_token_on_wrong_terms_is_not_made(ann: User, terms: dict[str, Any], said: str) -> None:
    answer = make(browser(ann), **terms)
    assert answer.status_code == 422
    assert said in Document(answer).text
    assert not Grant.objects.exists()


def test_the_pages_ask_the_database_as_often_for_many_agents(ann: User) -> None:
    counts = []
    for number in (1, 4):
        client = browser(ann)
        for _ in range(number):
            sessions.create(user=ann, scopes=["cart:*"], expires_in=60, site="shop.example")
            TestAgent(scopes=["cart:*"], user=ann, spending="USD:5.00/10.00")
        client.get(AGENTS)
        with CaptureQueriesContext(connection) as captured:
            client.get(AGENTS)
        counts.append(len(captured))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("patterns", "offered"),
    [
        (("*",), ["cart:delete", "cart:read", "cart:write", "checkout"]),
        (("cart:write", "checkout"), ["cart:write", "checkout"]),
        (("orders:*",), []),
    ],
)
def test_a_pattern_is_spelt_out_in_the_scopes_of_today(
    ann: User, patterns: tuple[str, ...], offered: list[str]
) -> None:
    asked, client = ask(scopes=patterns, mandate=None), browser(ann)
    document = Document(client.get(f"{CONNECT}?code={asked.code}"))
    assert sorted(ticked(document)) == offered
    if not offered:
        assert "nothing of this site that you could give" in document.text
    answer = decide(client, asked.code, scopes=offered)
    assert answer.status_code == (303 if offered else 422)
    assert [
        tuple(sorted(session.grant and grant_of(session.pk).scopes)) for session in Session.objects.all()
    ] == [tuple(offered)] * bool(offered)


def test_a_site_without_scopes_connects_agents_too(ann: User) -> None:
    @action(effect="write", title="Wave", description="Wave at somebody.", input=NOTHING)
    def wave(inp: Any, ctx: Any) -> Any:
        return {}

    asked, client = ask(scopes=("orders:*",), mandate=None), browser(ann)
    assert "Wave" in Document(client.get(f"{CONNECT}?code={asked.code}")).text
    assert decide(client, asked.code).status_code == 303
    assert grant_of(asked.id).scopes == ("agentweb:no-scope",)
    assert "no-scope" not in client.get(AGENTS).content.decode()


def test_nothing_begins_in_a_login_that_has_just_ended(ann: User) -> None:
    asked, client = ask(), browser(ann)
    session = client.session
    session["_agentweb_login"] = "m" * 22
    session.save()
    sessions.log_out("m" * 22)
    answer = decide(client, asked.code, scopes=["cart:write"])
    assert answer.status_code == 422
    assert "You have logged out" in Document(answer).text
    assert Pairing.objects.get().state == "pending"
    assert make(client).status_code == 422
    assert not Session.objects.exists()
