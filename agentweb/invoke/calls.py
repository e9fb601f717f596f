"""What goes through the door and what comes out: plain values, no HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentweb.access.callers import Caller
from agentweb.access.limits import Allowance
from agentweb.catalog.actions import Action
from agentweb.wire.strict_json import Json

if TYPE_CHECKING:
    from django.http import HttpRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One invocation. ``read_input`` parses the caller's input when its turn has come, after authorisation.

    ``method`` and ``path`` bind an idempotency key to the address that was called; ``site`` is the authority
    (``host[:port]``) in whose name receipts are signed. ``request`` is handed to the handler as it is. ``on_limit``
    is told what the action's own limit has left after this call. ``page`` is the path of the page on which the action
    is done, for the audit log; empty where it is done on none.
    """

    action: Action
    caller: Caller
    read_input: Callable[[], Json]
    protocol: str
    method: str
    path: str
    site: str
    request_id: str
    idempotency_key: str | None = None
    page: str = ""
    request: HttpRequest | None = None
    on_limit: Callable[[Allowance], None] | None = None

    @property
    def label(self) -> str:
        """The call in the site's log: the action, and the request id that the caller got too."""
        return f"{self.action.name} ({self.request_id})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A handler's answer. ``body`` is its JSON as it is sent, equal to the byte when replayed.

    ``receipts`` are those of a call that has just run; of one that was answered before they are found by
    ``replay_of``, the request id of the run that this is the answer of.
    """

    body: bytes
    status: int = 200
    receipts: tuple[dict[str, Any], ...] = field(default=())
    replay_of: str | None = None

    @property
    def replayed(self) -> bool:
        return self.replay_of is not None
