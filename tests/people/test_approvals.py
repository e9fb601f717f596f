"""The page on which a person decides: who gets to see it, what it shows, and what a click does."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb import action
from agentweb.access import revocations, sessions, site_keys
from agentweb.access.models import Approval, Grant, Session
from agentweb.testing import TestAgent, clock
from agentweb.wire.clock import now_datetime
from tests.people.conftest import browser, page, state

pytestmark = pytest.mark.django_db
Ask = Callable[..., str]
VOID = {"meta", "link", "input", "br"}


class Document(HTMLParser):
    """The page as a tree of open tags: raises for what is not closed, and keeps what tests look at."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(response.content.decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def staff(*permissions: str) -> User:
    user = User.objects.create_user("sam", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def test_the_address_in_the_answer_is_the_page(ann: User, site: None) -> None:
    answer = TestAgent(scopes=["mail:send"], user=ann).post("/agent/send_letter", {"to": "bob"})
    error = answer.json()["error"]
    assert answer["Retry-After"] == str(error["retry_after"])
    url = error["approve_url"]
    assert url == f"https://shop.example{page(error['approval'])}"
    assert browser(ann).get(url.removeprefix("https://shop.example")).status_code == 200


def test_approving_lets_the_agent_do_it_and_the_page_says_what_became_of_it(
    ann: User, ask: Ask, ran: list[Any]
) -> None:
    agent = TestAgent(scopes=["mail:send"], user=ann)
    ident = ask(ann, agent=agent)
    ann_s = browser(ann)
    answer = ann_s.post(page(ident), {"decision": "approve"})
    assert (answer.status_code, answer["Location"]) == (303, page(ident))
    assert "Approved." in Document(ann_s.get(page(ident))).text
    assert not ran
    assert agent.post("/agent/send_letter", {"to": "bob"}).json() == {"sent": True}
    assert ran == [{"to": "bob"}]
    assert "done by the agent" in Document(ann_s.get(page(ident))).text
    assert ann_s.post(page(ident), {"decision": "approve"}).status_code == 303
    assert agent.post("/agent/send_letter", {"to": "bob"}).status_code == 428


def test_denying_refuses_the_agent(ann: User, ask: Ask, ran: list[Any]) -> None:
    agent = TestAgent(scopes=["mail:send"], user=ann)
    ident = ask(ann, agent=agent)
    answer = browser(ann).post(page(ident), {"decision": "deny"}, follow=True)
    assert "Denied." in Document(answer).text
    refused = agent.post("/agent/send_letter", {"to": "bob"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "approval_denied")
    browser(ann).post(page(ident), {"decision": "approve"})
    assert (state(ident), ran) == ("denied", [])


@pytest.mark.parametrize("method", ["get", "post"])
def test_an_anonymous_visitor_is_sent_to_log_in_whether_the_call_exists_or_not(
    ann: User, ask: Ask, method: str, settings: Any
) -> None:
    settings.LOGIN_URL = "/enter/"
    ident = ask(ann)
    for address in (page(ident), page("ap_" + "A" * 22), "/agent-access/approvals"):
        answer = getattr(browser(), method)(address, {"decision": "approve"} if method == "post" else None)
        assert (answer.status_code, answer["Location"]) == (302, f"/enter/?next={address}")
    assert state(ident) == "pending"


@pytest.mark.parametrize("method", ["get", "post"])
def test_to_others_the_call_does_not_exist(ann: User, ask: Ask, method: str) -> None:
    ident = ask(ann)
    for who in (
        User.objects.create_user("eve"),
        User.objects.create_user("root", is_superuser=True),  # no staff
        staff("view_approval", "change_approval"),
    ):
        client = browser(who)
        answers = [
            getattr(client, method)(page(each), {"decision": "approve"} if method == "post" else None)
            for each in (ident, "ap_" + "A" * 22)
        ]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].content.replace(ident.encode(), b"") == answers[1].content.replace(
            b"ap_" + b"A" * 22, b""
        )
        assert "Send a letter" not in Document(client.get("/agent-access/approvals")).text
    assert state(ident) == "pending"


def test_staff_with_the_permission_decide_also_for_agents_that_act_for_nobody(ann: User, ask: Ask) -> None:
    hers, nobodys = ask(ann), ask(None)
    assert browser(ann).get(page(nobodys)).status_code == 404
    assert "For whom" not in Document(browser(ann).get(page(hers))).text
    sam = browser(staff("decide_approval"))
    for ident, whom in ((hers, "ann"), (nobodys, "Nobody in particular")):
        text = re.sub(r"\s+", " ", Document(sam.get(page(ident))).text)
        assert f"For whom {whom} " in text
        assert "in your name" not in text
        assert sam.post(page(ident), {"decision": "approve"}).status_code == 303
        assert state(ident) == "approved"


def test_an_inactive_person_decides_nothing(ann: User, ask: Ask, settings: Any) -> None:
    settings.AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.AllowAllUsersModelBackend"]
    ident = ask(ann)
    client = browser(ann)
    User.objects.update(is_active=False)
    assert client.post(page(ident), {"decision": "approve"}).status_code == 404
    assert state(ident) == "pending"


def test_the_agent_itself_cannot_decide_with_its_signature(ann: User, ask: Ask) -> None:
    agent = TestAgent(scopes=["mail:send"], user=ann)
    ident = ask(ann, agent=agent)
    answer = agent.request(
        "POST",
        page(ident),
        b"decision=approve",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/accounts/login/")
    assert state(ident) == "pending"


def test_a_session_waits_too_and_its_own_token_cannot_decide(ann: User, site: None, ran: list[Any]) -> None:
    site_keys.ensure_active_key()
    _, token = sessions.create(
        user=ann, scopes=["mail:send"], expires_in=3_600, site="shop.example", client_name="Desk helper"
    )
    bearer = {"Authorization": f"Bearer {token}"}

    def call() -> Any:
        return Client().post(
            "/agent/send_letter", {"to": "bob"}, content_type="application/json", headers=bearer, secure=True
        )

    ident = call().json()["error"]["approval"]
    answer = Client().post(page(ident), {"decision": "approve"}, headers=bearer)
    assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/accounts/login/")
    assert state(ident) == "pending"
    ann_s = browser(ann)
    assert "Desk helper" in Document(ann_s.get(page(ident))).text
    assert "Desk helper" in Document(ann_s.get("/agent-access/approvals")).text
    ann_s.post(page(ident), {"decision": "approve"})
    assert (call().json(), ran) == ({"sent": True}, [{"to": "bob"}])


class BearerMiddleware:
    """As some sites have it: whoever shows a token is the token's person, everywhere."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        if request.headers.get("Authorization") == "Bearer agw_token":
            request.user = User.objects.get(username="ann")
        return self.get_response(request)


def test_a_token_for_the_person_is_not_the_person(ann: User, ask: Ask, settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.BearerMiddleware"]
    ident = ask(ann)
    for client in (browser(), browser(User.objects.create_user("eve"))):
        answer = client.post(
            page(ident), {"decision": "approve"}, headers={"Authorization": "Bearer agw_token"}
        )
        assert answer.status_code == 302
    assert state(ident) == "pending"


@pytest.mark.parametrize("has_middleware", [True, False])
def test_a_form_of_another_site_decides_nothing(
    ann: User, ask: Ask, settings: Any, has_middleware: bool
) -> None:
    if not has_middleware:
        settings.MIDDLEWARE = [each for each in settings.MIDDLEWARE if "csrf" not in each]
    ident = ask(ann)
    client = browser(ann, enforce_csrf_checks=True)
    assert client.post(page(ident), {"decision": "approve"}).status_code == 403
    assert state(ident) == "pending"
    form = Document(client.get(page(ident)))
    [token] = [field["value"] for field in form.all("input") if field["name"] == "csrfmiddlewaretoken"]
    answer = client.post(page(ident), {"decision": "approve", "csrfmiddlewaretoken": token})
    assert (answer.status_code, state(ident)) == (303, "approved")


@pytest.mark.parametrize("enforce", [True, False])
@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("multipart/form-data", b"decision=approve", 400),
        ("application/x-www-form-urlencoded; charset=latin-1", b"decision=approve", 400),
        ("application/x-www-form-urlencoded", b"decision=approve" + b"&a=1" * 1_001, 400),
        ("application/x-www-form-urlencoded", b"decision=approve&a=" + b"a" * 2_700_000, 413),
    ],
    ids=["no boundary", "latin-1", "many fields", "large"],
)
def test_a_form_that_cannot_be_read_decides_nothing_and_is_no_crash(
    ann: User, ask: Ask, enforce: bool, content_type: str, body: bytes, status: int
) -> None:
    ident = ask(ann)
    client = browser(ann, enforce_csrf_checks=enforce, raise_request_exception=False)
    client.cookies["csrftoken"] = "a" * 32
    answer = client.post(page(ident), body, content_type=content_type)
    assert (answer.status_code, state(ident)) == (status, "pending")
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("decision", ["", "APPROVE", "approve\0", "approved", None])
def test_a_decision_that_is_none_decides_nothing(ann: User, ask: Ask, decision: str | None) -> None:
    ident = ask(ann)
    answer = browser(ann).post(page(ident), {} if decision is None else {"decision": decision})
    assert answer.status_code == 400
    assert "Choose one of the two buttons." in Document(answer).text
    assert state(ident) == "pending"


def test_a_get_decides_nothing(ann: User, ask: Ask) -> None:
    ident = ask(ann)
    browser(ann).get(page(ident) + "?decision=approve")
    browser(ann).head(page(ident) + "?decision=approve")
    assert state(ident) == "pending"


@pytest.mark.parametrize("ident", ["ap_short", "gr_" + "A" * 22, "ap_" + "A" * 23, "ap_" + "é" * 22])
def test_what_is_no_id_is_no_page(ann: User, ident: str) -> None:
    assert browser(ann).get(page(ident)).status_code == 404


def test_the_page_says_who_asks_for_what_at_what_cost_with_what_input_until_when(
    ann: User, catalog: None
) -> None:
    @action(
        effect="spend",
        scope="shop:pay",
        title="Pay a bill",
        description="Pay for one item.",
        input={
            "type": "object",
            "required": ["price"],
            "properties": {"price": {"type": "number"}, "card_number": {"type": "string"}, "to": {}},
        },
        cost={"field": "price", "currency": "EUR"},
        confirm="person",
    )
    def pay(inp: Any, ctx: Any) -> None: ...

    with clock(1_790_000_000):
        agent = TestAgent(scopes=["shop:pay"], user=ann, spending="EUR:100.00/100.00", note="Ann's shopper")
        given = {"price": 82, "card_number": "4111", "to": {"lines": ["Main St", 3, True, None, ""]}}
        ident = agent.post("/agent/pay", given).json()["error"]["approval"]
        text = re.sub(r"\s+", " ", Document(browser(ann).get(page(ident))).text)
    for said in (
        "Pay a bill",
        "Pay for one item. It spends money.",
        "at most 82.00 EUR",
        agent.key.public,
        "Ann's shopper",
        "price 82",
        "card_number secret, not shown",
        "to › lines › 1 Main St to › lines › 2 3 to › lines › 3 yes",
        "to › lines › 4 (nothing) to › lines › 5 (empty text)",
        "Sept. 21, 2026",
    ):
        assert said in text
    assert "4111" not in text


def test_a_session_is_shown_by_the_name_that_it_gave_itself(ann: User, ask: Ask) -> None:
    ident = ask(ann)
    at = now_datetime()
    Session.objects.create(
        id="ss_" + "A" * 22,
        token_digest="d",
        grant=Grant.objects.get(),
        client_name="Shopper\u202e<b>",
        created_at=at,
        expires_at=at,
    )
    Approval.objects.update(subject="session:ss_" + "A" * 22)
    response = browser(ann).get(page(ident))
    assert "Shopper[U+202E]<b>" in Document(response).text
    assert b"<b>" not in response.content


EVIL = [
    ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ("{{ 7|add:7 }}{% now 'Y' %}", "{{ 7|add:7 }}{% now 'Y' %}"),
    ("pay \u202e001 ot", "pay [U+202E]001 ot"),
    ("a\u200bb\u0007\x1b[2J", "a[U+200B]b[U+0007][U+001B][2J"),
    ("first\nsecond", "first\nsecond"),
]


@pytest.mark.parametrize(("value", "shown"), EVIL)
def test_what_an_agent_wrote_is_shown_and_never_obeyed(ann: User, ask: Ask, value: str, shown: str) -> None:
    response = browser(ann).get(page(ask(ann, {"to": value, value: "x"})))
    document = Document(response)
    assert document.text.count(shown.partition("\n")[0]) == 2
    assert shown in document.text
    assert document.all("script") == []


def test_nobody_approves_unseen_what_is_too_long_to_be_shown(ann: User, ask: Ask) -> None:
    warning = "so it cannot be approved"
    client = browser(ann)
    for value in ({"to": "x" * 5_000}, {str(number): 0 for number in range(200)}, {"n" * 100: ""}):
        assert warning not in Document(client.get(page(ask(ann, value)))).text
    for value in ({"to": "x" * 5_001}, {str(number): 0 for number in range(201)}, {"n" * 101: ""}):
        response = client.get(page(ask(ann, value)))
        assert warning in Document(response).text
        assert len(response.content) < 200_000


def test_no_cache_no_frame_and_nothing_inline(ann: User, ask: Ask) -> None:
    ident = ask(ann)
    client = browser(ann)
    for response in (
        client.get(page(ident)),
        client.get("/agent-access/approvals"),
        client.post(page(ident), {"decision": "deny"}),
        browser().get(page(ident)),
    ):
        assert response["Cache-Control"] == "no-store"
        assert response["X-Frame-Options"] == "DENY"
        assert response["Referrer-Policy"] == "same-origin"
    for address in (page(ident), "/agent-access/approvals"):
        document = Document(client.get(address))
        assert {"script", "style"}.isdisjoint(tag for tag, _ in document.tags)
        for _, attributes in document.tags:
            assert not [name for name in attributes if name == "style" or name.startswith("on")]


def test_the_page_can_be_read_out(ann: User, ask: Ask) -> None:
    document = Document(browser(ann).get(page(ask(ann))))
    assert [attributes["lang"] for attributes in document.all("html")] == ["en-us"]
    assert (len(document.all("h1")), len(document.all("main")), len(document.all("title"))) == (1, 1, 1)
    assert [(button["type"], button["value"]) for button in document.all("button")] == [
        ("submit", "approve"),
        ("submit", "deny"),
    ]
    names = [tag for tag, _ in document.tags if tag in {"dl", "dt", "dd"}]
    assert names.count("dt") == names.count("dd")


def test_an_expired_call_cannot_be_decided(ann: User, ask: Ask) -> None:
    with clock() as time:
        ident = ask(ann)
        time.forward(600)
        client = browser(ann)
        assert client.post(page(ident), {"decision": "approve"}).status_code == 303
        document = Document(client.get(page(ident)))
        assert "Expired." in document.text
        assert document.all("button") == []
    assert Approval.objects.get().decided_by is None


def test_the_list_shows_what_waits_in_few_queries(ann: User, ask: Ask) -> None:
    eve = User.objects.create_user("eve")
    for _ in range(3):
        ask(ann)
    hers, nobodys = ask(eve), ask(None)
    done = ask(ann)
    client = browser(ann)
    client.post(page(done), {"decision": "approve"})
    with CaptureQueriesContext(connection) as queries:
        links = [link["href"] for link in Document(client.get("/agent-access/approvals")).all("a")]
    assert len([link for link in links if "/approvals/" in str(link)]) == 3
    assert not {page(hers), page(nobodys), page(done)} & set(links)
    assert len(queries) <= 6
    sam = browser(staff("decide_approval"))
    shown = [link["href"] for link in Document(sam.get("/agent-access/approvals")).all("a")]
    assert [link for link in shown if "/approvals/" in str(link)] == [page(nobodys)]


def test_an_action_that_is_gone_can_still_be_decided_about(ann: User, ask: Ask) -> None:
    ident = ask(ann)
    Approval.objects.update(action="no_longer_there")
    assert "no_longer_there" in Document(browser(ann).get(page(ident))).text


def test_a_site_replaces_the_templates(ann: User, ask: Ask, settings: Any, tmp_path: Any) -> None:
    folder = tmp_path / "agentweb" / "people"
    folder.mkdir(parents=True)
    (folder / "base.html").write_text("<header>Our shop</header>{% block content %}{% endblock %}")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [str(tmp_path)]}]
    text = Document(browser(ann).get(page(ask(ann)))).text
    assert "Our shop" in text
    assert "Send a letter" in text


def open_action() -> None:
    action(
        "free", effect="write", scope="a:b", description="Free.", input={"type": "object"}, confirm="person"
    )(lambda inp, ctx: None)


def asked(agent: TestAgent, value: Any, name: str = "free") -> str:
    return str(agent.post(f"/agent/{name}", value).json()["error"]["approval"])


def buttons(client: Client, ident: str) -> set[str | None]:
    return {each.get("value") for each in Document(client.get(page(ident))).all("button")}


def test_an_input_that_is_not_shown_whole_can_be_denied_only(ann: User, catalog: None) -> None:
    open_action()
    agent, client = TestAgent(scopes=["a:b"], user=ann), browser(ann)
    for value in ({str(n): n for n in range(500)}, {"a": "x" * 6_000}, {"n" * 200: 1}):
        ident = asked(agent, value)
        assert buttons(client, ident) == {"deny"}
        client.post(page(ident), {"decision": "approve"})
        assert state(ident) == "pending"
        client.post(page(ident), {"decision": "deny"})
        assert state(ident) == "denied"


def test_a_name_of_a_secret_hides_nothing_from_the_person(ann: User, catalog: None) -> None:
    open_action()
    ident = asked(TestAgent(scopes=["a:b"], user=ann), {"secret": {"deep": "pay evil 1000"}, "token": "t0k"})
    text = Document(browser(ann).get(page(ident))).text
    assert "pay evil 1000" in text
    assert "t0k" not in text
    assert "does not say what it is for" in text


def test_a_call_whose_agent_may_not_act_any_more_says_so_and_cannot_be_approved(ann: User, ask: Ask) -> None:
    client = browser(ann)
    agent = TestAgent(scopes=["mail:send"], user=ann)
    ident = ask(ann, agent=agent)
    assert buttons(client, ident) == {"approve", "deny"}
    revocations.revoke(agent.grant.id)
    assert "taken back" in Document(client.get(page(ident))).text
    assert buttons(client, ident) == {"deny"}
    client.post(page(ident), {"decision": "approve"})
    assert state(ident) == "pending"


def test_a_call_of_an_agent_whose_grant_has_ended_says_so(ann: User, ask: Ask) -> None:
    ident = ask(ann)
    Grant.objects.update(expires_at=now_datetime())
    assert "has ended" in Document(browser(ann).get(page(ident))).text
    assert buttons(browser(ann), ident) == {"deny"}


def test_staff_see_that_the_person_is_gone(ann: User, ask: Ask) -> None:
    ident = ask(ann)
    User.objects.filter(pk=ann.pk).update(is_active=False)
    client = browser(staff("decide_approval"))
    assert "account is closed" in Document(client.get(page(ident))).text
    assert buttons(client, ident) == {"deny"}


def test_the_page_says_who_is_logged_in(ann: User, ask: Ask) -> None:
    assert "You are logged in as ann." in Document(browser(ann).get(page(ask(ann)))).text
