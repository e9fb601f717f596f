"""Limits that hold across processes: one GCRA row for each key, moved by one conditional UPDATE.

A rate is ``(steady requests a second, burst)``. ``tat``, the theoretical arrival time of the next request,
runs ahead of the clock by one interval for each request; a request is admitted while it runs ahead by less
than the burst. The one UPDATE is the verdict, so the number admitted is exact, and what it returns says what is left.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from django.db import connections

from agentweb import conf
from agentweb.access.database import not_awaiting_the_disk
from agentweb.access.models import Bucket
from agentweb.access.rows import database, insert_if_absent
from agentweb.wire.clock import now
from agentweb.wire.errors import Code, RequestError

_MICROSECONDS: Final = 1_000_000
_NETWORK_BITS: Final = 64
_KEY_LENGTH: Final = 100

CALLER: Final = "caller"
ADDRESS: Final = "address"
ACTION: Final = "action"
NEW_GRANTS: Final = "new-grants"
FAILURES: Final = "failures"
PAIRINGS: Final = "pairings"
CODES: Final = "codes"
OFFERS: Final = "offers"


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a bucket has left after a request, in the words of draft-ietf-httpapi-ratelimit-headers.

    ``policy`` names the limit; ``quota`` is its burst and ``window`` the seconds in which an empty bucket is full
    again. ``remaining`` requests pass at once; after ``reset`` seconds as many as ``quota``, unless somebody else
    took some.
    """

    policy: str
    quota: int
    window: int
    remaining: int
    reset: int

    @property
    def policy_item(self) -> str:
        """Its member of ``RateLimit-Policy``."""
        return f'"{self.policy}";q={self.quota};w={self.window}'

    @property
    def item(self) -> str:
        """Its member of ``RateLimit``."""
        return f'"{self.policy}";r={self.remaining};t={self.reset}'


class RateLimited(RequestError):
    """``rate_limited``, with what the bucket that was empty has left; ``wait`` is in seconds and exact."""

    def __init__(
        self, allowance: Allowance, rate: tuple[float, int], *, wait: float, message: str = ""
    ) -> None:
        limit: dict[str, Any] = {"per_second": rate[0], "burst": rate[1]}
        super().__init__(
            Code.RATE_LIMITED,
            message
            or f"Too many requests: {rate[1]} at once and then {rate[0]} a second are allowed. "
            "Repeat this one after retry_after seconds.",
            retry_after=wait,
            limit=limit,
            headers=headers_of(allowance),
        )
        self.allowance = allowance
        self.rate = rate
        self.wait = wait


def headers_of(*allowances: Allowance) -> dict[str, str]:
    """``RateLimit-Policy`` with every limit that counted and ``RateLimit`` with the tightest; none for none."""
    if not allowances:
        return {}
    # Of two that leave the same number, the one to wait longer for.
    tightest = min(allowances, key=lambda each: (each.remaining, -each.reset))
    return {
        "RateLimit-Policy": ", ".join(each.policy_item for each in allowances),
        "RateLimit": tightest.item,
    }


@dataclass(frozen=True, slots=True)
class Moving:
    """What one request does to the bucket ``key`` at ``at``: ``tat`` moves by ``step``, if it runs ahead of ``at`` by
    no more than ``ahead``. All in microseconds."""

    key: str
    rate: tuple[float, int]
    at: int
    step: int
    ahead: int

    def allowance(self, policy: str, tat: int) -> Allowance:
        """What is left in the bucket when it stands at ``tat``."""
        return _allowance(policy, self.rate, self.step, tat - self.at)


def moving(key: str, rate: tuple[float, int]) -> Moving:
    """A request now; ``key`` may be any text."""
    if len(key) > _KEY_LENGTH:
        key = f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"
    step = max(1, round(_MICROSECONDS / rate[0]))
    return Moving(key, rate, int(now() * _MICROSECONDS), step, step * (int(rate[1]) - 1))


def take(key: str, rate: tuple[float, int], policy: str = CALLER) -> Allowance:
    """Take one request out of the bucket ``key`` (any text); what is left in it.

    Raises ``rate_limited`` with ``retry_after`` (whole seconds, after which one request passes again unless
    somebody else took it) and ``limit`` ``{"per_second", "burst"}``. Nothing is written for a refused one.
    """
    # A row can appear or be cleared between two statements; more than once is no accident. The time is read anew, for
    # the statement may have waited so long for its turn that later requests seem to be ahead without end.
    for _ in range(3):
        move = moving(key, rate)
        tat = _advance(move.key, move.at, move.step, move.ahead)
        if tat is None and insert_if_absent([Bucket(key=move.key, tat=move.at + move.step)]):
            tat = move.at + move.step
        if tat is not None:
            return move.allowance(policy, tat)
        found = Bucket.objects.filter(key=move.key).values_list("tat", flat=True).first()
        at = int(now() * _MICROSECONDS)
        if found is not None and found > at + move.ahead:
            wait = (found - move.ahead - at) / _MICROSECONDS
            raise RateLimited(_allowance(policy, rate, move.step, found - at), rate, wait=wait)
    raise RateLimited(_allowance(policy, rate, move.step, move.ahead + move.step), rate, wait=1)


def admit_anonymous(address: str) -> Allowance:
    """Take one unsigned call out of the bucket of a client's address; raises ``rate_limited``."""
    return take(address_key(address), conf.get("ANONYMOUS_RATE"), ADDRESS)


@lru_cache(maxsize=1_024)
def address_key(address: str) -> str:
    """The bucket of an IP address. IPv6 counts by /64: one subscriber has all of it.

    What is no address (a Unix socket's client has none) shares one bucket.
    """
    try:
        # A zone ("%eth0") is the client's business and would make buckets without end.
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "ip:unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is None:
            return f"ip:{ipaddress.ip_network((parsed, _NETWORK_BITS), strict=False)}"
        parsed = parsed.ipv4_mapped
    return f"ip:{parsed}"


def _advance(key: str, at: int, step: int, ahead: int) -> int | None:
    """The bucket's new ``tat``; None when there is no such row or it is too far ahead."""
    # Written out: composing it anew for each call costs several times what running it does.
    connection = connections[database()]
    table = connection.ops.quote_name(Bucket._meta.db_table)
    # The same flag says whether an INSERT may: SQLite knows RETURNING from 3.35 on, and Django runs on older ones.
    returns = connection.features.can_return_columns_from_insert
    with not_awaiting_the_disk(connection), connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET tat = CASE WHEN tat > %s THEN tat ELSE %s END + %s "  # noqa: S608
            f"WHERE key = %s AND tat <= %s{' RETURNING tat' if returns else ''}",
            [at, at, step, key, at + ahead],
        )
        if returns:
            # All rows: SQLite ends a statement that returns some only when the last one was fetched.
            rows = cursor.fetchall()
        elif cursor.rowcount:
            cursor.execute(f"SELECT tat FROM {table} WHERE key = %s", [key])  # noqa: S608
            rows = cursor.fetchall() or [(at + step,)]
        else:
            rows = []
    return int(rows[0][0]) if rows else None


def _allowance(policy: str, rate: tuple[float, int], step: int, ahead: int) -> Allowance:
    """``ahead`` is how far ``tat`` runs ahead of the clock, in microseconds like ``step``."""
    burst = int(rate[1])
    return Allowance(
        policy,
        quota=burst,
        window=max(1, math.ceil(burst * step / _MICROSECONDS)),
        remaining=min(burst, max(0, burst - math.ceil(ahead / step))),
        reset=max(0, math.ceil(ahead / _MICROSECONDS)),
    )
