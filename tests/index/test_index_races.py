"""Many processes at one site, and one that dies in the middle, on SQLite with default options and on PostgreSQL."""

from __future__ import annotations

import pytest

from tests.client.site import Site
from tests.support.races import Database, race, run

RACERS = "tests.index.racers"


def test_eight_who_name_one_site_make_one_of_it(race_database: Database, site: Site) -> None:
    for number in range(5):
        site.action(f"buy_{number}")
    looked = race(race_database, f"{RACERS}:look", [[site.url]] * 8)
    assert any(looked)
    assert run(race_database, f"{RACERS}:outcome") == {"states": ["indexed"], "entries": 5, "is_sound": True}


def test_a_process_that_is_killed_leaves_nothing_half_done(race_database: Database, site: Site) -> None:
    site.action("buy_paper")
    with pytest.raises(AssertionError, match="failed"):
        run(race_database, f"{RACERS}:look_and_die", site.url)
    assert run(race_database, f"{RACERS}:outcome") == {"states": ["waiting"], "entries": 0, "is_sound": True}
    assert not run(race_database, f"{RACERS}:look", site.url)
    run(race_database, f"{RACERS}:let_time_pass")
    assert run(race_database, f"{RACERS}:look", site.url)
    assert run(race_database, f"{RACERS}:outcome") == {"states": ["indexed"], "entries": 1, "is_sound": True}
