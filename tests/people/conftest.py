"""A site with one action that waits for a person, an agent that called it, and people's browsers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agentweb import action
from agentweb.access.models import Approval
from agentweb.testing import TestAgent
from tests.support.web_fixtures import catalog

__all__ = ["catalog"]

INPUT = {"type": "object", "properties": {"to": {"type": "string"}}}


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def ran() -> list[Any]:
    return []


@pytest.fixture
def site(catalog: None, ran: list[Any]) -> None:
    @action(
        effect="send",
        scope="mail:send",
        title="Send a letter",
        description="Mail it.",
        input=INPUT,
        confirm="person",
    )
    def send_letter(inp: Any, ctx: Any) -> Any:
        ran.append(inp)
        return {"sent": True}


@pytest.fixture
def ask(site: None) -> Callable[..., str]:
    """An agent of a person calls; the id of what waits now."""

    def ask(user: User | None, value: Any = None, *, agent: TestAgent | None = None, **more: Any) -> str:
        agent = agent or TestAgent(scopes=["mail:send"], user=user, **more)
        answer = agent.post("/agent/send_letter", {"to": "bob"} if value is None else value)
        assert answer.status_code == 428, answer.content
        return str(answer.json()["error"]["approval"])

    return ask


def browser(user: User | None = None, **options: Any) -> Client:
    """A browser, logged in as a person or as nobody."""
    client = Client(**options)
    if user is not None:
        client.force_login(user)
    return client


def page(ident: str) -> str:
    return f"/agent-access/approvals/{ident}"


def state(ident: str) -> str:
    return Approval.objects.get(pk=ident).state
