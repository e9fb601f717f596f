"""Requests that claim to be somebody and do not hold, counted by address: only they cost, and only while they last.

A forged signature costs the site a verification and its sender nothing. So each failure takes one from a bucket of
its address in the database, and while that is empty, requests of the address that claim to be somebody are refused
before anything is verified. What a process learned when it met the empty bucket it keeps in memory: the good path
asks the database nothing, and each process verifies at most one more failure a wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agentweb import conf
from agentweb.access import limits
from agentweb.access.remembered import Remembered
from agentweb.access.rows import refusing_when_the_store_fails
from agentweb.wire.clock import now
from agentweb.wire.errors import AuthenticationError, Code, RequestError

# Of each closed address: since when, until when (Unix seconds).
_closed: Final = Remembered[str, tuple[float, float]](4_096)


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
    span = _closed.get(key)
    at = now()
    # Also over when the clock was set back, or a wait could last for ever.
    if span is not None and span[0] <= at < span[1]:
        raise _limited(span[1] - at)


def _count(key: str) -> None:
    try:
        with refusing_when_the_store_fails():
            limits.take(key, conf.get("FAILURE_RATE"), limits.FAILURES)
    except RequestError as refused:
        at = now()
        wait = refused.retry_after or 1
        _closed.keep(key, (at, at + wait))
        raise _limited(wait) from None


def _limited(wait: float) -> RequestError:
    steady, burst = conf.get("FAILURE_RATE")
    return RequestError(
        Code.RATE_LIMITED,
        "Too many requests from this address had a signature, grant or session that does not hold. "
        "Correct it, and come again after retry_after seconds.",
        retry_after=wait,
        limit={"per_second": steady, "burst": burst},
    )
