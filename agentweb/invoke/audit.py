"""The audit log: one row for each call of an identified caller, with a digest of the input, never the input."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from django.db import IntegrityError, router, transaction

from agentweb.access import rows
from agentweb.access.callers import Caller
from agentweb.access.database import write_patiently
from agentweb.invoke.calls import Call
from agentweb.invoke.idempotency import is_key
from agentweb.invoke.models import AuditEntry
from agentweb.wire.clock import now_datetime

OK: Final = "ok"
REPLAYED: Final = "replayed"
WAITING: Final = "waiting"
"""The action was begun and its answer is waited for; so it stays when the process dies meanwhile."""


def note(
    caller: Caller,
    *,
    protocol: str,
    action: str,
    effect: str,
    request_id: str,
    input_digest: str,
    status: int,
    outcome: str,
    seconds: float,
) -> None:
    """Write the row of what is no action of the site's and changes something all the same."""
    row = AuditEntry(
        request_id=request_id,
        at=now_datetime(),
        protocol=protocol,
        action=action,
        effect=effect,
        caller_kind=caller.kind,
        subject=caller.subject,
        grant=caller.grant.id if caller.grant else "",
        user_id=caller.user_id,
        input_digest=input_digest,
        status=status,
        outcome=outcome,
        duration_us=int(seconds * 1_000_000),
    )
    write_patiently(partial(rows.insert, [row]))


@dataclass(slots=True)
class Audit:
    """The row of one call, which ``close`` writes. An anonymous read writes nothing."""

    call: Call
    input_digest: str = ""
    person_is_gone: bool = False
    """The person for whom the agent acts was deleted meanwhile."""
    _started: float = field(default_factory=time.perf_counter)

    @property
    def is_kept(self) -> bool:
        return not self.call.caller.is_anonymous

    def close(self, *, status: int, outcome: str) -> None:
        if self.is_kept:
            # Also for a refusal, outside any transaction: the log is not thinned out by a busy database.
            write = partial(rows.insert, [self._entry(status=status, outcome=outcome)])
            try:
                write_patiently(write)
            except IntegrityError:
                # In a transaction this shows at its end; here the row stands alone, and tells of nobody's call.
                if transaction.get_connection(router.db_for_write(AuditEntry)).in_atomic_block:
                    raise
                self.person_is_gone = True
                write_patiently(partial(rows.insert, [self._entry(status=status, outcome=outcome)]))

    def settle(self, *, status: int, outcome: str) -> None:
        """Let the row of a call that was ``WAITING`` tell its end."""
        if self.is_kept:
            AuditEntry.objects.filter(
                request_id=self.call.request_id, action=self.call.action.name, outcome=WAITING
            ).update(status=status, outcome=outcome, duration_us=self._elapsed())

    def _elapsed(self) -> int:
        return int((time.perf_counter() - self._started) * 1_000_000)

    def _entry(self, *, status: int, outcome: str) -> AuditEntry:
        call = self.call
        caller = call.caller
        key = call.idempotency_key or ""
        return AuditEntry(
            request_id=call.request_id,
            at=now_datetime(),
            protocol=call.protocol,
            action=call.action.name,
            effect=call.action.effect,
            caller_kind=caller.kind,
            subject=caller.subject,
            grant=caller.grant.id if caller.grant else "",
            user_id=None if self.person_is_gone else caller.user_id,
            input_digest=self.input_digest,
            page=call.page,
            # Checked only later than some refusals are recorded; what is no key is not kept.
            idempotency_key=key if is_key(key) else "",
            status=status,
            outcome=outcome,
            duration_us=self._elapsed(),
        )
