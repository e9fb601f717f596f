"""Requests that claim to be somebody and do not hold, counted by address: only they cost, and only while they last.

A forged signature costs the site a verification and its sender nothing. So each failure takes one from a bucket of
its address in the database, and while that is empty, requests of the address that claim to be somebody are refused
before anything is verified. What a process learned when it met the empty bucket it keeps in memory: the good path
asks the database nothing, and each process verifies at most one more failure a wait.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from agentweb import conf
from agentweb.access import limits
from agentweb.access.remembered import Remembered
from agentweb.access.rows import refusing_when_the_store_fails
from agentweb.wire.clock import now
from agentweb.wire.errors import AuthenticationError


@dataclass(frozen=True, slots=True)
class _Closed:
    """An address whose bucket was found empty: from when until when (Unix seconds), and what it said."""

    since: float
    until: float
    allowance: limits.Allowance


_closed: Final = Remembered[str, _Closed](4_096)


@contextmanager
def counted(address: str) -> Iterator[None]:
    """Count an AuthenticationError of the block against ``address``, the client's IP address.

    Raises ``rate_limited``, before the block or in place of its error, when the address had too many.
    """
    key = f"failed:{limits.address_key(address)}"
    _refuse_while_closed(key)
    try:
        yield
    except AuthenticationError:
        _count(key)
        raise


def forget() -> None:
    """Empty the process's memory: for tests."""
    _closed.forget()


def _refuse_while_closed(key: str) -> None:
    closed = _closed.get(key)
    at = now()
    # Also over when the clock was set back, or a wait could last for ever.
    if closed is not None and closed.since <= at < closed.until:
        raise _limited(closed, at)


def _count(key: str) -> None:
    try:
        with refusing_when_the_store_fails():
            limits.take(key, conf.get("FAILURE_RATE"), limits.FAILURES)
    except limits.RateLimited as refused:
        at = now()
        closed = _Closed(at, at + (refused.retry_after or 1), refused.allowance)
        _closed.keep(key, closed)
        raise _limited(closed, at) from None


def _limited(closed: _Closed, at: float) -> limits.RateLimited:
    reset = max(1, math.ceil(closed.since + closed.allowance.reset - at))
    return limits.RateLimited(
        replace(closed.allowance, reset=reset),
        conf.get("FAILURE_RATE"),
        wait=closed.until - at,
        message="Too many requests from this address had a signature, grant or session that does not hold. "
        "Correct it, and come again after retry_after seconds.",
    )
