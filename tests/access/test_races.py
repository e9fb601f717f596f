"""What must hold when eight processes do it at once, on SQLite with default options and on PostgreSQL.

One set of processes runs all the races of a database, and each test looks at one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from agentweb.wire.encoding import new_nonce
from agentweb.wire.grants import Mandate, attenuate
from tests.access.signing import AGENT, OTHER, person_grant
from tests.support.races import KINDS, fresh_database, race, run

PROCESSES = 8
BURST = 40
TRIES = 10
UNSEEN = 6


@dataclass(frozen=True)
class Raced:
    answers: list[dict[str, Any]]
    outcome: dict[str, int]

    def each(self, name: str) -> list[Any]:
        return [answer[name] for answer in self.answers]


@pytest.fixture(scope="module", params=KINDS)
def raced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raced]:
    folder = tmp_path_factory.mktemp("races")
    with fresh_database(request.param, folder) as database:
        terms = Mandate("USD", 100, 1_000)
        given = {
            "tokens": [new_nonce() for _ in range(30)],
            "rate": [1e-4, BURST],  # too slow to admit one more while the race lasts
            "tries": TRIES,
            "site_chain": run(database, "tests.access.racers:set_up"),
            "call_tokens": [new_nonce() for _ in range(5)],
            "limited_chain": attenuate(
                [person_grant(delegate=1, mandate=Mandate("JPY", 5, 50))],
                AGENT,
                subject=OTHER.public,
                mandate=Mandate("JPY", 5, 50),
            ),
            "unseen": [[[person_grant(mandate=terms)] for _ in range(UNSEEN)] for _ in range(PROCESSES)],
        }
        arguments = [[place, PROCESSES, str(folder / "meet"), given] for place in range(PROCESSES)]
        answers = race(database, "tests.access.racers:race_all", arguments, timeout=600)
        yield Raced(answers, run(database, "tests.access.racers:outcome"))


def test_every_nonce_has_exactly_one_winner(raced: Raced) -> None:
    winners = Counter(token for accepted in raced.each("burned") for token in accepted)
    assert len(winners) == 30
    assert set(winners.values()) == {1}


def test_a_limit_admits_exactly_its_burst(raced: Raced) -> None:
    assert sum(map(len, raced.each("admitted"))) == BURST < PROCESSES * TRIES


def test_what_a_limit_tells_is_never_more_than_what_is_left(raced: Raced) -> None:
    told = raced.each("admitted")
    # A process that read the clock before the one that made the bucket is told one less.
    for true, said in enumerate(sorted(left for each in told for left in each)):
        assert true - 1 <= said <= true
    assert all(each == sorted(each, reverse=True) for each in told)


def test_a_signed_request_sent_to_every_process_is_accepted_once(raced: Raced) -> None:
    total: Counter[str] = Counter()
    for outcomes in raced.each("called"):
        total.update(outcomes)
    assert total == {"accepted": 5, "request_replayed": 5 * (PROCESSES - 1)}


def test_mandate_rows_are_made_once_inside_the_callers_transactions(raced: Raced) -> None:
    assert raced.each("rows") == [2] * PROCESSES


def test_racing_rotations_leave_one_active_key(raced: Raced) -> None:
    assert raced.outcome["keys"] == 1 + raced.each("rotated").count(True)
    assert raced.outcome["active_keys"] == 1
    assert True in raced.each("rotated")


def test_a_revocation_reaches_every_grant_that_was_first_seen_meanwhile(raced: Raced) -> None:
    revoking, *bringing = raced.each("first_seen")
    assert revoking == {"revoked": 1}
    accepted = sum(answers.get("accepted", 0) for answers in bringing)
    refused = sum(answers.get("grant_revoked", 0) for answers in bringing)
    assert accepted + refused == (PROCESSES - 1) * UNSEEN
    assert raced.outcome["mandates"] == accepted
    assert raced.outcome["unmarked"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_racing_first_uses_agree_on_one_site_key(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    with fresh_database(kind, tmp_path_factory.mktemp("keys")) as database:
        assert len(set(race(database, "tests.access.racers:first_key", [[]] * 4))) == 1
