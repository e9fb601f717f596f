"""Whether the messenger's background work keeps up. That it lags delays counters and signals; messages get through."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from agentweb.aim import consumers, log
from agentweb.aim.models import Event, LogConsumer
from agentweb.aim.periods import LATE_AFTER_PERIODS, LATE_AFTER_SECONDS
from agentweb.aim.statements import write_instant
from agentweb.wire.clock import now_datetime

_KEPT_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader of the log: ``lag`` events are left to it, the oldest of them for ``oldest_seconds``; it was heard
    ``heard_seconds`` ago (None: never). ``is_unheard`` if a worker should have looked since, and ``is_late`` also if it
    looks and does not get on."""

    name: str
    position: int
    lag: int
    oldest_seconds: float
    heard_seconds: float | None
    is_unheard: bool
    is_late: bool


@dataclass(frozen=True, slots=True)
class Health:
    """The log's two ends and its readers, ``at`` a moment."""

    at: datetime
    last: int
    floor: int
    readers: tuple[Reader, ...]

    @property
    def is_late(self) -> bool:
        return any(reader.is_late for reader in self.readers)


def look() -> Health:
    """How it stands now, in three queries."""
    at, (last, floor) = now_datetime(), log.bounds()
    rows = LogConsumer.objects.in_bulk(consumers.READERS)
    known = [rows.get(name) or LogConsumer(name=name) for name in consumers.READERS]
    next_ones = [row.position + 1 for row in known if row.position < last]
    oldest = dict(Event.objects.filter(seq__in=next_ones).values_list("seq", "at")) if next_ones else {}
    return Health(
        at,
        last,
        floor,
        tuple(_reader(row, last, oldest.get(row.position + 1), at) for row in known),
    )


def document() -> dict[str, Any]:
    """``/v2/health``: ``{"status": "ok" | "late", "server_time", "log": {"last", "floor"}, "readers": {NAME: {"lag",
    "oldest_seconds", "heard_seconds_ago", "late"}}}``. At most a second old, however often it is asked for."""
    global _kept  # noqa: PLW0603 - what the process knows of the last second
    now = time.monotonic()
    if _kept is None or now - _kept[0] > _KEPT_SECONDS:
        _kept = (now, _document(look()))
    return _kept[1]


_kept: tuple[float, dict[str, Any]] | None = None


def _document(health: Health) -> dict[str, Any]:
    return {
        "status": "late" if health.is_late else "ok",
        "server_time": write_instant(health.at),
        "log": {"last": health.last, "floor": health.floor},
        "readers": {
            reader.name: {
                "lag": reader.lag,
                "oldest_seconds": round(reader.oldest_seconds, 3),
                "heard_seconds_ago": None if reader.heard_seconds is None else round(reader.heard_seconds, 3),
                "late": reader.is_late,
            }
            for reader in health.readers
        },
    }


def _reader(row: LogConsumer, last: int, since: datetime | None, at: datetime) -> Reader:
    heard = None if row.heard_at is None else max(0.0, (at - row.heard_at).total_seconds())
    oldest = 0.0 if since is None else max(0.0, (at - since).total_seconds())
    patience = LATE_AFTER_PERIODS * row.period
    is_unheard = heard is None or heard > patience
    return Reader(
        name=row.name,
        position=row.position,
        lag=max(0, last - row.position),
        oldest_seconds=oldest,
        heard_seconds=heard,
        is_unheard=is_unheard,
        is_late=is_unheard or oldest > max(patience, LATE_AFTER_SECONDS),
    )
