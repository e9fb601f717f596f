"""What was taken back stays taken back when eight processes do it at once, on SQLite and on PostgreSQL.

One set of processes runs all the races of a database, over HTTP in each, and each test looks at one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from agentweb.wire.signing import SigningKey
from tests.access.authority_racers import KEYS_EACH, chains
from tests.support.races import KINDS, fresh_database, race, run

PROCESSES = 8


@dataclass(frozen=True)
class Raced:
    answers: list[dict[str, Any]]
    outcome: dict[str, Any]

    def of(self, name: str) -> tuple[Any, Counter[str]]:
        """What the first process answered, and the sum of what the others did."""
        first, *others = (answer[name] for answer in self.answers)
        total: Counter[str] = Counter()
        for each in others:
            total.update(each)
        return first, total


@pytest.fixture(scope="module", params=KINDS)
def raced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raced]:
    folder = tmp_path_factory.mktemp("races")
    with fresh_database(request.param, folder) as database:
        given = {
            **run(database, "tests.access.authority_racers:set_up", PROCESSES),
            **chains(),
            "key": SigningKey.generate().public,
        }
        arguments = [[place, PROCESSES, str(folder / "meet"), given] for place in range(PROCESSES)]
        answers = race(database, "tests.access.authority_racers:race_all", arguments, timeout=600)
        yield Raced(answers, run(database, "tests.access.authority_racers:outcome", given))


def test_nothing_is_spent_once_a_session_was_ended(raced: Raced) -> None:
    ended, answers = raced.of("session")
    assert answers["ok"] > 0
    assert answers["session_revoked"] + answers["grant_revoked"] == PROCESSES - 1
    assert set(answers) <= {"ok", "session_revoked", "grant_revoked"}
    assert raced.outcome["session"] == ended["spent"] == 100 * answers["ok"]


def test_nothing_is_spent_under_a_child_once_its_root_was_revoked_over_http(raced: Raced) -> None:
    revoked, answers = raced.of("endpoint")
    assert answers["ok"] > 0
    assert set(answers) == {"ok", "grant_revoked"}
    assert answers["grant_revoked"] == PROCESSES - 1
    assert raced.outcome["endpoint"] == revoked["spent"] == 100 * answers["ok"]


def test_every_charge_has_its_receipt(raced: Raced) -> None:
    charged = sum(raced.of(name)[1]["ok"] for name in ("session", "endpoint", "claims"))
    assert raced.outcome["receipts"] == charged


def test_a_grant_that_is_revoked_while_it_is_first_seen_is_marked_or_never_known(raced: Raced) -> None:
    claimed, answers = raced.of("claims")
    assert claimed == sum(answers.values()) == 24
    assert set(answers) <= {"ok", "grant_revoked"}
    assert raced.outcome["unmarked"] == 0
    assert raced.outcome["unmarked_mandates"] == 0


def test_a_grant_for_one_use_has_exactly_one(raced: Raced) -> None:
    for name in ("once", "session_once"):
        used = Counter(answer[name] for answer in raced.answers)
        assert used == {"ok": 1, "grant_used": PROCESSES - 1}
    assert raced.outcome["notes"] == 2


def test_a_reader_who_follows_the_list_misses_nothing(raced: Raced) -> None:
    seen = raced.answers[0]["numbers"]
    assert len(seen) > KEYS_EACH * (PROCESSES - 1)
    assert seen == list(range(1, len(seen) + 1))
    assert raced.outcome["list"] is None
    assert raced.outcome["entries"][0] == raced.outcome["entries"][1]


def test_a_key_is_enrolled_on_one_account(raced: Raced) -> None:
    verdicts = Counter(answer["enrolled"] for answer in raced.answers)
    assert verdicts == {"enrolled": 1, "taken": PROCESSES - 1}
    assert raced.outcome["enrolled"] == 1
