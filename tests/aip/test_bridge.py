"""The bridge's address and rows: who may talk there, what is taken from a page, and which stream gets a call."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session as SessionRow
from django.db import connection
from django.http import HttpResponse
from django.template import engines
from django.test import AsyncRequestFactory, Client, RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext

from agentweb.access import grants, revocations, sessions
from agentweb.access.callers import AGENT, Caller
from agentweb.access.models import Grant, Session
from agentweb.aip.bridge import calls, live, logins, open_pages
from agentweb.aip.bridge.actions import action_at, actions_of
from agentweb.aip.bridge.checks import check_logins
from agentweb.aip.bridge.source import Calls
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.catalog.pages import page, page_at
from agentweb.http.streams import Stream
from agentweb.invoke.context import Context
from agentweb.invoke.later import Later
from agentweb.testing import TestAgent, clock
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError
from tests.support.races import KINDS, fresh_database, race, run

pytestmark = pytest.mark.usefixtures("catalog", "many_callers")

URL = "/__aim/bridge"


@pytest.fixture(autouse=True)
def pages(catalog: None) -> None:
    do = {"description": "To do it.", "scope": "board:write", "effect": "write"}
    page(
        "/board",
        title="Board",
        browser_actions=[{"name": "paint", **do}, {"name": "look", "description": "To look."}],
    )
    page(
        "/boards/<int:pk>",
        title="One board",
        permission=lambda user, pk: user.username == "ada" and pk < 10,
        browser_actions=[{"name": "paint", **do}],
    )


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob")


@pytest.fixture
def hers(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def say(client: Client, **message: Any) -> HttpResponse:
    answer: HttpResponse = client.post(URL, json.dumps(message), content_type="application/json")
    return answer


def code_of(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, json.loads(answer.content)["error"]["code"]


def open_page(client: Client, path: str = "/board", **more: Any) -> str:
    answer = say(client, page=path, **more)
    assert answer.status_code == 200, answer.content
    return str(json.loads(answer.content)["tab"])


# -- who


@pytest.mark.requirement("AIP-2.7")
def test_a_page_opens_publishes_and_closes(hers: Client, ada: User) -> None:
    answer = say(hers, page="/board/", state={"lines": 1}, offers=["look"])
    tab = json.loads(answer.content).pop("tab")
    assert json.loads(answer.content) == {"tab": tab, "page": "/board", "actions": ["paint", "look"]}
    assert answer["Cache-Control"] == "no-store"
    assert live.live(ada.pk, "/board/") == live.Live(True, {"lines": 1}, frozenset({"look"}))
    assert say(hers, tab=tab, state={"lines": 2}, offers=["look", "paint"]).status_code == 200
    assert live.live(ada.pk, "/board") == live.Live(True, {"lines": 2}, frozenset({"look", "paint"}))
    assert say(hers, tab=tab, closed=True).status_code == 200
    assert live.live(ada.pk, "/board") == live.NOT_OPEN
    # Nothing of it is kept.
    assert list(OpenPage.objects.values_list("state", "offers")) == [("{}", "[]")]
    assert code_of(say(hers, tab=tab, state={})) == (404, "not_found")


def test_nobody_but_the_person_who_logged_in_talks_here(hers: Client, bob: User, site_key: None) -> None:
    tab = open_page(hers)
    assert code_of(say(Client(), page="/board")) == (401, "session_required")
    assert code_of(Client().get(URL, {"tab": tab})) == (401, "session_required")
    his = Client()
    his.force_login(bob)
    for answer in (
        say(his, tab=tab, state={"x": 1}),
        say(his, tab=tab, closed=True),
        his.get(URL, {"tab": tab}),
    ):
        assert code_of(answer) == (404, "not_found")
    # Another login of the same person is another browser.
    other = Client()
    other.force_login(User.objects.get(username="ada"))
    assert code_of(say(other, tab=tab, state={})) == (404, "not_found")


def test_no_credentials_of_an_agent_count_here(site_key: None, ada: User) -> None:
    agent = TestAgent(scopes=["*"], user=ada)
    assert agent.post(URL, {"page": "/board"}).status_code == 401


def test_what_a_page_says_needs_its_csrf_token(ada: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert code_of(say(client, page="/board")) == (403, "not_allowed")
    request = RequestFactory().get("/board")
    request.user, request.session = ada, client.session
    html = engines["django"].from_string("{% load agentweb %}{% agent_bridge %}").render({}, request)
    token = re.search(r'data-csrf-token="(\w+)"', html)
    header = re.search(r'data-csrf-header="([\w-]+)"', html)
    assert token is not None
    assert header is not None
    client.cookies["csrftoken"] = request.META["CSRF_COOKIE"]
    answer = client.post(
        URL,
        json.dumps({"page": "/board"}),
        content_type="application/json",
        headers={header[1]: token[1]},
    )
    assert answer.status_code == 200


@override_settings(
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ]
)
def test_a_site_that_requires_logins_does_not_send_the_page_to_a_login_form(hers: Client) -> None:
    assert code_of(say(Client(), page="/board")) == (401, "session_required")
    open_page(hers)


def test_logging_out_closes_the_pages_of_that_login(hers: Client, ada: User) -> None:
    open_page(hers, state={"x": 1})
    other = Client()
    other.force_login(ada)
    open_page(other, state={"x": 2})
    hers.logout()
    assert live.live(ada.pk, "/board").state == {"x": 2}
    other.logout()
    assert live.live(ada.pk, "/board") == live.NOT_OPEN


# -- what


@pytest.mark.parametrize(
    ("path", "status"),
    [("/board", 200), ("/boards/3", 200), ("/boards/11", 404), ("/nothing", 404), ("/" + "x" * 499, 404)],
)
def test_only_pages_that_the_person_may_see_open(hers: Client, path: str, status: int) -> None:
    assert say(hers, page=path).status_code == status


def test_what_is_not_declared_is_refused_with_what_is(hers: Client) -> None:
    answer = say(hers, page="/board", offers=["look", "spy", "paint", "pay"])
    error = json.loads(answer.content)["error"]
    assert (answer.status_code, error["code"]) == (422, "invalid_input")
    assert [(each["pointer"], each["allowed"]) for each in error["problems"]] == [
        ("/offers/1", ["look", "paint"]),
        ("/offers/3", ["look", "paint"]),
    ]
    assert not OpenPage.objects.exists()


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"page": 1},
        {"page": "board"},
        {"page": "/board", "state": []},
        {"page": "/board", "offers": "look"},
        {"page": "/board", "user": 1},
        {"tab": "1"},
        {"page": "/board", "answers": [{"call": "bc_" + "0" * 22}]},
        {"page": "/board", "answers": [{"call": "bc_" + "0" * 22, "error": {"code": "No"}, "result": 1}]},
    ],
)
def test_what_is_no_message_is_refused_with_every_problem(hers: Client, message: dict[str, Any]) -> None:
    answer = say(hers, **message)
    assert code_of(answer) == (422, "invalid_input")
    assert json.loads(answer.content)["error"]["problems"]


@pytest.mark.parametrize("body", [b"", b"{", b'{"page": "/board", "page": "/board"}', b"[1]", b'"\xff"'])
def test_what_is_no_json_is_refused(hers: Client, body: bytes) -> None:
    answer = hers.post(URL, body, content_type="application/json")
    assert answer.status_code in {400, 422}
    assert answer["Content-Type"].startswith("application/json")


@pytest.mark.parametrize("tab", ["", "op_1", "\0", "op_" + "0" * 21 + "\n", "é" * 500])
def test_no_text_in_place_of_a_tab_breaks_the_stream(hers: Client, tab: str) -> None:
    assert code_of(hers.get(URL, {"tab": tab})) == (404, "not_found")


def test_another_method_is_refused_in_json(hers: Client) -> None:
    answer = hers.put(URL)
    assert code_of(answer) == (405, "method_not_allowed")
    assert answer["Allow"] == "GET, POST"


def test_secrets_are_not_kept_and_a_large_state_is_refused(hers: Client, ada: User, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "PAGE_STATE_BYTES": 1_024}
    tab = open_page(hers, state={"user": {"password": "hunter2", "apiKey": "k", "name": "ada"}})
    assert live.live(ada.pk, "/board").state == {"user": {"name": "ada"}}
    answer = say(hers, tab=tab, state={"x": "x" * 1_024})
    assert code_of(answer) == (413, "payload_too_large")


def test_one_person_has_so_many_pages_open_and_the_oldest_close(hers: Client, ada: User) -> None:
    first = open_page(hers)
    for _ in range(20):
        open_page(hers)
    assert code_of(say(hers, tab=first, state={})) == (404, "not_found")


def test_a_page_without_a_stream_is_connected_for_a_moment_only(hers: Client, ada: User) -> None:
    open_page(hers)
    assert live.live(ada.pk, "/board").is_connected
    with clock(OpenPage.objects.get().connected_until.timestamp() + 1):
        assert not live.live(ada.pk, "/board").is_connected


def test_a_message_costs_few_queries_however_many_pages_are_open(hers: Client) -> None:
    tab = open_page(hers)
    say(hers, tab=tab, state={"n": 0})
    with CaptureQueriesContext(
        connection,
    ) as few:
        say(hers, tab=tab, state={"n": 1})
    for _ in range(5):
        open_page(hers)
    with CaptureQueriesContext(connection) as more:
        say(hers, tab=tab, state={"n": 2})
    assert len(more) == len(few) <= 6


def test_the_script_connects_a_logged_in_person_on_a_page_for_agents_only(ada: User) -> None:
    def script(path: str, user: Any, **context: Any) -> str:
        request = RequestFactory().get(path)
        request.user, request.session = user, SessionStore()
        if user.pk:
            request.session["_auth_user_id"] = str(user.pk)
        template = engines["django"].from_string("{% load agentweb %}{% agent_bridge %}")
        return str(template.render(context, request))

    with override_settings(STATIC_URL="/static/"):
        plain = '<script src="/static/agentweb/bridge.js" defer></script>'
        assert script("/board", AnonymousUser()) == plain
        assert script("/elsewhere", ada) == plain
        assert script("/boards/11", ada) == plain
        found = script("/boards/3/", ada, csp_nonce="n0nce")
    assert 'data-url="/__aim/bridge" data-page="/boards/3" data-csrf-header="X-CSRFTOKEN"' in found
    assert 'nonce="n0nce"' in found


# -- calls


@pytest.fixture
def source() -> Calls:
    return Calls()


@pytest.fixture
def quick(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "BRIDGE_SECONDS": 1}


def stream_of(tab: str) -> Stream:
    return Stream(tab, "user:1", "", lambda: None)


def turn(source: Calls, *streams: Stream, ended: tuple[Stream, ...] = ()) -> list[Any]:
    """(tab, what it got) of one turn of the reader."""
    found = []
    for stream, chunk in source.read(streams, ended):
        text = None if chunk is None else json.loads(chunk.decode().partition("data: ")[2])
        found.append((stream.topic, text))
    for stream in streams:
        stream.is_new = False
    return found


def begin(
    user: User,
    name: str = "paint",
    value: Any = None,
    path: str = "/board",
    *,
    caller: Caller | None = None,
    request: Any = None,
) -> Later:
    """A call that an agent of this person asks for."""
    found = page_at(path)
    assert found is not None
    action = action_at(found[0], path, name)
    assert action is not None
    context = Context(
        action=action,
        caller=caller or Caller(kind=AGENT, user_id=user.pk),
        request=request,
        request_id="rq_1",
        idempotency_key=None,
        till=None,
    )
    later: Later = action.handler(value or {}, context)
    return later


def ask(*given: Any, **more: Any) -> str:
    """The id of a call that is asked for."""
    return id_of(begin(*given, **more))


def id_of(later: Later) -> str:
    wait = later.wait
    assert isinstance(wait, partial)
    return str(wait.args[0].call)


def error_of(later: Later) -> AgentError:
    with pytest.raises(AgentError) as refused:
        later.wait()
    return refused.value


def test_a_call_goes_to_the_stream_of_its_page_once(hers: Client, ada: User, source: Calls) -> None:
    tab = open_page(hers, offers=["paint"])
    other = stream_of(open_page(hers, "/boards/3", offers=["paint"]))
    stream = stream_of(tab)
    assert turn(source, stream, other) == []
    call = ask(ada, value={"n": 1})
    [(topic, told)] = turn(source, stream, other)
    assert topic == tab
    assert told.pop("seconds") > 10
    assert told == {"call": call, "action": "paint", "input": {"n": 1}}
    assert turn(source, stream, other) == []


def test_a_stream_that_comes_anew_gets_again_what_an_older_one_had(
    hers: Client, ada: User, source: Calls
) -> None:
    tab = open_page(hers, offers=["paint"])
    old = stream_of(tab)
    turn(source, old)
    call = ask(ada)
    assert len(turn(source, old)) == 1
    new = stream_of(tab)
    [(_, told)] = turn(Calls(), new)
    assert told["call"] == call
    # The old one may be broken without its process knowing: it takes nothing more, and its end disconnects nobody.
    second = ask(ada)
    assert turn(source, old) == []
    turn(source, ended=(old,))
    assert OpenPage.objects.get().connected_until - timedelta(seconds=30) > OpenPage.objects.get().active_at
    [(_, told)] = turn(Calls(), new)
    assert told["call"] == second


def test_the_page_is_disconnected_soon_after_its_stream_has_ended(
    hers: Client, ada: User, source: Calls
) -> None:
    stream = stream_of(open_page(hers))
    turn(source, stream)
    turn(source, ended=(stream,))
    with clock(OpenPage.objects.get().active_at.timestamp() + 20):
        assert live.live(ada.pk, "/board") == live.NOT_OPEN


def test_the_stream_of_a_page_that_was_closed_ends(hers: Client, source: Calls) -> None:
    stream = stream_of(open_page(hers))
    turn(source, stream)
    say(hers, tab=stream.topic, closed=True)
    stream.memo.due_at = 0.0
    assert turn(source, stream) == [(stream.topic, None)]


def test_a_turn_costs_the_same_whatever_the_number_of_streams(hers: Client, ada: User, source: Calls) -> None:
    streams = [stream_of(open_page(hers, offers=["paint"])) for _ in range(6)]
    turn(source, *streams)
    with CaptureQueriesContext(connection) as idle:
        turn(source, *streams)
    assert len(idle) == 1
    for _ in range(5):
        ask(ada)
    with CaptureQueriesContext(connection) as busy:
        assert len(turn(source, *streams)) == 5
    assert len(busy) == 4  # what waits, the persons and sessions of the pages, and the taking


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("quick")
def test_a_call_that_nobody_took_is_given_up_and_never_delivered(
    hers: Client, ada: User, source: Calls
) -> None:
    stream = stream_of(open_page(hers, offers=["paint"]))
    turn(source, stream)
    late = error_of(begin(ada))
    assert (late.code, late.status, late.retry_after) == ("timeout", 504, 1)
    assert turn(source, stream) == []


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_taken_from_the_page_that_was_asked_only(
    hers: Client, ada: User, bob: User, source: Calls
) -> None:
    his = Client()
    his.force_login(bob)
    stream = stream_of(open_page(hers, offers=["paint"]))
    turn(source, stream)
    later = begin(ada)
    call = id_of(later)
    answers = [{"call": call, "result": "done"}]
    # Before it was sent to the page, nobody can have done it.
    assert json.loads(say(hers, tab=stream.topic, answers=answers).content)["late"] == [call]
    turn(source, stream)
    foreign = open_page(his)
    assert json.loads(say(his, tab=foreign, answers=answers).content)["late"] == [call]
    assert json.loads(say(hers, tab=stream.topic, answers=answers).content) == {"tab": stream.topic}
    assert later.wait() == "done"
    assert not BrowserCall.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_page_cannot_speak_with_the_codes_of_the_site(hers: Client, ada: User, source: Calls) -> None:
    stream = stream_of(open_page(hers, offers=["paint"]))
    turn(source, stream)
    for code, told in (("needs_human", "browser_failed"), ("wet_paint", "wet_paint")):
        later = begin(ada)
        turn(source, stream)
        error = {"code": code, "message": "No."}
        say(hers, tab=stream.topic, answers=[{"call": id_of(later), "error": error}])
        refused = error_of(later)
        assert (refused.code, refused.status, refused.message) == (told, 409, "No.")


def test_a_page_gets_so_many_calls_at_once_and_no_more(hers: Client, ada: User) -> None:
    open_page(hers, offers=["paint"])
    for _ in range(calls.MAX_OPEN):
        ask(ada)
    with pytest.raises(AgentError) as refused:
        ask(ada)
    assert refused.value.code == "rate_limited"


def test_nobody_s_page_answers_for_an_agent_without_a_person(hers: Client, ada: User, bob: User) -> None:
    open_page(hers, offers=["paint"])
    with pytest.raises(AgentError) as refused:
        ask(bob)
    assert (refused.value.code, refused.value.retry_after) == ("browser_disconnected", 5)
    assert live.live(None, "/board") == live.NOT_OPEN


def test_a_browser_action_needs_a_person(hers: Client) -> None:
    open_page(hers, offers=["look"])
    answer = Client().post("/__aim/invoke", json.dumps({"actionId": "look"}), content_type="application/json")
    assert code_of(answer) == (401, "session_required")


def test_browser_actions_are_actions_that_are_the_same_each_time() -> None:
    found = page_at("/board")
    assert found is not None
    first, second = actions_of(found[0])
    assert (first.name, first.effect, first.scope, second.scope) == ("paint", "write", "board:write", None)
    assert actions_of(found[0])[0] is first
    assert action_at(found[0], "/board", "nothing") is None


@pytest.mark.parametrize(
    ("middleware", "found"),
    [
        (["django.contrib.auth.middleware.AuthenticationMiddleware"], []),
        (["django.contrib.auth.middleware.LoginRequiredMiddleware"], ["agentweb.W074"]),
    ],
)
def test_a_site_without_logins_is_told_that_no_browser_can_be_asked(
    middleware: list[str], found: list[str]
) -> None:
    with override_settings(MIDDLEWARE=middleware):
        assert [message.id for message in check_logins(None)] == found


# -- what ends a login while its page is open


def log_in_over(client: Client, bob: User) -> None:
    client.force_login(bob)  # without a cookie, so that no signal can know whose session it was


def flush(client: Client, bob: User) -> None:
    client.session.flush()


def close_account(client: Client, bob: User) -> None:
    User.objects.filter(username="ada").update(is_active=False)


def set_password(client: Client, bob: User) -> None:
    ada = User.objects.get(username="ada")
    ada.set_password("another")
    ada.save()


def let_expire(client: Client, bob: User) -> None:
    SessionRow.objects.update(expire_date=now_datetime() - timedelta(seconds=1))


def change_secret_key(client: Client, bob: User) -> None:
    OpenPage.objects.update(session="v1.AAAA")  # as it opens then


END = Callable[[Client, User], None]
ENDS = [log_in_over, flush, close_account, set_password, let_expire, change_secret_key]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", ENDS)
def test_a_call_is_not_delivered_to_a_page_whose_login_is_over(
    hers: Client, ada: User, bob: User, source: Calls, end: END
) -> None:
    stream = stream_of(open_page(hers, offers=["paint"]))
    turn(source, stream)
    later = begin(ada)
    end(hers, bob)
    assert turn(source, stream) == [(stream.topic, None)]
    refused = error_of(later)
    assert (refused.code, refused.retry_after) == ("browser_disconnected", 5)
    assert not BrowserCall.objects.exists()
    assert not live.live(ada.pk, "/board").is_connected


@pytest.mark.parametrize("end", ENDS)
def test_a_stream_ends_when_its_login_does_though_nobody_calls(
    hers: Client, bob: User, source: Calls, end: END
) -> None:
    stream, other = stream_of(open_page(hers)), stream_of(open_page(hers))
    turn(source, stream)
    end(hers, bob)
    assert turn(source, stream) == []
    stream.memo.due_at = 0.0
    assert turn(source, stream) == [(stream.topic, None)]
    assert OpenPage.objects.get(pk=stream.topic).login == ""
    assert OpenPage.objects.get(pk=other.topic).login != ""


def test_a_person_who_changes_their_password_here_keeps_the_login_and_gets_a_new_tab(
    hers: Client, ada: User, source: Calls
) -> None:
    stream = stream_of(open_page(hers))
    turn(source, stream)
    ada.set_password("another")
    ada.save()
    session = hers.session
    request = RequestFactory().get("/")
    request.session, request.user = session, ada
    update_session_auth_hash(request, ada)
    session.save()
    hers.cookies["sessionid"] = session.session_key
    stream.memo.due_at = 0.0
    assert turn(source, stream) == [(stream.topic, None)]
    open_page(hers)


@pytest.mark.parametrize("engine", ["cache", "file", "cached_db", "signed_cookies"])
def test_every_store_of_django_s_says_whether_the_login_is_there(
    ada: User, source: Calls, engine: str, tmp_path: Path
) -> None:
    with override_settings(
        SESSION_ENGINE=f"django.contrib.sessions.backends.{engine}", SESSION_FILE_PATH=str(tmp_path)
    ):
        client = Client()
        client.force_login(ada)
        stream = stream_of(open_page(client, offers=["paint"]))
        turn(source, stream)
        ask(ada)
        assert len(turn(source, stream)) == 1
        ask(ada)
        if engine == "signed_cookies":  # such a store knows nothing; the person is looked at
            User.objects.update(is_active=False)
        else:
            client.session.flush()
        assert turn(source, stream) == [(stream.topic, None)]


# -- what waits is taken back


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("how", ["closed", "logged out"])
def test_a_page_that_closes_drops_what_waits_for_it(hers: Client, ada: User, source: Calls, how: str) -> None:
    stream = stream_of(open_page(hers, offers=["paint"]))
    turn(source, stream)
    waiting = begin(ada)
    if how == "closed":
        say(hers, tab=stream.topic, closed=True)
    else:
        hers.logout()
    assert BrowserCall.objects.get().state == BrowserCall.State.DROPPED
    assert turn(source, stream) == []
    refused = error_of(waiting)
    assert (refused.code, refused.retry_after) == ("browser_disconnected", 5)
    assert "nothing was done" in refused.message


def end_of_page(caller: Caller, tab: str) -> None:
    open_pages.close([tab])


def end_of_grant(caller: Caller, tab: str) -> None:
    revocations.revoke(caller.chain[-1].id)


def end_of_key(caller: Caller, tab: str) -> None:
    revocations.revoke(caller.subject)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("site_key")
@pytest.mark.parametrize(
    ("end", "code"),
    [
        (end_of_page, "browser_disconnected"),
        (end_of_grant, "grant_revoked"),
        (end_of_key, "grant_revoked"),
    ],
)
def test_what_ends_between_the_look_and_the_taking_is_not_delivered(
    hers: Client, ada: User, source: Calls, monkeypatch: pytest.MonkeyPatch, end: Any, code: str
) -> None:
    caller = caller_of(ada)
    stream = stream_of(open_page(hers, offers=["paint"]))
    turn(source, stream)
    later = begin(ada, caller=caller)

    def and_then_end(pages: Any) -> Any:
        found = still_there(pages)
        end(caller, stream.topic)
        return found

    still_there = logins.still_there
    monkeypatch.setattr(logins, "still_there", and_then_end)
    assert turn(source, stream) == []
    assert error_of(later).code == code


def caller_of(user: User) -> Caller:
    """An agent that signs under a grant of the site."""
    TestAgent(scopes=["*"], user=user)
    chain = grants.parse_stored(Grant.objects.get().chain)
    return Caller(kind=AGENT, subject=chain[-1].subject, chain=chain, user_id=user.pk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("site_key")
def test_a_session_that_is_revoked_takes_back_what_waits_and_is_told_so_at_once(
    hers: Client, ada: User, source: Calls
) -> None:
    stream = stream_of(open_page(hers, offers=["paint"]))
    turn(source, stream)
    session, caller = session_of(ada)
    later = begin(ada, caller=caller)
    # No stream takes it, and it is not the deadline that ends it.
    sessions.revoke(session.pk)
    refused = error_of(later)
    assert (refused.code, refused.status) == ("session_revoked", 401)
    assert turn(source, stream) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("site_key")
def test_a_new_password_takes_back_what_a_session_of_the_old_one_asked(
    hers: Client, ada: User, source: Calls
) -> None:
    tab = open_page(hers, offers=["paint"])
    _, caller = session_of(ada)
    later, signed = begin(ada, caller=caller), begin(ada)
    ada.set_password("another")
    ada.save()
    # In this browser they have logged in with it.
    hers.force_login(ada)
    fresh = open_page(hers, offers=["paint"])
    BrowserCall.objects.update(page_id=fresh)
    assert tab != fresh
    [(_, told)] = turn(source, stream_of(fresh))
    assert told["call"] == id_of(signed)
    assert error_of(later).code == "session_revoked"


@pytest.mark.usefixtures("site_key")
def test_a_call_is_over_when_what_allowed_it_is(hers: Client, ada: User, source: Calls) -> None:
    stream = stream_of(open_page(hers, offers=["paint"]))
    turn(source, stream)
    session, caller = session_of(ada)
    with clock(session.expires_at.timestamp() - 2):
        OpenPage.objects.update(connected_until=session.expires_at)
        ask(ada, caller=caller)
        assert BrowserCall.objects.get().deadline == session.expires_at


def session_of(user: User) -> tuple[Session, Caller]:
    made, token = sessions.create(user=user, scopes=["*"], expires_in=3_600, site="shop.example")
    return made, sessions.authenticate(token, "shop.example", "192.0.2.1")


# -- how many


@pytest.mark.parametrize("kind", KINDS)
def test_of_any_number_of_calls_at_once_so_many_have_a_slot(kind: str, tmp_path: Path) -> None:
    with fresh_database(kind, tmp_path) as database:
        user_id = run(database, "tests.aip.bridge_racers:prepare")
        answers = race(database, "tests.aip.bridge_racers:ask", [[user_id]] * 14)
    assert sorted(answers) == ["asked"] * calls.MAX_OPEN + ["rate_limited"] * (14 - calls.MAX_OPEN)


def test_a_slot_whose_waiter_was_lost_is_free_after_the_deadline(hers: Client, ada: User) -> None:
    open_page(hers, offers=["paint"])
    for _ in range(calls.MAX_OPEN):
        ask(ada)
    BrowserCall.objects.update(deadline=now_datetime())
    ask(ada)
    assert BrowserCall.objects.exclude(state=BrowserCall.State.OVER).count() == 1


@pytest.mark.parametrize("is_threaded", [True, False])
def test_a_process_waits_for_so_many_calls_and_no_more(
    hers: Client, ada: User, settings: Any, is_threaded: bool
) -> None:
    names = ("STREAM_THREADS", "BRIDGE_CALLS_PER_PROCESS")
    settings.AGENTWEB = {**settings.AGENTWEB, **dict.fromkeys(names, 2)}
    gc.collect()  # calls of other tests
    open_page(hers, offers=["paint"])
    request = RequestFactory().get("/") if is_threaded else AsyncRequestFactory().get("/")
    first, second = begin(ada, request=request), begin(ada, request=request)
    with pytest.raises(AgentError) as refused:
        begin(ada, request=request)
    assert (refused.value.code, refused.value.retry_after) == ("unavailable", 1)
    assert BrowserCall.objects.count() == 2
    # The other kind of thread has places of its own.
    begin(ada, request=AsyncRequestFactory().get("/") if is_threaded else RequestFactory().get("/"))
    # A call whose transaction failed is not waited for, and keeps no place.
    del first, refused
    gc.collect()
    begin(ada, request=request)
    assert second is not None


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("quick")
def test_a_call_that_waits_keeps_no_database_s_connection(
    hers: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Connection:
        def __init__(self, in_atomic_block: bool) -> None:
            self.in_atomic_block = in_atomic_block
            self.is_open = True

        def close(self) -> None:
            self.is_open = False

    class Connections:
        found = (Connection(False), Connection(True), Connection(False))

        def all(self, *, initialized_only: bool) -> Any:
            assert initialized_only
            return self.found

    open_page(hers, offers=["paint"])
    later = begin(ada)
    monkeypatch.setattr(calls, "connections", Connections())
    assert error_of(later).code == "timeout"
    assert [each.is_open for each in Connections.found] == [False, True, False]


def test_the_rows_of_one_person_are_few_whatever_their_script_does(hers: Client, ada: User) -> None:
    started = now_datetime().timestamp()
    for number in range(60):
        with clock(started + number):
            tab = open_page(hers, state={"x": "y" * 1_000})
            if number % 2:
                say(hers, tab=tab, closed=True)
    assert OpenPage.objects.count() <= 2 * open_pages.MAX_OPEN
    with clock(started + 3_600):
        open_page(hers)
    assert OpenPage.objects.count() == 1


def test_a_page_that_is_waited_for_is_kept_until_it_is_known_what_became_of_it(
    hers: Client, ada: User
) -> None:
    tab = open_page(hers, offers=["paint"])
    ask(ada)
    say(hers, tab=tab, closed=True)
    open_page(hers)
    assert OpenPage.objects.filter(pk=tab).exists()
    BrowserCall.objects.all().delete()
    open_page(hers)
    assert not OpenPage.objects.filter(pk=tab).exists()


def test_what_ended_long_ago_goes_when_anybody_opens_a_page(hers: Client, ada: User, bob: User) -> None:
    open_page(hers, offers=["paint"], state={"x": 1})
    ask(ada)
    his = Client()
    with clock(now_datetime().timestamp() + 700):
        his.force_login(bob)
        open_page(his)
    assert set(OpenPage.objects.values_list("user__username", flat=True)) == {"bob"}
    assert not BrowserCall.objects.exists()


# -- bodies that are no messages


@pytest.mark.parametrize("enforce", [True, False])
@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary="é"',
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded; charset=latin-1",
        "application/x-www-form-urlencoded",
        "text/plain",
    ],
)
def test_a_form_is_refused_in_json_whatever_its_headers_say(
    ada: User, enforce: bool, content_type: str
) -> None:
    client = Client(enforce_csrf_checks=enforce)
    client.force_login(ada)
    client.cookies["csrftoken"] = "a" * 32
    answer = client.post(URL, b"x=1", content_type=content_type)
    assert code_of(answer) == (415, "unsupported_media_type")
