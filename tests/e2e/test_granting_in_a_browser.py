"""An agent with a key asks for a grant over HTTP; a person decides in a real browser; the agent calls with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb.access.models import Grant, Pairing
from agentweb.client import AgentClient, KeyStore
from agentweb.client.approvals.policy import ApprovalPolicy
from agentweb.client.grant_requests import GrantRequest
from agentweb.wire.errors import AgentError
from tests.e2e.test_pairing_in_a_browser import PASSWORD, ann, log_in, look, origin, press, replace_text
from tests.support.browsers import chromium, tab_to, ticks

__all__ = ["ann", "chromium", "origin"]

pytestmark = pytest.mark.django_db(transaction=True)

SCOPES = ("cart:*", "checkout")
REASON = "To buy tea for the <b>office</b>."


@pytest.fixture
def asking(origin: str, settings: Any) -> str:
    """The origin of the site, which lets agents ask for grants."""
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_REQUESTS": True}
    return origin


class Agent:
    """An agent with a key and no grant, which asks at the site of ``origin``."""

    def __init__(self, origin: str, folder: Path) -> None:
        self.origin = origin
        # What it may do the person decides at the site.
        never = ApprovalPolicy.never_ask()
        self.client = AgentClient(KeyStore(folder / "agent.json"), approval=never)

    def asks(self) -> GrantRequest:
        return self.client.request_grant(
            self.origin, SCOPES, mandate="USD:20.00/50.00", expires_in=86_400, reason=REASON
        )

    def does(self, name: str, **given: Any) -> Any:
        return self.client.call_action(self.origin, name, given).value

    def is_refused(self, call: Any) -> AgentError:
        with pytest.raises(AgentError) as caught:
            call()
        return caught.value


@pytest.fixture
def agent(asking: str, tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(asking, tmp_path)
    with agent.client:
        yield agent


def text_of(page: Any) -> str:
    return str(page.locator("main").inner_text())


def test_a_person_types_the_code_narrows_by_keyboard_and_the_agent_calls_within_that(
    asking: str, ann: User, agent: Agent, chromium: Any
) -> None:
    assert agent.is_refused(lambda: agent.does("add_to_cart")).code == "grant_required"
    asked = agent.asks()
    page = chromium.new_context().new_page()
    page.goto(asked.approve_url.partition("?")[0])
    log_in(page)
    tab_to(page, name="code")
    page.keyboard.type(asked.user_code.lower().replace("-", " "))
    press(page)
    seen = text_of(page)
    for words in (
        REASON,
        agent.client.public_key,
        asked.user_code,
        "ann",
        "Put a thing into your cart.",
        "What is in your cart.",
        "spends money",
        "50.00 USD",
    ):
        assert words in seen
    # What an agent writes is text, and no part of the page.
    assert page.locator("main b").count() == 0
    assert ticks(page, "scopes") == {
        "cart:delete": False,
        "cart:read": True,
        "cart:write": True,
        "checkout": False,
    }
    assert not page.is_checked("[name=spends]")
    tab_to(page, value="cart:read")
    page.keyboard.press("Space")
    tab_to(page, value="checkout")
    page.keyboard.press("Space")
    tab_to(page, name="spends")
    page.keyboard.press("Space")
    for name, amount in (("per_tx", "5"), ("total", "8.00")):
        tab_to(page, name=name)
        replace_text(page, amount)
    tab_to(page, name="life")
    page.keyboard.press("ArrowUp")
    tab_to(page, value="approve")
    press(page)
    assert "gets its grant" in text_of(page)

    assert agent.asks().grant is not None
    [held] = agent.client.grants()
    assert held["scopes"] == ["cart:write", "checkout"]
    assert held["mandate"] == {"currency": "USD", "per_tx": "5.00", "total": "8.00", "remaining": "8.00"}
    row = Grant.objects.get()
    assert (row.user, row.subject) == (ann, agent.client.public_key)
    assert (row.expires_at - row.created_at).total_seconds() < 3_602
    assert agent.does("add_to_cart") == {"for": "ann"}
    assert agent.is_refused(lambda: agent.does("view_cart")).code == "grant_required"
    assert agent.does("pay", amount="5.00")["receipt"].startswith("rc_")
    assert agent.is_refused(lambda: agent.does("pay", amount="3.01")).code == "mandate_exceeded"

    page.goto(f"{asking}/agent-access/")
    assert "5.00 USD of 8.00 USD" in text_of(page)
    tab_to(page, name="id", value=held["id"])
    press(page)
    assert "No agent acts for you" in text_of(page)
    assert agent.is_refused(lambda: agent.does("add_to_cart")).code == "grant_revoked"


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_person_decides_without_javascript(
    asking: str, ann: User, agent: Agent, chromium: Any, decision: str
) -> None:
    asked = agent.asks()
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto(asked.approve_url.partition("?")[0])
    page.fill("[name=username]", "ann")
    page.fill("[name=password]", PASSWORD)
    page.click("button")
    page.fill("[name=code]", asked.user_code)
    page.click("main button[type=submit]")
    assert REASON in text_of(page)
    page.uncheck("[value='cart:read']")
    page.click(f"button[value={decision}]")
    if decision == "approve":
        assert "gets its grant" in text_of(page)
        assert agent.asks().grant is not None
        [held] = agent.client.grants()
        # The money was not ticked.
        assert (held["scopes"], held["mandate"]) == (["cart:write"], None)
        assert agent.does("add_to_cart") == {"for": "ann"}
    else:
        assert agent.is_refused(agent.asks).code == "approval_denied"
        assert agent.client.grants() == []
        assert not Grant.objects.exists()


def test_more_than_was_asked_for_is_refused_on_the_page_and_the_rest_is_kept(
    asking: str, ann: User, agent: Agent, chromium: Any
) -> None:
    asked = agent.asks()
    page = chromium.new_context().new_page()
    page.goto(asked.approve_url)
    log_in(page)
    page.check("[value='checkout']")
    page.check("[name=spends]")
    page.fill("[name=total]", "50.01")
    page.click("button[value=approve]")
    assert "At most 50.00 USD" in text_of(page)
    assert page.input_value("[name=total]") == "50.01"
    assert page.is_checked("[value='checkout']")
    assert page.get_attribute("[name=total]", "aria-invalid") == "true"
    look(page, "grant-refused")
    assert Pairing.objects.get().state == "pending"
    page.fill("[name=total]", "50")
    page.click("button[value=approve]")
    assert agent.asks().grant is not None


def test_what_the_agent_took_back_nobody_can_approve_any_more(
    asking: str, ann: User, agent: Agent, chromium: Any
) -> None:
    asked = agent.asks()
    page = chromium.new_context().new_page()
    page.goto(asked.approve_url)
    log_in(page)
    agent.client.take_back_request(asking, asked.id)
    page.click("button[value=approve]")
    assert "No program waits with this code" in text_of(page)
    assert not Grant.objects.exists()
    assert agent.asks().id != asked.id


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_the_pages_of_a_request_shut_nobody_out(
    asking: str, ann: User, agent: Agent, chromium: Any, scheme: str, width: int
) -> None:
    asked = agent.asks()
    page = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}).new_page()
    page.goto(asked.approve_url)
    log_in(page)
    look(page, f"grant-{scheme}-{width}-asked")
    page.click("button[value=approve]")
    look(page, f"grant-{scheme}-{width}-given")
    page.goto(asked.approve_url)
    look(page, f"grant-{scheme}-{width}-again")
    page.goto(f"{asking}/agent-access/")
    assert REASON in text_of(page)
    look(page, f"grant-{scheme}-{width}-agents")
