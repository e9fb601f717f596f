"""What the doctor looks at in the index: whether somebody looks at the sites that are due."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from agentweb.http.probes import WITH_TABLES, Examined, Level, Probe, Problem
from agentweb.index.models import IndexedSite
from agentweb.wire.clock import now_datetime

_PATIENCE: Final = timedelta(hours=2)


def is_looked_after(site: Examined) -> Iterable[Problem] | None:
    rows = IndexedSite.objects.exclude(state=IndexedSite.State.BLOCKED)
    if not rows.exists():
        return None
    late = rows.filter(due_at__lt=now_datetime() - _PATIENCE).count()
    if not late:
        return ()
    return [
        Problem(
            f"{late} sites of the index have been due for more than two hours.",
            "Run `manage.py agentweb_worker`, or Celery with the schedule of agentweb.beat, or "
            "`manage.py crawl_manifests --due` by cron.",
        )
    ]


PROBES: Final = (
    Probe(
        "D130",
        Level.WARNING,
        "The sites of the index are looked at when they are due.",
        is_looked_after,
        after=WITH_TABLES,
    ),
)
