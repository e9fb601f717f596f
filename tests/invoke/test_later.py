"""Answers that come later: what has committed by then, what is kept, and that no transaction waits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from agentweb import AgentError, action
from agentweb.access import approvals, site_keys
from agentweb.access.models import Approval
from agentweb.catalog.registry import registry
from agentweb.invoke.door import invoke
from agentweb.invoke.later import Later
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import ServerError
from tests.site.models import Note
from tests.support.calls import agent_caller, call_of, caller_with, chain_of

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "intent-0123456789"

State = dict[str, Any]


@pytest.fixture
def seen() -> State:
    """``answer`` is what comes later; the rest is how things stood while it was waited for."""
    return {"answer": lambda: {"told": True}, "waits": 0}


@pytest.fixture(autouse=True)
def actions(seen: State) -> Iterator[None]:
    site_keys.ensure_active_key()

    def wait() -> Any:
        seen["waits"] += 1
        seen["in a transaction"] = connection.in_atomic_block
        seen["notes"] = Note.objects.count()
        seen["audit"] = list(AuditEntry.objects.values_list("status", "outcome"))
        seen["leases"] = list(IdempotencyRecord.objects.values_list("state", "lease_until"))
        return seen["answer"]()

    def ask(inp: Any, ctx: Any) -> Any:
        Note.objects.create(text="asked")
        return Later(wait, 45)

    def ask_by_reference(inp: Any, ctx: Any) -> Any:
        seen.setdefault("former", []).append(ctx.former)
        if not ctx.former:
            Note.objects.create(text="asked")
        return Later(wait, 45, "note-1")

    def look(inp: Any, ctx: Any) -> Any:
        return Later(wait, 45)

    with registry.only():
        more: dict[str, Any] = {"input": {}, "scope": "notes:write"}
        action("ask", effect="write", description="Ask.", **more)(ask)
        action("ask_by_reference", effect="write", description="Ask.", **more)(ask_by_reference)
        action("ask_and_confirm", effect="write", description="Ask.", confirm="person", **more)(ask)
        action("look", description="Look.", input={})(look)
        action(
            "buy",
            effect="spend",
            description="Buy.",
            input={},
            scope="shop:pay",
            cost={"amount": 5, "currency": "USD"},
        )(ask)
        assert [fault for fault in registry.faults() if fault.is_error] == []
        yield


def outcome_of(name: str, **more: Any) -> Any:
    """The result, or the error that was raised."""
    try:
        return json.loads(invoke(call_of(name, {}, more.pop("caller", agent_caller()), **more)).body)
    except AgentError as error:
        return error


def fail(error: Exception) -> Callable[[], Any]:
    def answer() -> Any:
        raise error

    return answer


def audit() -> list[tuple[int, str]]:
    return list(AuditEntry.objects.order_by("id").values_list("status", "outcome"))


def test_the_answer_is_waited_for_without_a_transaction(seen: State) -> None:
    began = now_datetime()
    assert outcome_of("ask", key=KEY) == {"told": True}
    assert seen["in a transaction"] is False
    # Committed by then: what the handler wrote, and that it ran.
    assert seen["notes"] == 1
    assert seen["audit"] == [(202, "waiting")]
    [(state, until)] = seen["leases"]
    assert state == "running"
    assert until >= began + timedelta(seconds=45)
    assert audit() == [(200, "ok")]


def test_the_answer_is_kept_for_its_key(seen: State) -> None:
    outcome_of("ask", key=KEY)
    assert outcome_of("ask", key=KEY) == {"told": True}
    assert seen["waits"] == 1
    assert audit() == [(200, "ok"), (200, "replayed")]


def test_a_repeated_call_is_in_progress_meanwhile(seen: State) -> None:
    caller = agent_caller()
    again: list[Any] = []
    seen["answer"] = lambda: again.append(outcome_of("ask", caller=caller, key=KEY)) or {"told": True}
    assert outcome_of("ask", caller=caller, key=KEY) == {"told": True}
    assert again[0].code == "idempotency_in_progress"


def test_a_refusal_is_kept_and_leaves_what_was_asked(seen: State) -> None:
    seen["answer"] = fail(AgentError("wet_paint", "The paint is wet."))
    assert outcome_of("ask", key=KEY).code == "wet_paint"
    seen["answer"] = lambda: "never"
    assert outcome_of("ask", key=KEY).code == "wet_paint"
    assert Note.objects.count() == 1
    assert audit() == [(409, "wet_paint"), (409, "replayed")]


def test_where_nothing_was_done_the_key_is_free_again(seen: State) -> None:
    seen["answer"] = fail(ServerError("timeout", "Nothing was done.", retry_after=1))
    assert outcome_of("ask", key=KEY).status == 504
    seen["answer"] = lambda: "done"
    assert outcome_of("ask", key=KEY) == "done"


def test_where_nobody_knows_the_failure_is_the_answer_of_the_key(
    seen: State, caplog: pytest.LogCaptureFixture
) -> None:
    seen["answer"] = fail(ServerError("timeout", "Nobody knows."))
    assert outcome_of("ask", key=KEY).status == 504
    seen["answer"] = lambda: "done twice"
    assert outcome_of("ask", key=KEY).code == "timeout"
    assert seen["waits"] == 1
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("wrong", [RuntimeError("postgres://user:hunter2@db"), None])
def test_a_crash_while_waiting_says_that_it_may_have_been_done(seen: State, wrong: Exception | None) -> None:
    seen["answer"] = fail(wrong) if wrong else object
    error = outcome_of("ask", key=KEY)
    assert (error.status, error.code) == (500, "handler_error")
    assert "may have been done" in error.message
    assert "hunter2" not in error.message
    assert outcome_of("ask", key=KEY).code == "handler_error"
    assert seen["waits"] == 1


def test_secrets_leave_a_late_answer_too(seen: State) -> None:
    seen["answer"] = lambda: {"name": "ada", "password": "hunter2"}
    assert outcome_of("ask") == {"name": "ada"}
    assert outcome_of("look") == {"name": "ada"}


def test_a_read_may_wait_too_and_leaves_one_row(seen: State) -> None:
    assert outcome_of("look") == {"told": True}
    seen["answer"] = fail(ServerError("timeout", "Call again.", retry_after=1))
    assert outcome_of("look").status == 504
    assert audit() == [(200, "ok"), (504, "timeout")]


def test_what_spends_cannot_be_answered_later(seen: State) -> None:
    error = outcome_of("buy", caller=agent_caller(spending="USD:10.00/10.00"), key=KEY)
    assert (error.status, error.code) == (500, "handler_error")
    assert seen["waits"] == 0
    assert Note.objects.count() == 0


def test_an_approval_is_used_up_by_what_was_asked(seen: State) -> None:
    ann = User.objects.create_user("ann")
    caller = caller_with(chain_of(), user_id=ann.pk)
    assert outcome_of("ask_and_confirm", caller=caller).code == "needs_human"
    approvals.approve(Approval.objects.get().id, by=ann)
    seen["answer"] = fail(ServerError("timeout", "Nobody knows."))
    assert outcome_of("ask_and_confirm", caller=caller).code == "timeout"
    assert Approval.objects.get().state == Approval.State.USED
    assert outcome_of("ask_and_confirm", caller=caller).code == "needs_human"
    assert seen["waits"] == 1


def interrupted(name: str, **more: Any) -> None:
    """A call whose process ends while it waits, and the time for which its key was held."""
    with pytest.raises(KeyboardInterrupt):
        invoke(call_of(name, {}, more.pop("caller", agent_caller()), key=KEY, **more))
    IdempotencyRecord.objects.update(lease_until=now_datetime() - timedelta(seconds=1))


def stop() -> Any:
    raise KeyboardInterrupt


def test_what_was_asked_is_not_asked_again_after_the_process_has_ended(seen: State) -> None:
    seen["answer"] = stop
    interrupted("ask")
    assert Note.objects.count() == 1
    for _ in range(2):
        error = outcome_of("ask", key=KEY)
        assert (error.code, error.status) == ("handler_error", 500)
        assert "may have been done" in error.message
    assert (Note.objects.count(), seen["waits"]) == (1, 1)


def test_a_handler_that_gave_a_reference_finds_out_what_became_of_it(seen: State) -> None:
    seen["answer"] = stop
    interrupted("ask_by_reference")
    seen["answer"] = lambda: {"told": "late"}
    assert outcome_of("ask_by_reference", key=KEY) == {"told": "late"}
    assert outcome_of("ask_by_reference", key=KEY) == {"told": "late"}
    assert seen["former"] == ["", "note-1"]
    assert Note.objects.count() == 1


def test_an_approval_that_was_used_is_not_asked_for_again(seen: State) -> None:
    ann = User.objects.create_user("ann")
    caller = caller_with(chain_of(), user_id=ann.pk)
    assert outcome_of("ask_and_confirm", caller=caller, key=KEY).code == "needs_human"
    approvals.approve(Approval.objects.get().id, by=ann)
    seen["answer"] = stop
    interrupted("ask_and_confirm", caller=caller)
    assert "may have been done" in outcome_of("ask_and_confirm", caller=caller, key=KEY).message
    assert Approval.objects.get().state == Approval.State.USED
