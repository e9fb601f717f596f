"""What processes do at once to one person's page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User

from agentweb.access.callers import AGENT, Caller
from agentweb.access.database import begun, patiently
from agentweb.aip.bridge.actions import action_at
from agentweb.aip.models import OpenPage
from agentweb.catalog.pages import page, page_at
from agentweb.invoke.context import Context
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError


def prepare() -> Any:
    """A person with an open page, which their agents may ask to paint; the person's key."""
    user = User.objects.create_user("ada")
    at = now_datetime()
    until = at + timedelta(minutes=5)
    OpenPage.objects.create(
        id="op_1",
        user=user,
        login="l",
        page="/board",
        offers='["paint"]',
        active_at=at,
        connected_until=until,
    )
    return user.pk


def ask(user_id: Any) -> str:
    """Ask once, as a call does: in a transaction."""
    declared = {"name": "paint", "description": "To paint.", "effect": "write", "scope": "board:write"}
    page("/board", title="Board", browser_actions=[declared])
    found = page_at("/board")
    assert found is not None
    action = action_at(found[0], "/board", "paint")
    assert action is not None
    context = Context(
        action=action,
        caller=Caller(kind=AGENT, user_id=user_id),
        request=None,
        request_id="rq_1",
        idempotency_key=None,
        till=None,
    )

    def work() -> None:
        with begun():
            action.handler({}, context)

    try:
        patiently(work)
    except AgentError as error:
        return str(error.code)
    return "asked"
