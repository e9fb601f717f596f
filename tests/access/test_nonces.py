"""A nonce is accepted once, whoever races for it."""

from __future__ import annotations

from collections import Counter

import pytest

from agentweb.access import nonces
from agentweb.access.models import Nonce
from agentweb.wire.encoding import new_nonce
from agentweb.wire.errors import AuthenticationError
from tests.support.races import Database, race, run

PROCESSES = 8


@pytest.mark.django_db
def test_a_used_nonce_is_refused_inside_a_transaction_that_goes_on() -> None:
    nonces.burn("k", "n" * 22, 0)
    with pytest.raises(AuthenticationError) as caught:
        nonces.burn("k", "n" * 22, 0)
    assert (caught.value.code, caught.value.status, caught.value.retry_after) == (
        "request_replayed",
        401,
        None,
    )
    nonces.burn("k", "m" * 22, 0)
    assert Nonce.objects.count() == 2


def test_eight_processes_racing_for_each_nonce_have_exactly_one_winner(race_database: Database) -> None:
    tokens = [new_nonce() for _ in range(60)]
    answers = race(race_database, "tests.access.racers:burn", [["k", tokens]] * PROCESSES)
    assert Counter(token for accepted in answers for token in accepted) == dict.fromkeys(tokens, 1)


def test_a_signed_request_sent_to_eight_processes_is_accepted_once(race_database: Database) -> None:
    chain = run(race_database, "tests.access.racers:set_up_grant")
    tokens = [new_nonce() for _ in range(6)]
    answers = race(race_database, "tests.access.racers:call", [[chain, tokens]] * PROCESSES)
    total: Counter[str] = Counter()
    for outcomes in answers:
        total.update(outcomes)
    assert total == {"accepted": 6, "request_replayed": 42}
    assert run(race_database, "tests.access.racers:count", "Nonce") == 6
