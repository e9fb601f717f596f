"""What the doctor looks at in this room: whether somebody does the background work, and wake-ups between processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Final

from agentweb import conf
from agentweb.aim import answer_probes, health, redis_hints
from agentweb.http.probes import WITH_TABLES, Examined, Level, Probe, Problem

_WORKER: Final = (
    "Run `manage.py agentweb_worker`, from cron with `--once`, or Celery with the tasks of agentweb."
)


def nobody_works(site: Examined) -> Iterable[Problem] | None:
    """Of a site whose messenger nobody uses, nothing is asked."""
    found = health.look()
    if not found.last:
        return None
    return [*_unheard(found.readers), *_stuck(found.readers)]


def _unheard(readers: Iterable[health.Reader]) -> Iterator[Problem]:
    unheard = [reader for reader in readers if reader.is_unheard]
    if not unheard:
        return
    heard = [reader.heard_seconds for reader in unheard if reader.heard_seconds is not None]
    since = f"for {max(heard):.0f} seconds" if len(heard) == len(unheard) else "ever"
    left = max(reader.lag for reader in unheard)
    yield Problem(
        f"No worker has looked at the messenger's log {since}; {left} events are left to be seen.", _WORKER
    )


def _stuck(readers: Iterable[health.Reader]) -> Iterator[Problem]:
    for reader in readers:
        if reader.is_late and not reader.is_unheard:
            yield Problem(
                f"A worker looks at the messenger's log, and {reader.lag} events wait to be {reader.name}, the oldest "
                f"for {reader.oldest_seconds:.0f} seconds.",
                "Look at the log of the worker; for what is to be told, at the receivers of message_accepted.",
            )


def no_wake_ups(site: Examined) -> Iterable[Problem] | None:
    url = conf.get("WAKE_UPS")
    if not url:
        return None
    if find_spec("redis") is None:
        return [
            Problem(
                "AGENTWEB['WAKE_UPS'] names a Redis, and the package redis is not installed.",
                'Install it: pip install "agentweb-django[redis]".',
            )
        ]
    try:
        redis_hints.Publisher()()
    except Exception as error:
        return [
            Problem(
                f"The Redis of AGENTWEB['WAKE_UPS'] does not answer: {type(error).__name__}",
                "Start it, or correct the URL. Until then every process looks for events by itself, each second.",
            )
        ]
    return []


PROBES: Final = (
    *answer_probes.PROBES,
    Probe(
        "D400",
        Level.WARNING,
        "Somebody does the messenger's background work.",
        nobody_works,
        after=WITH_TABLES,
        is_for_production=True,
        looks_inside=True,
    ),
    Probe("D401", Level.WARNING, "Processes can wake each other.", no_wake_ups, looks_inside=True),
)
