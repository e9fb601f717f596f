"""On which page an action is done: what a key is bound to, what the audit log tells, which names are no page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse

from agentweb import action
from agentweb.aip.bridge import calls
from agentweb.aip.models import OpenPage
from agentweb.catalog.pages import page
from agentweb.invoke.models import AuditEntry
from agentweb.testing import TestAgent
from agentweb.wire.clock import now_datetime
from tests.aip import sites

pytestmark = pytest.mark.usefixtures("catalog", "many_callers", "site_key")

PATH = "/__aim/invoke"
KEY = "0123456789abcdef"


@pytest.fixture(autouse=True)
def painted(catalog: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two boards that can be painted in the browser, and where it was done; the browser answers at once."""
    done: list[str] = []

    def at_once(path: str, action: str, value: Any, ctx: Any) -> Any:
        done.append(path)
        return {"painted": path}

    monkeypatch.setattr(calls, "ask", at_once)
    page(
        "/boards/<int:pk>",
        title="Board",
        browser_actions=[{"name": "paint", "description": "Paint it.", "effect": "write", "scope": "paint"}],
    )

    @action(effect="write", scope="paint", description="Wipe.", input=None, pages=["/boards/<pk>"])
    def wipe(_inp: Any, ctx: Any) -> Any:
        done.append("wiped")
        return {}

    return done


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def agent(ada: User) -> TestAgent:
    return TestAgent.with_session(scopes=["paint"], user=ada)


def paint(agent: TestAgent, at: str | None, *, name: str = "paint", path: str = PATH) -> HttpResponse:
    named = {} if at is None else {"page": at}
    return agent.request("POST", path, {"actionId": name, **named}, key=KEY)


def body_of(answer: HttpResponse) -> Any:
    return json.loads(answer.content)


def opened(user: User, path: str) -> None:
    at = now_datetime()
    OpenPage.objects.create(
        id=f"op_{path}", user=user, login="l", page=path, state="{}", offers='["paint"]', active_at=at,
        connected_until=at.replace(year=at.year + 1),
    )  # fmt: skip


def test_a_key_that_was_used_on_one_page_is_no_key_for_another(agent: TestAgent, painted: list[str]) -> None:
    assert body_of(paint(agent, "/boards/1"))["result"] == {"painted": "/boards/1"}
    other = paint(agent, "/boards/2")
    assert (other.status_code, body_of(other)["error"]["code"]) == (422, "idempotency_key_reused")
    # The same page, however it is written, is the same intent.
    for again in ("/boards/1", "/boards/1/", "/%62oards/1"):
        answer = paint(agent, again)
        assert body_of(answer)["result"] == {"painted": "/boards/1"}
        assert answer["Idempotent-Replayed"] == "true"
    assert painted == ["/boards/1"]


def test_a_page_that_is_left_to_the_site_is_another_intent_than_one_that_is_named(
    agent: TestAgent, ada: User, painted: list[str]
) -> None:
    opened(ada, "/boards/1")
    assert body_of(paint(agent, None))["result"] == {"painted": "/boards/1"}
    # Meanwhile the person looks at another board: what was done is answered, and not done there too.
    OpenPage.objects.all().delete()
    opened(ada, "/boards/2")
    assert body_of(paint(agent, None))["result"] == {"painted": "/boards/1"}
    assert body_of(paint(agent, "/boards/1"))["error"]["code"] == "idempotency_key_reused"
    assert painted == ["/boards/1"]


def test_an_action_of_the_site_is_the_same_intent_from_whichever_page(
    agent: TestAgent, painted: list[str]
) -> None:
    for at in ("/boards/1", "/boards/2", None):
        assert body_of(paint(agent, at, name="wipe"))["ok"] is True
    assert painted == ["wiped"]


def test_the_audit_log_tells_the_page_also_where_the_call_named_none(agent: TestAgent, ada: User) -> None:
    paint(agent, "/boards/7/")
    assert AuditEntry.objects.values_list("page", flat=True).last() == "/boards/7"
    opened(ada, "/boards/8")
    agent.request("POST", PATH, {"actionId": "paint"})
    assert AuditEntry.objects.values_list("page", flat=True).last() == "/boards/8"
    paint(agent, "/boards/9", name="wipe")
    assert AuditEntry.objects.values_list("page", flat=True).last() == ""


def test_under_a_prefix_the_key_is_bound_to_the_page_below_it(agent: TestAgent, settings: Any) -> None:
    settings.ROOT_URLCONF = sites.UnderAPath
    below = "/for/agents"
    assert body_of(paint(agent, f"{below}/boards/1", path=below + PATH))["result"] == {"painted": "/boards/1"}
    other = paint(agent, f"{below}/boards/2", path=below + PATH)
    assert body_of(other)["error"]["code"] == "idempotency_key_reused"
    assert set(AuditEntry.objects.values_list("page", flat=True)) == {"/boards/1", "/boards/2"}


@pytest.mark.parametrize("name", ["paint", "wipe", "nothing"])
@pytest.mark.parametrize("at", ["/boards/1%00", "/%00", "/boards/%001"])
def test_a_page_with_nul_is_refused_as_input(agent: TestAgent, at: str, name: str) -> None:
    answer = paint(agent, at, name=name)
    assert (answer.status_code, body_of(answer)["error"]["code"]) == (422, "invalid_input")
    [problem] = body_of(answer)["error"]["problems"]
    assert (problem["pointer"], problem["code"]) == ("/page", "format")
