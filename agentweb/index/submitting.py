"""Sites that others name: looked at at once where the process has room for it, else by the worker."""

from __future__ import annotations

from threading import Lock
from typing import Any, Final
from urllib.parse import urlsplit

from agentweb import conf
from agentweb.access import limits
from agentweb.access.limits import Allowance
from agentweb.client.addresses import check_scheme
from agentweb.client.discovery import manifest_url
from agentweb.index import crawl, retention
from agentweb.index.models import IndexedEntry, IndexedSite
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError, ClientError, Code, RequestError
from agentweb.wire.http_signature import authority_of

POLICY: Final = "manifests"
_HOST_RATE: Final = (0.01, 5)
"""Looks at one host, whatever its ports, that strangers may cause."""
_UNPROCESSABLE: Final = 422
_INSIDE: Final = frozenset({"address", "rebinding", "host"})
"""Reasons that would tell a stranger which names there are in our network: they are told as one."""
_MAX_PROBLEMS: Final = 20
_WAIT: Final = 60

State = IndexedSite.State


class _Places:
    """How many looks this process has under way for who names sites."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken = 0

    def take(self, most: int) -> bool:
        with self._lock:
            if self._taken >= most:
                return False
            self._taken += 1
            return True

    def free(self) -> None:
        with self._lock:
            self._taken -= 1


_places: Final = _Places()


def admit(address: str) -> Allowance:
    """Count a site that this address names. Raises ``rate_limited``."""
    return limits.take(
        f"{POLICY}:{limits.address_key(address)}", conf.get_in("INDEX", "SUBMISSION_RATE"), POLICY
    )


def submit(url: str) -> tuple[int, dict[str, Any]]:
    """(status, body) for a site that somebody names: 200 when its manifest is in the index, 202 when it will be looked
    at.

    Raises RequestError: ``site_unreachable`` or ``manifest_invalid`` (422, ``reason``) for what was found wrong,
    ``rate_limited``, ``quota_exceeded`` when the index is full, ``not_allowed`` for a site that was shut out.
    """
    try:
        where = manifest_url(url)
        # Before there is a row: an address that is never called must not stand for the site.
        check_scheme(where, crawl.allowed_hosts(), loopback=False)
        host = urlsplit(where).hostname or ""
        row = IndexedSite.objects.filter(site=authority_of(where)).first()
        if row is None:
            is_full = IndexedSite.objects.count() >= conf.get_in("INDEX", "SITES")
            if is_full and not retention.make_room():
                raise RequestError(Code.QUOTA_EXCEEDED, "The index is full; it takes no new sites.")
        row = crawl.row_for(url)
    except ClientError as error:
        raise _refusal(error) from None
    if row.state == State.BLOCKED:
        raise RequestError(Code.NOT_ALLOWED, "This site is not taken into this index.", status=403)
    if crawl.is_fresh(row, now_datetime()):
        if row.state == State.FAILED:
            raise _refusal(crawl.error_of(row), wait=(row.due_at - now_datetime()).total_seconds())
        return 200, _told(row)
    if not _places.take(conf.get_in("INDEX", "FETCHES")):
        return 202, _waiting(row)
    try:
        limits.take(f"{POLICY}:{host}", _HOST_RATE, POLICY)
        asking = crawl.transport()
        try:
            looked = crawl.look(row, asking)
        finally:
            asking.close()
    finally:
        _places.free()
    if looked is None:
        return 202, _waiting(row)
    if looked.error is not None:
        raise _refusal(looked.error, wait=(row.due_at - now_datetime()).total_seconds())
    found = _told(looked.row)
    if looked.unusable:
        found["unusable"] = list(looked.unusable[:_MAX_PROBLEMS])
    return 200, found


def _told(row: IndexedSite) -> dict[str, Any]:
    kinds = list(IndexedEntry.objects.filter(site=row.pk).values_list("kind", flat=True))
    return {
        "site": row.site,
        "state": State.INDEXED.value,
        "manifest_url": row.url,
        "actions": kinds.count("action"),
        "flows": kinds.count("flow"),
    }


def _waiting(row: IndexedSite) -> dict[str, Any]:
    return {
        "site": row.site,
        "state": State.WAITING.value,
        "manifest_url": row.url,
        "retry_after": _WAIT,
    }


def _refusal(error: AgentError, *, wait: float | None = None) -> RequestError:
    reason = str(error.extra.get("reason", ""))
    message = error.message
    if reason in _INSIDE:
        reason, message = "address", "This host leads to no address of the open internet; it is not called."
    extra: dict[str, Any] = {"reason": reason} if reason else {}
    return RequestError(
        error.code,
        message,
        status=_UNPROCESSABLE,
        field="url",
        problems=(error.problems or [])[:_MAX_PROBLEMS] or None,
        retry_after=wait if wait and wait > 0 else None,
        **extra,
    )
