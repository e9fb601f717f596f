"""A page serves the login that it was opened in, and no longer than that login lasts; checked with real servers."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path

from agentweb.access.models import Session
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.catalog.pages import page
from agentweb.wire.encoding import new_nonce
from tests.aip.live.site import Site, serving
from tests.support.races import fresh_database


@pytest.fixture(scope="module", params=["asgi-postgres", "wsgi-sqlite"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    kind, database = request.param.split("-")
    with (
        fresh_database(database, tmp_path_factory.mktemp("logins")) as fresh,
        serving(kind, fresh) as found,
    ):
        yield found


class Tab:
    """The board as a browser has it open, with a stream that is read on a thread; ``came`` is what it brought."""

    def __init__(self, site: Site, browser: httpx.Client) -> None:
        token = re.search(r'data-csrf-token="(\w+)"', browser.get("/board").text)
        assert token is not None
        answer = browser.post(
            "/__aim/bridge",
            json={"page": "/board", "offers": ["paint", "look"]},
            headers={"X-CSRFToken": token[1]},
        )
        assert answer.status_code == 200, answer.text
        self.came = b""
        host, _, port = site.origin.removeprefix("http://").partition(":")
        self._stream = socket.create_connection((host, int(port)), timeout=60)
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        self._stream.sendall(
            f"GET /__aim/bridge?tab={answer.json()['tab']} HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Cookie: {cookies}\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        site.until(lambda: b"retry: " in self.came)

    def _read(self) -> None:
        while some := self._stream.recv(4_096):
            self.came += some

    def close(self) -> None:
        self._stream.shutdown(socket.SHUT_RDWR)
        self._thread.join(20)
        self._stream.close()


@pytest.fixture
def browser(site: Site) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=site.origin, timeout=60) as client:
        assert client.get("/enter/ada").text == "in"
        yield client


@pytest.mark.parametrize("address", ["/enter/bob", "/empty", "/leave"])
def test_an_agent_reaches_no_tab_whose_login_is_over(site: Site, browser: httpx.Client, address: str) -> None:
    tab = Tab(site, browser)
    site.until(lambda: site.manifest()["browser_connected"])
    assert browser.get(address).status_code == 200
    answer = site.invoke("paint", {"colour": "red"}, key=f"one-intent-{address.replace('/', '-')}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "browser_disconnected")
    # Nothing was done, and the agent knows it.
    assert answer.json()["error"]["retry_after"] == 5
    assert not site.manifest()["browser_connected"]
    tab.close()
    assert b"event: call" not in tab.came


# -- who logs in over somebody


def enter(request: HttpRequest, name: str) -> HttpResponse:
    login(request, User.objects.get(username=name), backend="django.contrib.auth.backends.ModelBackend")
    return HttpResponse("in")


def leave(request: HttpRequest) -> HttpResponse:
    logout(request)
    return HttpResponse("out")


urlpatterns = [path("enter/<name>", enter), path("leave", leave), path("", include("agentweb.urls"))]


@pytest.fixture
def persons(db: None, catalog: None, site_key: None) -> None:
    User.objects.create_user("ada")
    User.objects.create_user("bob")
    page("/board", title="Board", browser_actions=[{"name": "paint", "description": "To paint."}])


COOKIES = "django.contrib.sessions.backends.signed_cookies"


@pytest.mark.usefixtures("persons", "many_callers")
@pytest.mark.parametrize("engine", ["django.contrib.sessions.backends.db", COOKIES])
@override_settings(ROOT_URLCONF=__name__)
def test_what_was_agreed_to_in_a_login_ends_when_another_person_logs_in_over_it(engine: str) -> None:
    with override_settings(SESSION_ENGINE=engine):
        browser = Client()
        browser.get("/enter/ada")
        agreed = token(browser)
        elsewhere = Client()
        elsewhere.get("/enter/ada")
        other = token(elsewhere)
        browser.get("/enter/ada")
        assert current(agreed) == (200, None)
        browser.get("/enter/bob")
        assert current(agreed) == (401, "logged_out")
        assert current(other) == (200, None)
        his = token(browser)
        browser.get("/leave")
        assert current(his) == (401, "logged_out")


@pytest.mark.usefixtures("persons", "many_callers")
@pytest.mark.parametrize("engine", ["django.contrib.sessions.backends.db", COOKIES])
@override_settings(ROOT_URLCONF=__name__)
def test_pages_close_at_once_when_another_person_logs_in_over_theirs(engine: str) -> None:
    with override_settings(SESSION_ENGINE=engine):
        browser, elsewhere = Client(), Client()
        for each in (browser, elsewhere):
            each.get("/enter/ada")
            open_board(each)
        browser.get("/enter/ada")
        assert OpenPage.objects.filter(login="").count() == 0
        browser.get("/enter/bob")
        assert OpenPage.objects.filter(login="").count() == 1
        assert OpenPage.objects.exclude(login="").get().user.username == "ada"


@pytest.mark.usefixtures("persons", "many_callers")
@override_settings(ROOT_URLCONF=__name__)
def test_two_marks_of_one_login_both_end_with_it() -> None:
    browser = Client()
    browser.get("/enter/ada")
    first = token(browser)
    # Two requests at once: the session that is saved last has lost the other's mark.
    session = browser.session
    del session["_agentweb_login"]
    session.save()
    second = token(browser)
    assert Session.objects.values("login").distinct().count() == 2
    browser.get("/leave")
    assert current(first) == current(second) == (401, "logged_out")


@pytest.mark.usefixtures("persons", "many_callers")
@override_settings(ROOT_URLCONF=__name__)
def test_a_session_with_a_new_key_is_the_same_login(client: Client) -> None:
    client.get("/enter/ada")
    tab = open_board(client)
    session = client.session
    session.cycle_key()
    session.save()
    client.cookies["sessionid"] = session.session_key
    before = OpenPage.objects.get().session
    answer = client.post(
        "/__aim/bridge", json.dumps({"tab": tab, "state": {"n": 1}}), content_type="application/json"
    )
    assert answer.status_code == 200
    assert OpenPage.objects.get().session != before
    client.get("/enter/bob")
    assert OpenPage.objects.get().login == ""


def open_board(browser: Client) -> str:
    body = json.dumps({"page": "/board", "offers": ["paint"]})
    answer = browser.post("/__aim/bridge", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    assert not BrowserCall.objects.exists()
    return str(json.loads(answer.content)["tab"])


def token(browser: Client) -> str:
    """A token that the person makes by hand."""
    form = {"client_name": "Program", "life": "3600", "intent": new_nonce()}
    answer = browser.post("/agent-access/token", form)
    found = re.search(r"agw_[A-Za-z0-9_-]{43}", answer.content.decode())
    assert found is not None, answer.content.decode()
    return found[0]


def current(token: str) -> tuple[int, Any]:
    """Status and reason of what a session's token is good for."""
    answer = Client().get("/__aim/sessions/current", headers={"Authorization": f"Bearer {token}"})
    return answer.status_code, json.loads(answer.content).get("error", {}).get("reason")
