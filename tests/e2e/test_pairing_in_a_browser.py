"""From the first request of a program to the end of its session, in a real browser and without a mouse."""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User

from agentweb import action
from agentweb.access import principals, site_keys
from agentweb.access.models import Session
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from agentweb.wire.signing import SigningKey
from tests.support.browsers import EVERY, chromium, faults, tab_to, ticks

__all__ = ["chromium"]

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "one of ann's"
ASKED = {
    "client_name": "Shopping helper",
    "scopes": ["cart:*", "checkout"],
    "mandate": {"currency": "USD", "per_tx": "20.00", "total": "50.00"},
}
NOTHING: dict[str, Any] = {"type": "object"}


class Program:
    """The program of a person: it speaks HTTP and nothing else."""

    def __init__(self, origin: str) -> None:
        self.address = urlsplit(origin).netloc
        self.token = ""

    def call(self, method: str, path: str, value: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self.address, timeout=30)
        headers = {"Authorization": f"Bearer {self.token}"} | headers if self.token else headers
        body = None if value is None else json.dumps(value)
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    def ask(self) -> dict[str, Any]:
        status, asked = self.call("POST", "/__aim/sessions", ASKED)
        assert status == 201, asked
        self.token = asked["token"]
        return dict(asked)

    def add(self) -> tuple[int, Any]:
        return self.call("POST", "/agent/add_to_cart", {})

    def pay(self, amount: str) -> tuple[int, Any]:
        key = {"Idempotency-Key": f"pay-{amount}-0123456789"}
        return self.call("POST", "/agent/pay", {"amount": amount}, **key)


@pytest.fixture
def origin(request: pytest.FixtureRequest, settings: Any) -> Iterator[str]:
    # The server would look for files of STATIC_ROOT there; ours are served by the URLconf.
    settings.STATIC_URL = "/unused/"
    live_server = request.getfixturevalue("live_server")
    settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": live_server.url}
    settings.ROOT_URLCONF = "tests.e2e.urls"
    settings.STATIC_URL = "/static/"
    folder = str(Path(__file__).parent / "templates")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [folder]}]
    site_keys.ensure_active_key()
    with registry.only():

        @action(
            effect="write",
            scope="cart:write",
            title="Fill the cart",
            description="Put a thing into your cart.",
            input=NOTHING,
        )
        def add_to_cart(inp: Any, ctx: Any) -> Any:
            return {"for": ctx.user.get_username()}

        @action(
            scope="cart:read", title="Look into the cart", description="What is in your cart.", input=NOTHING
        )
        def view_cart(inp: Any, ctx: Any) -> Any:
            return {}

        @action(
            effect="delete",
            scope="cart:delete",
            title="Empty the cart",
            description="Throw everything out of your cart.",
            input=NOTHING,
        )
        def empty_cart(inp: Any, ctx: Any) -> Any:
            return {}

        @action(
            effect="spend",
            scope="checkout",
            title="Pay",
            description="Pay for what is in your cart.",
            input={"type": "object", "properties": {"amount": {"type": "string"}}, "required": ["amount"]},
        )
        def pay(inp: Any, ctx: Any) -> Any:
            return {"receipt": ctx.charge(inp["amount"], "USD", item="Assam tea, 250 g")["id"]}

        @action(
            effect="send",
            scope="mail:send",
            title="Send a letter",
            description="Mail it.",
            confirm="person",
            input=NOTHING,
        )
        def send_letter(inp: Any, ctx: Any) -> Any:
            return {}

        yield str(live_server.url)
    # Threads that served the browser hold connections to the database, which is to be dropped.
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(timeout=10)


@pytest.fixture
def ann(transactional_db: None) -> User:
    return User.objects.create_user("ann", password=PASSWORD)


