"""The tokenizer in processes: none that serves or checks loads it, and any number may count at once."""

from __future__ import annotations

from agentweb.awp.budgets import BUDGETS
from tests.support.races import Database, race, run

RACERS = "tests.awp.publishing.racers"
MOST = {budget.name: budget.tokens for budget in BUDGETS}


def test_a_process_serves_within_every_budget_without_the_tokenizer_before_a_run_and_after_it(
    race_database: Database,
) -> None:
    before = run(race_database, f"{RACERS}:served")
    assert run(race_database, f"{RACERS}:fill")
    after = run(race_database, f"{RACERS}:served")
    for found in (before, after):
        assert not found["loaded"]
        over = {name for name, counts in found["tokens"].items() if max(counts) > MOST[name]}
        assert over == set()
    assert set(after["texts"]) == set(MOST) - {"api_description"}
    assert len(after["texts"]["page"]) > 2
    assert len(after["texts"]["summary"]) > 1
    assert after["texts"] == after["exact"]
    # Otherwise this test would not have shown anything.
    assert before["texts"]["discovery_description"] != after["texts"]["discovery_description"]
    assert before["texts"]["function_description"] != after["texts"]["function_description"]


def test_the_check_loads_the_tokenizer_only_for_texts_that_may_be_over_their_budget(
    race_database: Database,
) -> None:
    usual, long = race(race_database, f"{RACERS}:checked", [[True], [False]])
    assert usual == {"loaded": False, "over": 0}
    assert long == {"loaded": True, "over": 4}


def test_processes_count_at_once(race_database: Database) -> None:
    assert race(race_database, f"{RACERS}:count_at_once", [[place, 3] for place in range(3)]) == [3] * 3
    run(race_database, f"{RACERS}:fill")
    after = run(race_database, f"{RACERS}:served")
    assert not after["loaded"]
    assert after["texts"] == after["exact"]
