"""One transaction for each change, tried again as a whole when it met another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from django.db import InterfaceError, OperationalError

from agentweb.access.database import begun, is_locked, is_passing, patiently, waiting_for_locks
from agentweb.aim import log, statements
from agentweb.wire.errors import Code, ServerError

_T = TypeVar("_T")

ATTEMPTS: Final = 4

LOCK_SECONDS: Final = 2.0
"""How long a statement waits for a lock, on PostgreSQL; whoever has the log's head holds up everybody who writes."""

STUCK_LOCK_SECONDS: Final = 0.2
"""The same, after one has waited in vain and until one gets through. So senders that come one after the other do not
take a process's threads for that long each."""

# Serialization failure, deadlock.
_MET_ANOTHER: Final = frozenset({"40001", "40P01"})
_LOCK_NOT_AVAILABLE: Final = "55P03"


class _Locks:
    """What this process knows of others' locks; a hint, which any thread changes."""

    is_stuck = False

    def seconds(self) -> float:
        return STUCK_LOCK_SECONDS if self.is_stuck else LOCK_SECONDS


_locks: Final = _Locks()


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
            # It has waited long enough: the next attempt would wait as long.
            _locks.is_stuck = _locks.is_stuck or _state(error) == _LOCK_NOT_AVAILABLE
            if is_passing(error):
                raise _overloaded() from error
            raise
    raise _overloaded()


def _once(work: Callable[[], _T]) -> _T:
    with begun(), waiting_for_locks(statements.connection(), _locks.seconds()):
        done = work()
    _locks.is_stuck = False
    return done


def _met_another(error: Exception) -> bool:
    return is_locked(error) or _state(error) in _MET_ANOTHER


def _state(error: Exception) -> str | None:
    state: str | None = getattr(error.__cause__, "sqlstate", None)
    return state


def _overloaded() -> ServerError:
    return ServerError(
        Code.OVERLOADED,
        "The service is too busy at the moment. Send the same envelope again after retry_after seconds.",
        retry_after=1,
    )
