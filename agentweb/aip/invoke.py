"""``POST /__aim/invoke``: an action by its id, with the input that its manifest shows (AIP section 4).

::

    {"actionId": "approve_request", "input": "req-3", "page"?: "/control-panel"}
    200 {"ok": true, "actionId", "result", "receipt"?, "receipts"?, "state"?}
    4xx {"ok": false, "error": {"code", "message", …}}

``receipt`` is the signed receipt of a call that paid, and ``receipts`` has all of them where there are several.
The order of checks: who calls, this document, the action, then what ``invoke.door`` checks for every protocol.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.aip.addresses import is_path, named_page
from agentweb.aip.bridge.live import live
from agentweb.aip.finding import find
from agentweb.aip.projection import Projection
from agentweb.aip.sessions import session_required
from agentweb.aip.state import state_of
from agentweb.catalog.actions import Action
from agentweb.catalog.effects import Effect
from agentweb.http import bodies
from agentweb.http.page_context import PageContext
from agentweb.http.request_members import Members, Note
from agentweb.http.views import AgentView, json_response
from agentweb.invoke.calls import Call, Outcome
from agentweb.invoke.door import REPLAYED_HEADER, invoke
from agentweb.ledger import receipts
from agentweb.wire import canonical
from agentweb.wire.errors import AgentError, Code
from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import Json, loads
from agentweb.wire.visible import text_of

logger = logging.getLogger("agentweb.aip")

PROTOCOL: Final = "aip"
KEYED: Final = "aip/invoke"
"""What an idempotency key is bound to, wherever the site is mounted; no path of an action begins without a slash.

For what is done in a browser the path of the page follows, if the call names one: elsewhere it is another intent.
"""

_MEMBERS: Final = ("actionId", "input", "page")
_LONGEST_PATH: Final = 2_000


class InvokeView(AgentView):
    """``POST``: call one action."""

    beside_error: ClassVar[Mapping[str, Any]] = MappingProxyType({"ok": False})

    def post(self, request: Request, **captured: Any) -> HttpResponse:
        sent = read(loads(self.body(), max_bytes=bodies.limit()))
        found = find(sent.action_id, self.caller, sent.page)
        action, projection = found.action, found.projection
        try:
            outcome = invoke(
                Call(
                    action=action,
                    caller=self.caller,
                    read_input=lambda: sent.read_input(projection),
                    protocol=PROTOCOL,
                    method="POST",
                    path=KEYED + found.named,
                    page=found.page,
                    site=self.site,
                    request_id=self.request_id,
                    idempotency_key=self.http_request.META.get("HTTP_IDEMPOTENCY_KEY"),
                    request=self.http_request,
                    on_limit=self.allowances.append,
                )
            )
        except AgentError as error:
            raise self._as_here(error, projection) from error
        state = None if sent.page is None else self._state(sent.page)
        response = json_response(success(action, outcome, state), status=outcome.status)
        if outcome.replayed:
            response[REPLAYED_HEADER] = "true"
        return response

    def _state(self, path: str) -> dict[str, Any] | None:
        """What the page shows now, as its manifest would say it to this caller; None for a caller who sees none there.

        The call is done, so a page that cannot say it takes nothing from the answer; the reason is in the site's log.
        """
        if self.caller.grant is None:
            return None
        try:
            found = named_page(path)
            if found is None or not found[0].is_visible_to(self.caller.user, found[1]):
                return None
            page, kwargs, below = found
            context = PageContext(self.caller, self.http_request, kwargs)
            browser = live(self.caller.user_id, below)
            return state_of(page, context, request_id=self.request_id, browser=browser)
        except AgentError:
            return None
        except Exception as error:
            why = text_of(error)
            logger.warning("%s: the state of %r is left out: %s", self.request_id, path, why, exc_info=error)
            return None

    def _as_here(self, error: AgentError, projection: Projection) -> AgentError:
        """The refusal in the words of AIP: the places of its input, and sessions where others speak of grants."""
        if error.code != Code.GRANT_REQUIRED or not self.caller.is_anonymous:
            return projection.located(error)
        required = session_required(self.http_request, self.origin)
        required.extra |= error.extra
        return required


@dataclass(frozen=True, slots=True)
class Invocation:
    """The outer document. ``input`` is what was sent, if ``has_input``."""

    action_id: str
    input: Json
    has_input: bool
    page: str | None

    def read_input(self, projection: Projection) -> Json:
        """The action's own input; none at all stands for an object without members. Raises InputError."""
        return projection.read(self.input) if self.has_input else projection.read_nothing()


def read(sent: Json) -> Invocation:
    """The members of the body; InputError with every problem."""
    members = Members(sent, _MEMBERS, wrapper="input")
    action_id = members.read("actionId", _action_id, is_required=True)
    page = members.read("page", _page)
    members.refuse_problems()
    given: dict[str, Json] = sent if isinstance(sent, dict) else {}
    return Invocation(str(action_id), given.get("input"), "input" in given, page)


def success(action: Action, outcome: Outcome, state: dict[str, Any] | None) -> bytes:
    """The answer of a call that was done; when it is repeated equal to the byte, but for the page's present state."""
    found = outcome.receipts
    if outcome.replay_of is not None and action.effect is Effect.SPEND:
        found = receipts.of_request(outcome.replay_of)
    # In the one form that a receipt has, whether it was just made or kept.
    issued = [canonical.canonicalize(each) for each in found]
    parts = [b'{"ok":true,"actionId":', dumps(action.name), b',"result":', outcome.body]
    if issued:
        parts += [b',"receipt":', issued[0]]
    if len(issued) > 1:
        parts += [b',"receipts":[', b",".join(issued), b"]"]
    if state is not None:
        parts += [b',"state":', dumps(state)]
    return b"".join([*parts, b"}"])


def _action_id(value: Json, note: Note) -> str:
    if not isinstance(value, str):
        note((), "type", "actionId is the id of an action, as the manifest has it.")
        return ""
    return value


def _page(value: Json, note: Note) -> str | None:
    if not isinstance(value, str) or len(value) > _LONGEST_PATH or not is_path(value):
        note(
            (),
            "format",
            "page is the path of a page as its manifest has it, such as /cart; it may be left out.",
        )
        return None
    return value
