"""The bridge with real servers and a real browser: what a person's agent sees and does on the page they have open."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.aip.live.site import Site, serving, serving_at
from tests.support.browsers import OPTIONS, executable
from tests.support.races import fresh_database, run

KEY = "one-intent-0123456789"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = executable()
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield found
        found.close()


@pytest.fixture(scope="module", params=["asgi-postgres", "wsgi-sqlite"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    kind, database = request.param.split("-")
    with (
        fresh_database(database, tmp_path_factory.mktemp("live")) as fresh,
        serving(kind, fresh) as found,
    ):
        yield found


@pytest.fixture
def ada(site: Site, browser: Browser) -> Iterator[BrowserContext]:
    yield from logged_in(site, browser, "ada")


@pytest.fixture
def bob(site: Site, browser: Browser) -> Iterator[BrowserContext]:
    yield from logged_in(site, browser, "bob")


def logged_in(site: Site, browser: Browser, name: str) -> Iterator[BrowserContext]:
    context = browser.new_context()
    context.new_page().goto(f"{site.origin}/enter/{name}")
    yield context
    for page in context.pages:
        page.close()
    context.close()
    # Closed pages say so; what the next test sees is not this one's.
    site.until(lambda: not site.manifest(name)["browser_connected"])


def open_board(site: Site, context: BrowserContext) -> Page:
    """The board in a tab of its own, when agents can use it."""
    page = context.new_page()
    page.goto(f"{site.origin}/board")
    name = "ada" if context.pages[0].url.endswith("ada") else "bob"
    site.until(lambda: "look" in {each["id"] for each in site.manifest(name)["actions"]})
    return page


def meanwhile(page: Page, work: Callable[[], Any]) -> Any:
    """What ``work`` answers, while the browser goes on."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    while thread.is_alive():
        page.wait_for_timeout(20)
    return answers[0]


def invoke(site: Site, tab: Page, action: str, input: Any = None, **more: Any) -> httpx.Response:
    answer: httpx.Response = meanwhile(tab, lambda: site.invoke(action, input, **more))
    return answer


def colour(page: Page) -> str:
    return str(page.evaluate("document.body.dataset.colour"))


