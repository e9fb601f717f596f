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
from agentweb.wire.errors import AuthenticationError, Code

_MESSAGE: Final = (
    "Too many requests from this address had a signature, grant or session that does not hold. "
    "Correct it, and come again after retry_after seconds."
)


@dataclass(frozen=True, slots=True)
class _Closed:
    """A bucket that was found empty at ``since`` (Unix seconds), and how it refused."""

    since: float
    refused: limits.RateLimited

    def refusal(self, at: float) -> limits.RateLimited | None:
        """How it refuses at ``at``; None when it may have something again."""
        passed = at - self.since
        # Also over when the clock was set back, or a wait could last for ever.
        if not 0 <= passed < self.refused.wait:
            return None
        allowance = self.refused.allowance
        return limits.RateLimited(
            replace(allowance, reset=max(1, math.ceil(allowance.reset - passed))),
            self.refused.rate,
            wait=self.refused.wait - passed,
            message=self.refused.message,
        )


_closed: Final = Remembered[str, _Closed](4_096)


@contextmanager
def counted(address: str, *, has_grant: bool) -> Iterator[None]:
    """Count an AuthenticationError of the block against ``address``, the client's IP address.

    Without ``has_grant``, the bucket of the address that refused the block is remembered too: keys without a grant
    cost nothing to make, and each signature of one would be verified before it is refused again.

    Raises ``rate_limited``, before the block or in place of its error, when the address had too many.
    """
    counted_as = limits.address_key(address)
    keys = [f"failed:{counted_as}", *([] if has_grant else [f"bare:{counted_as}"])]
    for key in keys:
        closed = _closed.get(key)
        refusal = None if closed is None else closed.refusal(now())
        if refusal is not None:
            raise refusal
    try:
        yield
    except AuthenticationError as error:
        # Waiting for a person is no failure.
        if error.code != Code.SESSION_PENDING:
            _count(keys[0])
        raise
    except limits.RateLimited as refused:
        if not has_grant:
            _closed.keep(keys[1], _Closed(now(), refused))
        raise


def forget() -> None:
    """Empty the process's memory: for tests."""
    _closed.forget()


def _count(key: str) -> None:
    try:
        with refusing_when_the_store_fails():
            limits.take(key, conf.get("FAILURE_RATE"), limits.FAILURES)
    except limits.RateLimited as refused:
        named = limits.RateLimited(refused.allowance, refused.rate, wait=refused.wait, message=_MESSAGE)
        _closed.keep(key, _Closed(now(), named))
        raise named from None
