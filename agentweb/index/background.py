"""What the worker and Celery do for the index once in a while: ask sites anew whose manifests are old."""

from __future__ import annotations

from collections.abc import Callable

from agentweb.index import crawl


def run(stopping: Callable[[], bool]) -> dict[str, int]:
    """Look at the sites that are due, ``{"sites_looked_at", "sites_failed"}``; several processes share the work."""
    counts = crawl.look_at_due(stopping)
    return {"sites_looked_at": counts["sites"], "sites_failed": counts["failed"]}
