"""One transaction for each change, tried again as a whole when it met another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from django.db import InterfaceError, OperationalError

from agentweb.access.database import begun, is_locked, is_passing, patiently
from agentweb.aim import log
from agentweb.wire.errors import Code, ServerError

_T = TypeVar("_T")

ATTEMPTS: Final = 4

# Serialization failure, deadlock, lock not available.
_MET_ANOTHER: Final = frozenset({"40001", "40P01", "55P03"})


class MetAnother(Exception):
    """A concurrent transaction won what this one was about to do; seen from after that, all may be different."""


def run(work: Callable[[], _T]) -> _T:
    """What ``work`` returns, done in one transaction of its own that is committed when this returns.

    ``work`` may run several times: whatever it does must be inside the database. Raises ``overloaded`` (503, with
    ``retry_after``) when the transaction never got through, or when nobody knows whether it did; then nothing or
    everything was done, and the same request may be sent again.
    """
    for _ in range(ATTEMPTS):
        try:
            return patiently(lambda: _once(work))
        except log.HeadMissing:
            log.begin()
        except MetAnother:
            continue
        except (OperationalError, InterfaceError) as error:
            if _met_another(error):
                continue
            if is_passing(error):
                raise _overloaded() from error
            raise
    raise _overloaded()


def _once(work: Callable[[], _T]) -> _T:
    with begun():
        return work()


def _met_another(error: Exception) -> bool:
    return is_locked(error) or getattr(error.__cause__, "sqlstate", None) in _MET_ANOTHER


def _overloaded() -> ServerError:
    return ServerError(
        Code.OVERLOADED,
        "The service is too busy at the moment. Send the same envelope again after retry_after seconds.",
        retry_after=1,
    )
