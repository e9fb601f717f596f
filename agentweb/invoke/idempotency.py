"""Repeating a call is safe: one intent runs at most once, and its answer is kept (AGENT_ACTIONS section 8).

``claim`` is the short first transaction. ``enter`` is the fence: the first statement of the transaction in which
the handler runs, and a write, so that SQLite's busy timeout applies. ``finish`` keeps the answer in that same
transaction; ``free`` gives the key back when nothing was done.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db import connections

from agentweb import conf
from agentweb.access import rows
from agentweb.access.database import first_write, not_awaiting_the_disk
from agentweb.invoke.models import IdempotencyRecord
from agentweb.wire import canonical
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import Code, ConflictError

_KEY: Final = re.compile(r"[\x21-\x7e]{16,255}")
_ROUNDS: Final = 5
_POLL_SECONDS: Final = 1
_SPARE_SECONDS: Final = 30
_LATER: Final = "later:"
"""In the body of a run that waits for its answer: what it did has committed, and its reference follows."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run the handler, until it is overtaken.

    ``former`` is the reference of the run before, "" where it had none, when that committed what it did and ended with
    its process before it had the answer; None when nothing is done yet.
    """

    subject: str
    action: str
    key: str
    token: str
    former: str | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """The kept answer of a finished run."""

    status: int
    body: str
    request_id: str


def is_key(key: str) -> bool:
    """Whether a text is a key: 16 to 255 visible ASCII characters."""
    return _KEY.fullmatch(key) is not None


def check_key(key: str) -> None:
    """Refuse a text that is no key."""
    if not is_key(key):
        raise ConflictError(
            Code.IDEMPOTENCY_KEY_INVALID,
            "Idempotency-Key must be 16 to 255 visible ASCII characters without blanks; a UUID fits.",
        )


def claim(*, subject: str, action: str, key: str, fingerprint: str, request_id: str) -> Lease | Stored:
    """A lease for a new intent, or the stored answer of a finished one.

    Raises idempotency_key_reused when the key belongs to another input (tested first), and
    idempotency_in_progress while another run holds the lease.
    """
    for _ in range(_ROUNDS):
        now = now_datetime()
        lease_until = now + timedelta(seconds=conf.get("IDEMPOTENCY_LEASE_SECONDS"))
        token = secrets.token_hex(16)
        expires_at = now + timedelta(days=conf.get("IDEMPOTENCY_DAYS"))
        record = IdempotencyRecord(
            subject=subject,
            action=action,
            key=key,
            fingerprint=fingerprint,
            lease_token=token,
            lease_until=lease_until,
            request_id=request_id,
            created_at=now,
            expires_at=expires_at,
        )
        # Lost, it takes nothing along: the commit of what the handler does waits for the disk, and for this too.
        with first_write(), not_awaiting_the_disk(connections[rows.database()]):
            inserted = rows.insert_if_absent([record])
        if inserted:
            return Lease(subject, action, key, token)
        row = IdempotencyRecord.objects.filter(subject=subject, action=action, key=key).first()
        if row is None:
            continue  # freed between the two statements
        if row.expires_at <= now:
            IdempotencyRecord.objects.filter(pk=row.pk, expires_at__lte=now).delete()
            continue
        if row.fingerprint != fingerprint:
            raise ConflictError(
                Code.IDEMPOTENCY_KEY_REUSED,
                "This Idempotency-Key was used for another input. Use a new key for a new intent.",
            )
        if row.state == IdempotencyRecord.State.DONE:
            return Stored(row.status or 200, row.body, row.request_id)
        if row.lease_until > now:
            raise _in_progress()
        # The owner is dead or slow: whoever changes the token first owns the run.
        if IdempotencyRecord.objects.filter(
            pk=row.pk,
            lease_token=row.lease_token,
            state=IdempotencyRecord.State.RUNNING,
            lease_until__lte=now,
        ).update(lease_token=token, lease_until=lease_until, request_id=request_id):
            former = row.body.removeprefix(_LATER) if row.body.startswith(_LATER) else None
            return Lease(subject, action, key, token, former)
    raise _in_progress()


def enter(lease: Lease, seconds: float = 0) -> None:
    """The fence. Raises idempotency_in_progress, without anything done, when the lease was taken over.

    Others are kept out for at least ``seconds``.
    """
    least: int = conf.get("IDEMPOTENCY_LEASE_SECONDS")
    lease_until = now_datetime() + timedelta(seconds=max(least, seconds))
    if not rows.update(IdempotencyRecord, {"lease_until": lease_until}, _held(lease)):
        raise _in_progress()


def hold(lease: Lease, seconds: float, reference: str) -> None:
    """Keep others out for at least so long, while an answer is waited for; whoever comes after has the reference."""
    least: int = conf.get("IDEMPOTENCY_LEASE_SECONDS")
    lease_until = now_datetime() + timedelta(seconds=max(least, seconds + _SPARE_SECONDS))
    waiting = {"lease_until": lease_until, "body": _LATER + reference}
    rows.update(IdempotencyRecord, waiting, _held(lease))


def finish(lease: Lease, *, status: int, body: str) -> None:
    """Keep the answer; it commits together with what the handler did."""
    expires_at = now_datetime() + timedelta(days=conf.get("IDEMPOTENCY_DAYS"))
    kept = {"state": IdempotencyRecord.State.DONE, "status": status, "body": body, "expires_at": expires_at}
    rows.update(IdempotencyRecord, kept, _held(lease))


def free(lease: Lease) -> None:
    """Give the key back: nothing of this run was committed."""
    IdempotencyRecord.objects.filter(**_held(lease)).delete()


def let_go(lease: Lease) -> None:
    """End the lease and keep the record: the next call with the key goes on at once, and only with the same input."""
    rows.update(IdempotencyRecord, {"lease_until": now_datetime()}, _held(lease))


def intent_of(lease: Lease) -> str:
    """What names this intent among all that there were and will be, the same in every run of it: ``"sha256:"`` and hex.

    Raises idempotency_in_progress when the lease was taken over.
    """
    found = IdempotencyRecord.objects.filter(**_held(lease)).values_list("pk", "created_at").first()
    if found is None:
        raise _in_progress()
    number, created_at = found
    return canonical.digest(
        [lease.subject, lease.action, lease.key, str(number), str(int(created_at.timestamp() * 1e6))]
    )


def _held(lease: Lease) -> dict[str, Any]:
    """What the row of a lease equals while it is not overtaken."""
    return {
        "subject": lease.subject,
        "action": lease.action,
        "key": lease.key,
        "lease_token": lease.token,
        "state": IdempotencyRecord.State.RUNNING,
    }


def _in_progress() -> ConflictError:
    return ConflictError(
        Code.IDEMPOTENCY_IN_PROGRESS,
        "The same call is still running. Repeat it with the same Idempotency-Key to get its answer.",
        retry_after=_POLL_SECONDS,
    )
