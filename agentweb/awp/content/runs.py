"""The rows of runs: one at a time is at work, heard of every few seconds, and over when it is not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError
from django.db.models import F

from agentweb.access.database import begun, patiently, write_patiently
from agentweb.awp.content.models import ContentRun
from agentweb.awp.content.outcomes import Report
from agentweb.wire.clock import now_datetime

LEASE_SECONDS: Final = 90.0
"""How long a run that was killed keeps the next one waiting: more than a page may take, and a text of it."""
RENEW_SECONDS: Final = 5.0
MAX_REPORTS: Final = 1_000


class Busy(Exception):
    """Another run is at work, since ``started_at``; if it is not, it will be taken for dead at ``until``."""

    def __init__(self, started_at: datetime | None, until: datetime | None) -> None:
        super().__init__("another run is at work")
        self.started_at, self.until = started_at, until


class Superseded(Exception):
    """This run was taken for dead, and another one is at work: what it would do now is the other's."""


def begin() -> int:
    """Be the run that is at work; its key. Raises Busy."""
    at = now_datetime()

    def start() -> int:
        with begun():
            ContentRun.objects.filter(is_running=True, leased_until__lt=at).update(is_running=False)
            return ContentRun.objects.create(started_at=at, leased_until=_end()).pk

    try:
        return patiently(start)
    except IntegrityError:
        running = ContentRun.objects.filter(is_running=True).values_list("started_at", "leased_until").first()
        raise Busy(*(running or (None, None))) from None


def renew(key: int) -> None:
    """Go on for another ``LEASE_SECONDS``. Raises Superseded."""
    mine = ContentRun.objects.filter(pk=key, is_running=True)
    if not write_patiently(lambda: mine.update(leased_until=_end())):
        raise Superseded


def count_changes(key: int, pages: int) -> None:
    """So many pages were written or removed, in the transaction of the caller's. Raises Superseded."""
    mine = ContentRun.objects.filter(pk=key, is_running=True)
    if not mine.update(changes=F("changes") + pages):
        raise Superseded


def finish(key: int, *, is_complete: bool, counts: Mapping[str, int], reports: Sequence[Report]) -> None:
    """Note what came of it. Nothing is noted of a run that was taken for dead."""
    mine = ContentRun.objects.filter(pk=key, is_running=True)
    told = [each.as_json() for each in reports[:MAX_REPORTS]]
    write_patiently(
        lambda: mine.update(
            is_running=False,
            finished_at=now_datetime(),
            is_complete=is_complete,
            counts=json.dumps(dict(counts)),
            reports=json.dumps(told, ensure_ascii=False),
        )
    )


def give_up(key: int) -> None:
    """A run that was stopped: the next one may begin at once."""
    mine = ContentRun.objects.filter(pk=key, is_running=True)
    write_patiently(lambda: mine.update(is_running=False))


def _end() -> datetime:
    return now_datetime() + timedelta(seconds=LEASE_SECONDS)
