"""How many statements each call makes: the same for one message and for twenty, for one item and for a hundred."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.aim import contacts, messages, threads
from tests.aim.agents import SITE, Person, befriend, person

pytestmark = pytest.mark.django_db

_NO_WORK = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT")


def statements(call: Callable[[], Any]) -> int:
    """How often the database is asked. Without what begins and ends the transaction, and without what makes SQLite's
    default options begin to write."""
    with CaptureQueriesContext(connection) as queries:
        call()
    texts = [str(query["sql"]) for query in queries]
    return sum(not text.startswith(_NO_WORK) and not text.endswith("WHERE 0") for text in texts)


def expected(sqlite: int, postgres: int) -> int:
    """PostgreSQL gets several statements at once."""
    return postgres if connection.vendor == "postgresql" else sqlite


@pytest.fixture
def bob(alice: Person, bob: Person) -> Person:
    """A friend of alice, who may send many messages."""
    befriend(alice, bob)
    return bob


@pytest.mark.parametrize("count", [1, 20])
def test_messages_to_a_contact_take_six_statements(alice: Person, bob: Person, count: int) -> None:
    written = [alice.write(bob, number) for number in range(count)]
    assert statements(lambda: alice.post(*written)) == expected(6, 3)


@pytest.mark.parametrize("count", [1, 4])
def test_first_messages_to_strangers_take_nine_statements(alice: Person, count: int) -> None:
    written = [alice.write(person(f"stranger-{number}")) for number in range(count)]
    assert statements(lambda: alice.post(*written)) == expected(9, 5)


@pytest.mark.parametrize("count", [1, 20])
def test_duplicates_take_two_statements(alice: Person, bob: Person, count: int) -> None:
    written = [alice.write(bob, number) for number in range(count)]
    alice.post(*written)
    assert statements(lambda: alice.post(*written)) == 2


@pytest.mark.parametrize("count", [1, 20])
def test_refusals_for_the_rate_take_five_statements_and_no_position(
    alice: Person, bob: Person, count: int, settings: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "MESSAGE_RATE": (0.001, 20)}
    alice.post(*[alice.write(bob) for _ in range(20)])
    written = [alice.write(bob, number) for number in range(count)]
    assert statements(lambda: alice.post(*written)) == expected(5, 4)


def test_what_no_rule_of_the_wire_allows_asks_nobody(alice: Person, bob: Person) -> None:
    assert statements(lambda: alice.post({"id": 1}, bob.write(alice))) == 0


@pytest.mark.parametrize("count", [1, 30])
def test_lists_take_as_many_statements_for_many_items_as_for_one(
    alice: Person, bob: Person, count: int
) -> None:
    first = str(alice.send(bob).id)
    for number in range(count - 1):
        bob.send(alice, number, reply_to=first)
    person("carol").send(alice)
    assert statements(alice.events) == 1
    assert statements(lambda: alice.events("now")) == 1
    assert statements(alice.inbox) == 2
    assert statements(lambda: alice.inbox("requests")) == 3
    assert statements(lambda: alice.inbox(with_="bob")) == 2
    assert statements(lambda: threads.thread(alice.agent, first, "bob", SITE, None, 50)) == 2
    assert statements(lambda: messages.find(alice.agent, first, "bob", SITE)) == 2
    assert statements(lambda: contacts.listed(alice.agent, None, SITE, None, 50)) == 1


def test_changes_take_a_handful(alice: Person, bob: Person) -> None:
    known = str(alice.send(bob).id)
    assert statements(lambda: messages.remove(alice.agent, known, "bob", SITE)) == expected(5, 4)
    assert statements(lambda: contacts.set_state(alice.agent, "bob", "blocked", SITE)) == expected(5, 4)
    assert statements(lambda: contacts.set_state(alice.agent, "bob", "blocked", SITE)) == 3
    assert statements(lambda: contacts.remove(alice.agent, "bob", SITE)) == expected(4, 3)
