"""What docs/reference/handler.md says of handlers holds."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404

from agentweb import AgentError, action
from agentweb.catalog.registry import registry
from agentweb.invoke.context import Context
from agentweb.invoke.redaction import is_sensitive
from agentweb.invoke.secret_names import PHRASES
from agentweb.testing import TestAgent
from tests.docs.pages import DOCS, blocks
from tests.docs.running import running

PAGE = "reference/handler.md"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")
RESERVATION = {"table": "window", "guests": 2}


def agent() -> TestAgent:
    return TestAgent(scopes=["tables:reserve"], spending="EUR:50.00/50.00")


@pytest.mark.django_db(transaction=True)
def test_the_handlers_of_the_page_answer_as_it_says() -> None:
    with running(PAGE):
        caller = agent()
        answer = caller.post("/agent/reserve_table", RESERVATION)
        assert answer.json()["receipt"].startswith("rc_")
        assert answer.json()["at"].endswith("Z")
        assert [message.body for message in mail.outbox] == [caller.key.public]
        refused = caller.post("/agent/reserve_table", {**RESERVATION, "guests": 5}).json()["error"]
        assert (refused["code"], refused["field"]) == ("table_too_small", "guests")
        assert caller.post("/agent/cancel_reservation", RESERVATION).json()["by"] == caller.key.public
        [shown] = blocks(PAGE, "json")
        error = caller.post("/agent/move_reservation", RESERVATION).json()
        assert {**error["error"], "request_id": "rq_…"} == json.loads(shown.text)["error"]


def test_every_name_of_ctx_is_described() -> None:
    names = {name for name in vars(Context) if not name.startswith("_")}
    names |= {name for name in inspect.signature(Context).parameters if name != "till"}
    assert set(re.findall(r"^\| `ctx\.(\w+)[`(]", TEXT, re.MULTILINE)) == names


def test_the_list_of_secrets_is_the_code_s() -> None:
    listed = TEXT.partition("## Redaction")[2].partition("So `")[0].partition("ignored:")[2]
    assert tuple(re.findall(r"`([a-z0-9 ]+)`", listed)) == PHRASES
    assert all(map(is_sensitive, ("user_password", "pass_word", "apiKeys", "newpassword", "password2")))
    assert not any(map(is_sensitive, ("tokens_used", "shipping", "secretary")))


@pytest.mark.parametrize(
    ("error", "status", "code", "is_kept"),
    [
        (AgentError("table_taken"), 409, "table_taken", True),
        (AgentError("unavailable", retry_after=30), 503, "unavailable", False),
        (Http404("no such table"), 404, "not_found", True),
        (PermissionDenied("not yours"), 403, "not_allowed", True),
        (ValidationError({"guests": ["Too many."]}), 422, "invalid_input", True),
        (KeyError("guests"), 500, "handler_error", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
@pytest.mark.django_db(transaction=True)
def test_what_is_raised_is_answered_and_takes_the_work_back(
    error: Exception, status: int, code: str, is_kept: bool
) -> None:
    runs: list[int] = []

    async def handler(_: None, ctx: Any) -> None:
        await User.objects.acreate(username="somebody")
        runs.append(1)
        raise error

    with registry.only():
        action("fail", effect="write", scope="tables:reserve", description="Fail.")(handler)
        caller = agent()
        for _ in range(2):
            answer = caller.post("/agent/fail", key="the-same-key-again")
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert len(runs) == (1 if is_kept else 2)
        assert not User.objects.exists()