@pytest.mark.requirement("AIP-2.7")
def test_what_the_page_publishes_is_seen_within_a_second(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    page.evaluate("agentweb.publish({lines: [1, {secret: 2, n: 3}]})")
    began = time.monotonic()
    state = meanwhile(
        page, lambda: site.until(lambda: (found := site.manifest()["state"]).get("lines") and found)
    )
    assert time.monotonic() - began < 3  # a machine that does other things too
    # The site's own word stands, and secrets are gone.
    assert state == {"of": "ada", "board": {"colour": "white"}, "lines": [1, {"n": 3}]}


def test_an_agent_acts_and_the_page_changes_and_answers(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    answer = invoke(site, page, "paint", {"colour": "red", "coats": "2"})
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "ok": True,
        "actionId": "paint",
        "result": {"painted": "red", "coats": "number"},
    }
    assert colour(page) == "red"
    site.until(lambda: site.manifest()["state"]["board"] == {"colour": "red"})
    assert invoke(site, page, "look", page="/board").json()["result"] == "red"


def test_the_tab_that_was_used_last_acts(site: Site, ada: BrowserContext) -> None:
    first = open_board(site, ada)
    second = open_board(site, ada)
    first.wait_for_timeout(300)
    assert invoke(site, second, "paint", {"colour": "red"}).status_code == 200
    assert (colour(first), colour(second)) == ("white", "red")
    first.evaluate("dispatchEvent(new Event('focus'))")
    first.wait_for_timeout(500)
    assert invoke(site, first, "paint", {"colour": "green"}).status_code == 200
    assert (colour(first), colour(second)) == ("green", "red")


def test_closing_the_tab_meanwhile_is_browser_disconnected(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    answers: list[httpx.Response] = []
    agent = threading.Thread(target=lambda: answers.append(site.invoke("dawdle", key=KEY)))
    agent.start()
    page.wait_for_selector("body[data-dawdles='1']")
    page.close()
    agent.join()
    error = answers[0].json()["error"]
    assert (answers[0].status_code, error["code"]) == (409, "browser_disconnected")
    # The page had the call: nobody knows, so the same intent is not tried again.
    assert "retry_after" not in error
    again = site.invoke("dawdle", key=KEY)
    assert again.json() == answers[0].json()
    assert again.headers["idempotent-replayed"] == "true"


def test_a_page_that_does_not_answer_is_a_timeout(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    began = time.monotonic()
    answer = invoke(site, page, "dawdle", key=KEY + "-late")
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "timeout")
    assert 2.9 < time.monotonic() - began < 8
    again = invoke(site, page, "dawdle", key=KEY + "-late")
    assert again.json() == answer.json()
    assert page.evaluate("document.body.dataset.dawdles") == "1"
    reading = invoke(site, page, "dawdle_and_look")
    assert (reading.status_code, reading.json()["error"]["retry_after"]) == (504, 1)


def test_one_intent_is_done_once_by_the_page(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    page.evaluate("let n = 0; void agentweb.offer('paint', () => ({times: ++n}))")
    page.wait_for_timeout(300)
    first = invoke(site, page, "paint", {"colour": "red"}, key=KEY + "-once")
    assert first.status_code == 200, first.text
    again = invoke(site, page, "paint", {"colour": "red"}, key=KEY + "-once")
    assert first.json()["result"] == again.json()["result"] == {"times": 1}
    assert again.headers["idempotent-replayed"] == "true"


def test_what_the_page_says_no_to_and_what_fails(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    refused = invoke(site, page, "refuse")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "wet_paint")
    assert refused.json()["error"]["message"] == "The paint is wet; come back later."
    failed = invoke(site, page, "fail")
    assert (failed.status_code, failed.json()["error"]["code"]) == (409, "browser_failed")
    assert "internals" not in failed.text


def test_nobody_else_is_shown_or_served(site: Site, ada: BrowserContext, bob: BrowserContext) -> None:
    hers, his = open_board(site, ada), open_board(site, bob)
    his.evaluate("agentweb.publish({mine: 'bob-s own'})")
    answer = invoke(site, his, "paint", {"colour": "red"}, by="ada")
    assert answer.status_code == 200
    assert (colour(hers), colour(his)) == ("red", "white")
    site.until(lambda: site.manifest("bob")["state"].get("mine"))
    assert "bob-s own" not in json.dumps(site.manifest("ada"))
    public = httpx.get(f"{site.origin}/board.json").json()
    assert (public["state"], public["browser_connected"]) == ({}, False)


def test_the_scope_of_the_session_decides_not_the_login_of_the_page(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    answer = invoke(site, page, "paint", {"colour": "red"}, by="reader")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "insufficient_scope")
    assert colour(page) == "white"
    assert invoke(site, page, "look", by="reader").json()["result"] == "white"


def test_what_the_site_did_not_declare_does_not_exist(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    assert invoke(site, page, "undeclared").json()["error"]["code"] == "action_not_found"
    assert "undeclared" not in {each["id"] for each in site.manifest()["actions"]}
    wrong = invoke(site, page, "paint", {"colour": "blue"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid_input")
    assert invoke(site, page, "absent").json()["error"]["code"] == "browser_disconnected"


def test_logging_out_disconnects_every_tab_of_the_login(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    page.evaluate("fetch('/leave')")
    site.until(lambda: not site.manifest()["browser_connected"])
    assert invoke(site, page, "look").json()["error"]["code"] == "browser_disconnected"


def test_an_answer_that_the_site_cannot_take_fails_alone(site: Site, ada: BrowserContext) -> None:
    page = open_board(site, ada)
    answers: list[httpx.Response] = []
    # As many at once as a process under WSGI waits for.
    agents = [
        threading.Thread(target=lambda name=name: answers.append(site.invoke(name)))  # type: ignore[misc]
        for name in ("look", "cut")
    ]
    meanwhile(page, lambda: [[each.start() for each in agents], [each.join() for each in agents]])
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    [failed] = [answer.json()["error"] for answer in answers if answer.status_code == 409]
    assert failed["code"] == "browser_failed"
    assert "its answer cannot be sent" in failed["message"]
    page.evaluate("agentweb.publish({after: 1})")
    meanwhile(page, lambda: site.until(lambda: site.manifest()["state"].get("after") == 1))
    assert invoke(site, page, "look").json()["result"] == "white"


@pytest.mark.parametrize("kind", ["asgi-postgres", "wsgi-sqlite"])
def test_an_action_is_done_once_though_the_server_is_killed_while_it_waits(
    kind: str, browser: Browser, tmp_path: Path
) -> None:
    server, database = kind.split("-")
    with fresh_database(database, tmp_path) as fresh, serving(server, fresh) as site:
        context = browser.new_context()
        context.new_page().goto(f"{site.origin}/enter/ada")
        page = open_board(site, context)
        lost: list[Exception] = []

        def ask() -> None:
            try:
                site.invoke("hold", key=KEY)
            except httpx.HTTPError as error:
                lost.append(error)

        agent = threading.Thread(target=ask)
        agent.start()
        page.wait_for_selector("body[data-holds='1']")
        site.kill()
        agent.join()
        assert len(lost) == 1
        port = int(site.origin.rpartition(":")[2])
        with serving_at(port, server, fresh, site.tokens) as again:
            page.evaluate("release()")
            meanwhile(
                page,
                lambda: again.until(lambda: run(fresh, "tests.aip.live.site:answered_by_pages") == 1, 40),
            )
            run(fresh, "tests.aip.live.site:end_leases")
            for _ in range(2):
                answer = invoke(again, page, "hold", key=KEY)
                assert (answer.status_code, answer.json()["result"]) == (200, "held"), answer.text
            assert page.evaluate("document.body.dataset.holds") == "1"
            context.close()
