"""Limits that hold across processes: one GCRA row for each key, moved by one conditional UPDATE.

A rate is ``(steady requests a second, burst)``. ``tat``, the theoretical arrival time of the next request,
runs ahead of the clock by one interval for each request; a request is admitted while it runs ahead by less
than the burst. The row count of the UPDATE is the verdict, so the number admitted is exact.
"""

from __future__ import annotations

import hashlib
import ipaddress
from typing import Any, Final

from django.db import connections

from agentweb import conf
from agentweb.access.models import Bucket
from agentweb.access.rows import database, insert_if_absent
from agentweb.wire.clock import now
from agentweb.wire.errors import Code, RequestError

_MICROSECONDS: Final = 1_000_000
_NETWORK_BITS: Final = 64
_KEY_LENGTH: Final = 100


def take(key: str, rate: tuple[float, int]) -> None:
    """Take one request out of the bucket ``key`` (any text).

    Raises ``rate_limited`` with ``retry_after`` (whole seconds, after which one request passes again unless
    somebody else took it) and ``limit`` ``{"per_second", "burst"}``. Nothing is written for a refused one.
    """
    if len(key) > _KEY_LENGTH:
        key = f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"
    at = int(now() * _MICROSECONDS)
    step = max(1, round(_MICROSECONDS / rate[0]))
    ahead = step * (int(rate[1]) - 1)
    # A row can appear or be cleared between two statements; more than once is no accident.
    for _ in range(3):
        if _advance(key, at, step, ahead) or insert_if_absent([Bucket(key=key, tat=at + step)]):
            return
        tat = Bucket.objects.filter(key=key).values_list("tat", flat=True).first()
        if tat is not None and tat > at + ahead:
            raise _limited((tat - ahead - at) / _MICROSECONDS, rate)
    raise _limited(1, rate)


def admit_anonymous(address: str) -> None:
    """Take one unsigned call out of the bucket of a client's address; raises ``rate_limited``."""
    take(address_key(address), conf.get("ANONYMOUS_RATE"))


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


def _advance(key: str, at: int, step: int, ahead: int) -> bool:
    # Written out: composing it anew for each call costs several times what running it does.
    connection = connections[database()]
    table = connection.ops.quote_name(Bucket._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET tat = CASE WHEN tat > %s THEN tat ELSE %s END + %s "  # noqa: S608
            "WHERE key = %s AND tat <= %s",
            [at, at, step, key, at + ahead],
        )
        return bool(cursor.rowcount)


def _limited(wait: float, rate: tuple[float, int]) -> RequestError:
    limit: dict[str, Any] = {"per_second": rate[0], "burst": rate[1]}
    return RequestError(
        Code.RATE_LIMITED,
        f"Too many requests: {rate[1]} at once and then {rate[0]} a second are allowed. "
        "Repeat this one after retry_after seconds.",
        retry_after=wait,
        limit=limit,
    )
