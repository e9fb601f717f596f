"""Endpoints that are no actions, and whose calls are in the audit log all the same."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, ClassVar

from django.http import HttpResponse

from agentweb.agent_actions.mount import PROTOCOL
from agentweb.http.views import AgentView, json_response
from agentweb.invoke import audit
from agentweb.wire import canonical
from agentweb.wire.errors import AgentError, Code
from agentweb.wire.json_writing import dumps
from agentweb.wire.safe_numbers import nearest_doubles
from agentweb.wire.strict_json import Json


class NotedView(AgentView):
    """``noted_as`` is what the audit log calls it, where calls have the name of their action."""

    noted_as: ClassVar[str]

    def noted(self, sent: Json, work: Callable[[], dict[str, Any]], *, done: int = 200) -> HttpResponse:
        """Answer with what ``work`` returns and the status ``done``, and leave a row in the audit log, whatever comes
        of it."""
        started = perf_counter()
        status, outcome = 500, str(Code.INTERNAL)
        try:
            answer = json_response(dumps(work()), status=done)
            status, outcome = done, audit.OK
        except AgentError as error:
            status, outcome = error.status, error.code
            raise
        finally:
            audit.note(
                self.caller,
                protocol=PROTOCOL,
                action=self.noted_as,
                effect="write",
                request_id=self.request_id,
                input_digest=canonical.digest(nearest_doubles(sent)),
                status=status,
                outcome=outcome,
                seconds=perf_counter() - started,
            )
        return answer
