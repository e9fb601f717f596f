"""Rows of background work: where each piece of it stands, and which worker may do it now."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from agentweb.access.database import write_patiently
from agentweb.access.rows import insert_if_absent
from agentweb.aim.models import LogConsumer
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id

RECEIVED: Final = "received"
"""Counts what came for each agent (``pump``)."""
TOLD: Final = "told"
"""Sends the signal ``message_accepted`` (``announcements``)."""
READERS: Final = (RECEIVED, TOLD)
"""Those that read the log; no event that one of them has not seen is ever deleted."""

LEASE_SECONDS: Final = 30.0


def create(names: Iterable[str]) -> None:
    """Make the rows that are missing; they begin where the log does."""
    insert_if_absent([LogConsumer(name=name) for name in names])


def positions(names: Iterable[str] = READERS) -> dict[str, int]:
    """Where each of them is; 0 for one that never was."""
    wanted = tuple(names)
    return dict.fromkeys(wanted, 0) | dict(
        LogConsumer.objects.filter(name__in=wanted).values_list("name", "position")
    )


def hear(names: Iterable[str], period: float | None) -> None:
    """Note that a worker looks now, and that it means to look again in ``period`` seconds; None, if it does not say."""
    wanted = tuple(names)
    values = {"heard_at": now_datetime()} | ({} if period is None else {"period": period})

    def note() -> int:
        return LogConsumer.objects.filter(name__in=wanted).update(**values)

    if write_patiently(note) < len(wanted):
        write_patiently(lambda: create(wanted))
        write_patiently(note)


def lease(name: str) -> str | None:
    """Be alone with a piece of work for ``LEASE_SECONDS``: a token for ``renew``, ``release`` and ``move``.

    None while another worker is. Whoever was killed is waited for until its lease is over. Clocks of machines that
    differ can let two in at once, so a lease saves work and is no promise: positions are moved by ``move``.
    """
    at, token = now_datetime(), random_id("")
    free = Q(leased_until=None) | Q(leased_until__lt=at)

    def take() -> int:
        return LogConsumer.objects.filter(free, name=name).update(lease=token, leased_until=_end())

    return token if write_patiently(take) else None


def renew(name: str, token: str) -> bool:
    """Go on for another ``LEASE_SECONDS``; False when somebody else has taken over."""
    mine = LogConsumer.objects.filter(name=name, lease=token)
    return bool(write_patiently(lambda: mine.update(leased_until=_end())))


def release(name: str, token: str) -> None:
    mine = LogConsumer.objects.filter(name=name, lease=token)
    write_patiently(lambda: mine.update(lease="", leased_until=None))


def move(name: str, token: str, *, before: int, now: int) -> bool:
    """Set the position of leased work and renew the lease; False, and nothing moved, when somebody else has moved it
    or has taken over."""
    mine = LogConsumer.objects.filter(name=name, lease=token, position=before)
    return bool(write_patiently(lambda: mine.update(position=now, leased_until=_end())))


def take_turn(name: str, period: float) -> bool:
    """Whether it is time for what is to be done once in a while, and nobody else does it: one caller in ``period``
    seconds, also when that one is killed."""
    at = now_datetime()
    due = Q(heard_at=None) | Q(heard_at__lt=at - timedelta(seconds=period))

    def take() -> int:
        return LogConsumer.objects.filter(due, name=name).update(heard_at=at, period=period)

    if write_patiently(take):
        return True
    if LogConsumer.objects.filter(pk=name).exists():
        return False
    write_patiently(lambda: create([name]))
    return bool(write_patiently(take))


def _end() -> datetime:
    return now_datetime() + timedelta(seconds=LEASE_SECONDS)
