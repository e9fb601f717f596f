"""The log under concurrency: real processes on SQLite's default options and on PostgreSQL."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

from agentweb.aim.cursors import parse_event_cursor
from tests.support.races import Database, race, run

RACERS = "tests.aim.racers"
LONG = 10 if os.environ.get("AGENTWEB_LONG") else 1


def total(answers: list[dict[str, int]]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for answer in answers:
        counted.update(answer)
    return counted


def position(cursor: str) -> int:
    return parse_event_cursor(cursor)[1]


@pytest.mark.requirement("AIM-S7.1")
def test_readers_who_poll_miss_nothing_of_eight_writers_and_see_one_order(race_database: Database) -> None:
    writers = [f"writer-{number}" for number in range(8)]
    readers = [f"reader-{number}" for number in range(4)]
    count = (12 if race_database.kind == "postgres" else 6) * LONG
    run(race_database, f"{RACERS}:prepare_friends", [*writers, *readers])
    answers = race(
        race_database,
        f"{RACERS}:write_or_read",
        [
            *[["writer", name, readers, count] for name in writers],
            *[["reader", name, writers, count] for name in readers],
        ],
        timeout=240 * LONG,
    )
    accepted: dict[str, str] = {}
    for answer in answers[: len(writers)]:
        accepted.update(answer)
    books = run(race_database, f"{RACERS}:books")
    # Every position once, without gaps, and every message where its receipt says.
    assert books["positions"] == list(range(1, books["last"] + 1))
    assert books["unstamped"] == 0
    assert set(books["events_of_messages"].values()) == {2}
    assert {each: position(cursor) for each, cursor in accepted.items()}.items() <= books["messages"].items()
    assert sum(books["charged"].values()) == len(books["messages"])
    # Each accepted message is seen by its reader, once, in the order of positions.
    seen = [[identifier for identifier, _ in answer["seen"]] for answer in answers[len(writers) :]]
    assert sorted(identifier for each in seen for identifier in each) == sorted(accepted)
    for answer in answers[len(writers) :]:
        positions = [position(cursor) for _, cursor in answer["seen"]]
        assert positions == sorted(set(positions))
        assert answer["seen"] == [[each, accepted[each]] for each, _ in answer["seen"]]


def test_two_readers_of_one_stream_see_one_order(race_database: Database) -> None:
    """An agent may read with several programs at once."""
    writers = [f"writer-{number}" for number in range(4)]
    run(race_database, f"{RACERS}:prepare_friends", [*writers, "reader"])
    answers = race(
        race_database,
        f"{RACERS}:write_or_read",
        [
            *[["writer", name, ["reader"], 5 * LONG] for name in writers],
            *[["reader", "reader", writers, 0] for _ in range(3)],
        ],
        timeout=240 * LONG,
    )
    first, second, third = (answer["seen"] for answer in answers[-3:])
    assert first == second == third
    assert len(first) == sum(len(answer) for answer in answers[:4])


@pytest.mark.requirement("AIM-S17.3", "AIM-S17.4")
def test_of_racing_copies_exactly_one_is_new_and_charged(race_database: Database) -> None:
    run(race_database, f"{RACERS}:prepare_friends", ["alice", "bob"])
    envelopes = run(race_database, f"{RACERS}:envelopes_for", "alice", "bob", 10)
    # The same ones singly, together, and together in another order.
    requests: list[Any] = [
        *[[each] for each in envelopes[:4]],
        *[[each] for each in envelopes[:4]],
        *[envelopes, envelopes[::-1], envelopes[3:] + envelopes[:3], envelopes],
    ]
    answers = race(race_database, f"{RACERS}:send_the_same", [["alice", request, 0] for request in requests])
    new: Counter[str] = Counter()
    places: dict[str, set[tuple[str, str]]] = {}
    for result in (result for answer in answers for result in answer):
        assert result["error"] is None
        new[result["id"]] += result["charged"]
        assert result["charged"] == int(not result["duplicate"])
        places.setdefault(result["id"], set()).add((result["accepted_at"], result["cursor"]))
    assert new == {each["id"]: 1 for each in envelopes}
    assert {len(each) for each in places.values()} == {1}, "every copy has the receipt of the first"
    books = run(race_database, f"{RACERS}:books")
    assert books["charged"]["alice"] == len(books["messages"]) == 10
    assert set(books["events_of_messages"].values()) == {2}
    assert books["positions"] == list(range(1, books["last"] + 1))


def test_a_shared_account_accepts_exactly_its_burst(race_database: Database) -> None:
    run(race_database, f"{RACERS}:prepare_friends", ["alice", "bob"])
    limits = {"MESSAGE_RATE": [0.0001, 41]}
    answers = race(race_database, f"{RACERS}:spend", [["alice", ["bob"], 12, limits] for _ in range(8)])
    # Each sends 1, 2, 3 and 4 at once, three times.
    assert total(answers) == {"ok": 41, "rate_limited": 8 * 30 - 41}
    books = run(race_database, f"{RACERS}:books")
    assert books["charged"]["alice"] == len(books["messages"]) == 41
    assert books["last"] == 82
    assert books["positions"] == list(range(1, 83))


def test_a_shared_account_accepts_exactly_its_day(race_database: Database) -> None:
    run(race_database, f"{RACERS}:prepare_friends", ["alice", "bob"])
    limits = {"MESSAGE_RATE": [1_000_000, 1_000_000], "MESSAGES_PER_DAY": 33}
    answers = race(race_database, f"{RACERS}:spend", [["alice", ["bob"], 8, limits] for _ in range(6)])
    assert total(answers) == {"ok": 33, "quota_exceeded": 6 * 20 - 33}
    assert run(race_database, f"{RACERS}:books")["charged"]["alice"] == 33


def test_strangers_are_written_to_three_times_and_five_at_once(race_database: Database) -> None:
    strangers = [f"stranger-{number}" for number in range(6)]
    run(race_database, f"{RACERS}:prepare", ["alice", *strangers])
    limits = {"MESSAGE_RATE": [1_000_000, 1_000_000]}
    answers = race(race_database, f"{RACERS}:spend", [["alice", strangers, 12, limits] for _ in range(6)])
    assert total(answers)["ok"] == 5 * 3
    assert set(total(answers)) == {"ok", "recipient_not_accepting", "quota_exceeded"}
    books = run(race_database, f"{RACERS}:books")
    assert books["charged"]["alice"] == len(books["messages"]) == 15
    assert len(books["contacts"]) == books["contact_events"].count("contact.accepted") == 5
    assert books["positions"] == list(range(1, books["last"] + 1))


def test_blocking_and_writing_at_once_leave_one_truth(race_database: Database) -> None:
    run(race_database, f"{RACERS}:prepare", ["alice", "bob"])
    rounds = 20 * LONG
    answers = race(
        race_database,
        f"{RACERS}:send_or_judge",
        [["alice", rounds], ["alice", rounds], ["bob", rounds]],
        timeout=240 * LONG,
    )
    assert set(total(answers[:2])) <= {"ok", "recipient_not_accepting"}
    assert answers[2]["recipient_not_accepting"] == 1, "after the last block nothing comes through"
    books = run(race_database, f"{RACERS}:books")
    assert books["charged"]["alice"] == len(books["messages"]) == total(answers[:2])["ok"]
    assert ["bob", "alice", "blocked"] in books["contacts"]
    # Every change of bob's is an event, in the order in which the changes held.
    changes = [each for each in books["contact_events"] if each != "contact.accepted"]
    assert books["contact_events"][-1] == "contact.blocked"
    assert changes.count("contact.removed") == answers[2]["removed"] == rounds // 3
    assert books["positions"] == list(range(1, books["last"] + 1))


def test_two_agents_who_give_the_same_ids_get_one_message_for_each(race_database: Database) -> None:
    run(race_database, f"{RACERS}:prepare_friends", ["alice", "bob"])
    ids = [f"the-same-id-{number:08d}" for number in range(30)]
    answers = race(
        race_database,
        f"{RACERS}:use_one_id",
        [
            ["alice", "bob", ids],
            ["bob", "alice", ids],
            ["alice", "bob", ids[::-1]],
            ["bob", "alice", ids[::-1]],
        ],
    )
    counted = total(answers)
    assert set(counted) <= {"ok", "id_conflict", "id_reused"}
    books = run(race_database, f"{RACERS}:books")
    assert len(books["messages"]) == sum(books["charged"].values()) == len(ids)
    assert books["positions"] == list(range(1, books["last"] + 1))


@pytest.mark.requirement("AIM-S21.4")
def test_whatever_retention_deleted_in_between_is_told_and_never_an_empty_page(
    race_database: Database,
) -> None:
    run(race_database, f"{RACERS}:prepare_friends", ["alice", "bob"])
    rounds = 60 * LONG
    answers = race(
        race_database,
        f"{RACERS}:read_or_cut",
        [["cutter", rounds], *[["reader", rounds] for _ in range(3)]],
        timeout=240 * LONG,
    )
    assert all(answer["pages"] for answer in answers[1:])


def test_the_first_messages_of_all_make_one_head(race_database: Database) -> None:
    names = [f"first-{number}" for number in range(6)]
    run(race_database, f"{RACERS}:prepare", names)
    run(race_database, f"{RACERS}:forget_head")
    cursors = race(race_database, f"{RACERS}:first_events", [[name] for name in names])
    assert sorted(map(position, cursors)) == list(range(1, 7))
    assert len({parse_event_cursor(cursor)[0] for cursor in cursors}) == 1
