"""A form that several send at once: by a double click, or in two windows."""

from __future__ import annotations

from pathlib import Path

from tests.support.races import Database, race, run

PROCESSES = 6


def test_a_form_that_is_sent_by_six_at_once_issues_once(race_database: Database, tmp_path: Path) -> None:
    run(race_database, "tests.access.admin.racers:set_up")
    arguments = [[place, PROCESSES, str(tmp_path / "meet")] for place in range(PROCESSES)]
    shown = race(race_database, "tests.access.admin.racers:send", arguments)
    assert [sum(column) for column in zip(*shown, strict=True)] == [1, 1]
    assert run(race_database, "tests.access.admin.racers:outcome") == {"keys": 1, "sessions": 1, "logged": 2}