def log_in(page: Any) -> None:
    """At the page to log in, by keyboard; afterwards the browser is where it wanted to go."""
    assert "/accounts/login/" in page.url
    tab_to(page, name="username")
    page.keyboard.type("ann")
    tab_to(page, name="password")
    page.keyboard.type(PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def replace_text(page: Any, text: str) -> None:
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def press(page: Any, key: str = "Enter") -> None:
    with page.expect_navigation():
        page.keyboard.press(key)


@pytest.mark.requirement("AIP-5.9")
def test_a_person_connects_a_program_by_keyboard_and_ends_it(origin: str, ann: User, chromium: Any) -> None:
    program = Program(origin)
    assert program.add()[1]["error"]["code"] == "grant_required"
    asked = program.ask()
    assert program.add()[1]["error"]["code"] == "session_pending"

    page = chromium.new_context().new_page()
    page.goto(asked["verification_url"])
    log_in(page)
    tab_to(page, name="code")
    page.keyboard.type(asked["user_code"].lower())
    press(page)
    seen = page.locator("main").inner_text()
    for words in (
        "Shopping helper",
        asked["user_code"],
        "Put a thing into your cart.",
        "spends money",
        "50.00 USD",
    ):
        assert words in seen
    # Narrower: no look into the cart, and less money for a shorter time.
    assert ticks(page, "scopes") == {
        "cart:delete": False,
        "cart:read": True,
        "cart:write": True,
        "checkout": False,
    }
    tab_to(page, value="cart:read")
    page.keyboard.press("Space")
    tab_to(page, value="checkout")
    page.keyboard.press("Space")
    tab_to(page, name="spends")
    page.keyboard.press("Space")
    tab_to(page, name="per_tx")
    replace_text(page, "5")
    tab_to(page, name="total")
    replace_text(page, "8.00")
    tab_to(page, name="life")
    page.keyboard.press("ArrowUp")
    tab_to(page, value="approve")
    press(page)
    assert "Shopping helper is connected" in page.locator("main").inner_text()

    assert program.add() == (200, {"for": "ann"})
    assert program.pay("5.00")[0] == 200
    assert program.pay("5.01")[1]["error"]["limit"] == "per_tx"
    assert program.pay("4.00")[1]["error"]["limit"] == "total"
    assert program.call("GET", "/agent/view_cart")[1]["error"]["code"] == "insufficient_scope"
    status, current = program.call("GET", "/__aim/sessions/current")
    assert (status, current["scopes"]) == (200, ["cart:write", "checkout"])
    assert current["mandate"]["left"] == "3.00"
    assert Session.objects.get().expires_at.timestamp() - Session.objects.get().created_at.timestamp() < 3_602

    page.reload()
    assert "5.00 USD of 8.00 USD" in page.locator("main").inner_text()
    tab_to(page, href="/agent-access/receipts")
    press(page)
    assert "Assam tea, 250 g" in page.locator("main").inner_text()
    page.go_back()
    tab_to(page, name="id", value=asked["session_id"])
    press(page)
    assert "No agent acts for you" in page.locator("main").inner_text()
    status, refused = program.add()
    assert (status, refused["error"]["code"]) == (401, "session_revoked")


def test_all_of_it_works_without_javascript_and_logging_out_ends_it(
    origin: str, ann: User, chromium: Any
) -> None:
    program = Program(origin)
    asked = program.ask()
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto(asked["verification_url_complete"])
    page.fill("[name=username]", "ann")
    page.fill("[name=password]", PASSWORD)
    page.click("button")
    assert asked["user_code"] in page.locator("main").inner_text()
    page.click("button[value=approve]")
    assert "is connected" in page.locator("main").inner_text()
    assert program.add()[0] == 200
    log_out(page, origin)
    status, refused = program.add()
    assert (status, refused["error"]["reason"]) == (401, "logged_out")


def log_out(page: Any, origin: str) -> None:
    """POST to the site's own page for it, from a page of the site."""
    cookies = {each["name"]: each["value"] for each in page.context.cookies()}
    answer = page.context.request.post(
        f"{origin}/accounts/logout/",
        form={"csrfmiddlewaretoken": cookies["csrftoken"]},
        headers={"Referer": origin},
    )
    assert answer.ok


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_nobody_is_shut_out_of_any_page_for_people(
    origin: str, ann: User, chromium: Any, scheme: str, width: int
) -> None:
    program = Program(origin)
    asked = program.ask()
    principals.enrol(ann, SigningKey.generate().public, "laptop")
    agent = TestAgent(scopes=["mail:send", "checkout"], user=ann, spending="USD:5.00/10.00", origin=origin)
    waiting = agent.post("/agent/send_letter", {}).json()["error"]["approval"]
    assert agent.post("/agent/pay", {"amount": "4.00"}).status_code == 200
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(asked["verification_url"])
    log_in(page)
    base = f"{origin}/agent-access"
    for number, address in enumerate(
        (
            f"{base}/connect",
            f"{base}/connect?code=WDJB-MJHT",
            asked["verification_url_complete"],
            f"{base}/",
            f"{base}/token",
            f"{base}/key",
            f"{base}/receipts",
            f"{base}/approvals",
            f"{base}/approvals/{waiting}",
        )
    ):
        page.goto(address)
        look(page, f"{scheme}-{width}-{number}")
    page.goto(asked["verification_url_complete"])
    page.check("[name=spends]")
    page.fill("[name=total]", "50.01")
    page.click("button[value=approve]")
    look(page, f"{scheme}-{width}-refused")
    page.goto(f"{base}/token")
    page.fill("[name=client_name]", "My script")
    page.check("[value='cart:read']")
    page.click("main button[type=submit]")
    assert page.locator("#token").input_value().startswith("agw_")
    look(page, f"{scheme}-{width}-made")


def look(page: Any, name: str) -> None:
    """Nothing for axe to find, nothing to scroll sideways; a picture where AGENTWEB_SCREENSHOTS names a folder."""
    folder = os.environ.get("AGENTWEB_SCREENSHOTS")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
    assert faults(page, EVERY) == [], page.url
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), page.url
