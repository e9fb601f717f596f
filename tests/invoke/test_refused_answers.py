"""What is kept of a refusal, and what the site's log says of an answer: with the id of the call."""

from __future__ import annotations

import contextlib
import logging
from typing import Any

import pytest

from agentweb import AgentError, action
from agentweb.catalog.registry import registry
from agentweb.invoke.door import invoke
from tests.support.calls import agent_caller, call_of

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "intent-0123456789"


def error_of(call: Any) -> AgentError:
    with pytest.raises(AgentError) as caught:
        invoke(call)
    return caught.value


def test_a_replayed_refusal_has_the_headers_that_the_handler_gave_it() -> None:
    caller = agent_caller()
    given = {"Link": '</orders/7>; rel="related"', "Retry-After": "120", "X-Shelf": "küche"}
    with registry.only():

        @action(effect="write", scope="notes:write", description="Refuse.")
        def refuse(_inp: Any, ctx: Any) -> Any:
            raise AgentError(
                "sold_out", "Sold out.", headers=given, left=0, error="ours", more={"headers": 1}
            )

        first = error_of(call_of("refuse", {}, caller, key=KEY))
        second = error_of(call_of("refuse", {}, caller, key=KEY))
    assert first.headers == given
    assert second.headers == {**given, "Idempotent-Replayed": "true"}
    assert second.as_dict() == {**first.as_dict(), "request_id": second.as_dict()["request_id"]}


def test_what_the_log_says_of_an_answer_names_the_call(caplog: pytest.LogCaptureFixture) -> None:
    with registry.only():
        output = {"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}}

        @action(description="Look.", output=output)
        def look(_inp: Any, ctx: Any) -> Any:
            return {"password": "hunter2"}

        @action(description="Refuse.")
        def refuse(_inp: Any, ctx: Any) -> Any:
            raise AgentError("no", "No.", api_key="hunter2")

        for name in ("look", "refuse"):
            call = call_of(name, {})
            caplog.clear()
            with caplog.at_level(logging.WARNING, "agentweb.invoke"), contextlib.suppress(AgentError):
                invoke(call)
            assert caplog.records
            assert all(f"{name} ({call.request_id})" in record.getMessage() for record in caplog.records)
            assert "hunter2" not in caplog.text
