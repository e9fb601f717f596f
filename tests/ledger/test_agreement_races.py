"""One agreement, many processes: one of them gets its price."""

from __future__ import annotations

from collections import Counter

from tests.support.calls import chain_of
from tests.support.races import Database, race, run

RACERS = "tests.ledger.agreement_racers"
PROCESSES = 8


def test_one_of_eight_processes_uses_an_agreement_up(race_database: Database) -> None:
    chain = chain_of(spending="USD:100.00/1000.00")
    ident = run(race_database, f"{RACERS}:prepare", chain)
    answers = race(
        race_database, f"{RACERS}:buy_named", [[chain, racer, ident] for racer in range(PROCESSES)]
    )
    assert Counter(answers) == {"ok": 1, "agreement_used": PROCESSES - 1}
    books = run(race_database, f"{RACERS}:account")
    assert books == {"spent": [80_00], "agreements": [ident], "is_of_a_receipt": True, "chain": None}


def test_one_of_eight_processes_pays_the_agreed_price_and_the_others_what_all_pay(
    race_database: Database,
) -> None:
    chain = chain_of(spending="USD:100.00/1000.00")
    ident = run(race_database, f"{RACERS}:prepare", chain)
    answers = race(race_database, f"{RACERS}:buy_found", [[chain, racer] for racer in range(PROCESSES)])
    assert Counter(answers) == {"80.00": 1, "99.00": PROCESSES - 1}
    books = run(race_database, f"{RACERS}:account")
    assert (books["spent"], Counter(books["agreements"])) == (
        [80_00 + 99_00 * (PROCESSES - 1)],
        {ident: 1, None: PROCESSES - 1},
    )
    assert books["chain"] is None
