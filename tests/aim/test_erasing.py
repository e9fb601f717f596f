"""What goes with an agent that is deleted, and what stays for whom it wrote to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.aim import agents, erasing, retention
from agentweb.aim.models import Event, LogConsumer, Message
from agentweb.testing import clock
from agentweb.testing.clocks import Clock
from agentweb.wire.clock import now_datetime
from tests.aim.agents import Person, befriend, person

pytestmark = pytest.mark.django_db

LIVE, ERASED = Message.State.LIVE, Message.State.ERASED
DAY = 86_400


@pytest.fixture(autouse=True)
def time(settings: Any) -> Iterator[Clock]:
    settings.AGENTWEB = {**settings.AGENTWEB, "MESSAGE_RATE": (1e6, 10**6)}
    with clock(1_790_000_000.0) as time:
        yield time


def state(ident: str | None) -> tuple[str, bool]:
    row = Message.objects.get(message_id=ident)
    return row.state, bool(row.envelope)


def clear() -> int:
    return retention.clear_expired(now_datetime())["erased_messages"]


def test_notes_to_oneself_go_and_shared_messages_stay_for_the_other(
    alice: Person, bob: Person, time: Clock
) -> None:
    befriend(alice, bob)
    note, given, got = alice.send(alice).id, alice.send(bob).id, bob.send(alice).id
    agents.delete(alice.agent)
    time.forward(301)
    assert clear() == 1
    assert (state(note), state(given), state(got)) == ((ERASED, False), (LIVE, True), (LIVE, True))
    items = bob.inbox(with_="alice")["items"]
    assert [item["envelope"]["id"] for item in items] == [got, given]
    assert Message.objects.get(message_id=note).ended_at == now_datetime()


def test_a_message_goes_once_both_of_its_agents_are_deleted(alice: Person, bob: Person, time: Clock) -> None:
    befriend(alice, bob)
    carol = person("carol")
    both, third = [alice.send(bob).id, bob.send(alice).id], alice.send(carol).id
    agents.delete(alice.agent)
    time.forward(61)
    assert clear() == 0
    time.forward(DAY)
    agents.delete(bob.agent)
    time.forward(61)
    assert clear() == 2
    assert [state(ident) for ident in [*both, third]] == [(ERASED, False)] * 2 + [(LIVE, True)]


def test_its_events_forget_its_contacts(alice: Person, bob: Person, time: Clock) -> None:
    carol = person("carol")
    alice.send(bob)
    carol.send(bob)
    agents.delete(alice.agent)
    time.forward(61)
    clear()
    told = dict(Event.objects.filter(type="contact.accepted").values_list("stream", "data"))
    assert told == {
        f"agent:{alice.agent.pk}": "",
        f"agent:{carol.agent.pk}": '{"name":"bob","state":"accepted"}',
    }
    assert Event.objects.get(type="agent.deleted").data == '{"name":"alice"}'


def test_each_deletion_is_done_once_and_not_before_what_was_under_way_has_ended(
    alice: Person, time: Clock
) -> None:
    alice.send(alice)
    agents.delete(alice.agent)
    time.forward(59)
    assert clear() == 0
    time.forward(2)
    assert clear() == 1
    with CaptureQueriesContext(connection) as captured:
        assert clear() == 0
    assert not [query["sql"] for query in captured if query["sql"].startswith('UPDATE "agentweb_message"')]
    assert (
        LogConsumer.objects.get(name=erasing.ERASED).position == Event.objects.get(type="agent.deleted").seq
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_any_number_of_rows_is_erased_in_batches(
    alice: Person, bob: Person, time: Clock, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(erasing, "BATCH", 2)
    befriend(alice, bob)
    for _ in range(count):
        for sender, recipient in ((alice, alice), (alice, bob), (bob, alice)):
            sender.send(recipient)
    for each in (alice, bob):
        agents.delete(each.agent)
    time.forward(61)
    assert clear() == 3 * count
    assert set(Message.objects.values_list("state", "envelope")) == {(ERASED, "")}


def test_deletions_that_nobody_looked_at_are_done_before_their_events_go(alice: Person, time: Clock) -> None:
    note = alice.send(alice).id
    agents.delete(alice.agent)
    time.forward(31 * DAY)
    assert clear() == 1
    assert state(note) == (ERASED, False)
    assert not Event.objects.exists()


def test_what_is_erased_is_forgotten_as_other_messages_are(alice: Person, time: Clock) -> None:
    alice.send(alice)
    agents.delete(alice.agent)
    time.forward(61)
    clear()
    time.forward(91 * DAY)
    clear()
    assert not Message.objects.exists()
