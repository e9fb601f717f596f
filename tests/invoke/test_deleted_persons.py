"""A person who is deleted while a call of their agent runs: a refusal, and a row in the log all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb import AgentError, action
from agentweb.access import site_keys
from agentweb.catalog.registry import registry
from agentweb.invoke import idempotency
from agentweb.invoke.models import AuditEntry
from agentweb.testing import TestAgent
from tests.site.models import Note

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def actions() -> Iterator[None]:
    site_keys.ensure_active_key()

    def look(inp: Any, ctx: Any) -> Any:
        User.objects.all().delete()
        return note(inp, ctx)

    def note(inp: Any, ctx: Any) -> Any:
        if ctx.action.effect == "write":
            Note.objects.create(text="half")
        if (inp or {}).get("refuse"):
            raise AgentError("too_late", "No.")
        if (inp or {}).get("crash"):
            raise RuntimeError
        return {}

    schema = {"type": "object", "properties": {"refuse": {"type": "boolean"}, "crash": {"type": "boolean"}}}
    with registry.only():
        action("look", effect="read", scope="a:b", description="Look.", input=schema)(look)
        action("note", effect="write", scope="a:b", description="Note.", input=schema)(note)
        assert registry.faults() == []
        yield


@pytest.mark.parametrize("query", ["", "?refuse=true", "?crash=true"])
def test_a_read_that_outlives_its_person_is_recorded(query: str) -> None:
    agent = TestAgent(scopes=["a:*"], user=User.objects.create_user("ann"))
    answer = agent.get(f"/agent/look{query}")
    assert answer.status_code == {"": 200, "?refuse=true": 409, "?crash=true": 401}[query]
    assert AuditEntry.objects.get().user_id is None


@pytest.mark.parametrize("value", [{}, {"refuse": True}, {"crash": True}])
def test_a_call_that_outlives_its_person_is_refused_and_recorded(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = TestAgent(scopes=["a:*"], user=User.objects.create_user("ann"))
    claim = idempotency.claim

    def overtaken(**given: Any) -> Any:
        User.objects.all().delete()
        return claim(**given)

    # As another process would: after the caller was checked, and before the handler begins.
    monkeypatch.setattr(idempotency, "claim", overtaken)
    answer = agent.post("/agent/note", value)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "grant_revoked")
    entry = AuditEntry.objects.get()
    assert (entry.status, entry.outcome, entry.user_id) == (401, "grant_revoked", None)
    assert not Note.objects.exists()
