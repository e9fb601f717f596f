"""What docs/how-to/live-pages.md shows works as it says, in a real browser."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import include, path
from django.views.static import serve

import agentweb
from agentweb.access import sessions, site_keys
from agentweb.conf import SETTINGS
from agentweb.wire.errors import STATUS
from tests.docs.pages import DOCS, blocks
from tests.docs.running import running
from tests.support.browsers import chromium

__all__ = ["chromium"]

PAGE = "how-to/live-pages.md"

pytestmark = pytest.mark.django_db(transaction=True)


def basket(request: HttpRequest) -> HttpResponse:
    [shown] = blocks(PAGE, "html")
    return HttpResponse(engines["django"].from_string(shown.text).render({}, request))


def script(request: HttpRequest) -> HttpResponse:
    [shown] = blocks(PAGE, "js")
    return HttpResponse(shown.text, content_type="text/javascript")


def enter(request: HttpRequest) -> HttpResponse:
    login(request, User.objects.get(), backend="django.contrib.auth.backends.ModelBackend")
    return HttpResponse("in")


class Site:
    urlpatterns = (
        path("basket", basket),
        path("basket.js", script),
        path("enter", enter),
        path("static/<path:path>", serve, {"document_root": Path(agentweb.__file__).parent / "static"}),
        path("", include("agentweb.urls")),
    )


@pytest.fixture
def site(request: pytest.FixtureRequest, settings: Any) -> Iterator[str]:
    # The server would look for files of STATIC_ROOT there; ours are served by the URLconf.
    settings.STATIC_URL = "/unused/"
    origin: str = request.getfixturevalue("live_server").url
    settings.AGENTWEB = {"ORIGIN": origin, "STREAM_THREADS": 0, "ANONYMOUS_RATE": (1e6, 10**6)}
    settings.ROOT_URLCONF = Site
    settings.STATIC_URL = "/static/"
    site_keys.ensure_active_key()
    with running(PAGE):
        yield origin
    # Threads that served the browser hold connections to the database, which is to be dropped.
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(timeout=10)


def meanwhile(page: Any, work: Callable[[], Any]) -> Any:
    """What ``work`` answers, while the browser goes on."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    while thread.is_alive():
        page.wait_for_timeout(20)
    return answers[0]


def test_the_basket_is_seen_sorted_and_asked(site: str, chromium: Any) -> None:
    ada = User.objects.create_user("ada")
    netloc = site.removeprefix("http://")
    _session, token = sessions.create(user=ada, scopes=["basket:*"], expires_in=600, site=netloc)
    agent = httpx.Client(base_url=site, headers={"Authorization": f"Bearer {token}"}, timeout=30)
    [shown] = blocks(PAGE, "json")
    expected = json.loads(shown.text)

    def manifest() -> dict[str, Any]:
        deadline = time.monotonic() + 20
        while True:
            answer = agent.get("/basket.json")
            assert answer.status_code == 200, answer.text
            found: dict[str, Any] = answer.json()
            if found["actions"] and found["state"]:
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.05)

    def invoke(action: str, **more: Any) -> httpx.Response:
        answer: httpx.Response = meanwhile(
            page, lambda: agent.post("/__aim/invoke", json={"actionId": action, **more})
        )
        return answer

    page = chromium.new_page()
    page.goto(f"{site}/enter")
    page.goto(f"{site}/basket")
    found = meanwhile(page, manifest)
    assert {name: found[name] for name in expected} == expected
    assert [each["id"] for each in found["actions"]] == ["sort_basket", "selected_line"]
    answer = invoke("sort_basket", input="price")
    assert answer.json()["result"] == {"first": "Assam"}
    assert page.locator("li").all_text_contents() == ["Assam", "Oolong"]
    refused = invoke("selected_line")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "nothing_selected")
    page.evaluate("document.querySelector('li').setAttribute('aria-selected', 'true')")
    assert invoke("selected_line", page="/basket").json()["result"] == "Assam"
    page.close()
    agent.close()


def test_the_names_of_the_page_are_those_of_the_code() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert {"BRIDGE_SECONDS", "PAGE_STATE_BYTES"} <= SETTINGS.keys()
    for code in ("browser_failed", "browser_disconnected", "timeout"):
        assert f"| {STATUS[code]} `{code}` |" in text
