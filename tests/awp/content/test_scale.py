"""A large site: memory that does not grow with it, and a second run that touches what changed and nothing else."""

from __future__ import annotations

import os

from tests.support.races import Database, run

PAGES, SECONDS = (10_000, 3_600) if os.environ.get("AGENTWEB_LONG") == "1" else (400, 240)


def test_a_large_site_takes_bounded_memory_and_its_second_run_touches_what_changed(
    race_database: Database,
) -> None:
    found = run(race_database, "tests.awp.content.racers:large_site", PAGES, timeout=SECONDS)
    assert found["first"]["created"] == PAGES
    assert (found["second"]["changed"], found["second"]["unchanged"]) == (1, PAGES - 1)
    assert found["touched"] == ["articles/shoe-1"]
    assert found["peak_mb"] < 300
