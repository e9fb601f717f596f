"""Events after a cursor: each one, in order, never an empty page in place of a loss (AIM.md 6.2)."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.aim import agents, contacts, log, messages
from agentweb.aim.cursors import event_cursor
from agentweb.aim.models import Event, LogHead, Message
from agentweb.wire.aim import envelope as envelopes
from agentweb.wire.errors import AgentError
from tests.aim.agents import SITE, Person, befriend, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(alice: Person, bob: Person) -> Person:
    """A friend of alice, who may send many messages."""
    befriend(alice, bob)
    return bob


def bodies(page: dict[str, Any]) -> list[Any]:
    return [event["message"]["body"] for event in page["events"] if "message" in event]


def cursor_of(position: int) -> str:
    return event_cursor(LogHead.objects.get().epoch, position)


def test_an_event_has_cursor_type_time_scope_and_the_whole_envelope(alice: Person, bob: Person) -> None:
    written = alice.write(bob)
    alice.post(written)
    [event] = bob.events()["events"]
    assert set(event) == {"cursor", "type", "at", "scope", "message", "signed_by"}
    assert event["message"] == written
    assert event["signed_by"] == alice.key
    assert envelopes.signature_is_valid(envelopes.read(event["message"]), alice.key)


@pytest.mark.requirement("AIM-S7.1")
def test_each_event_after_the_cursor_comes_in_order(alice: Person, bob: Person) -> None:
    for number in range(10):
        (alice if number % 2 else bob).send(bob if number % 2 else alice, number)
    everything = bob.events()["events"]
    assert bodies({"events": everything}) == list(range(10))
    for place, event in enumerate(everything):
        # The cursor of an event is exclusive.
        assert bob.events(event["cursor"])["events"] == everything[place + 1 :]


@pytest.mark.requirement("AIM-S21.1")
def test_pages_lead_through_everything_once(alice: Person, bob: Person) -> None:
    for number in range(7):
        alice.send(bob, number)
    seen, cursor, more = [], None, True
    while more:
        page = bob.events(cursor, limit=3)
        assert len(page["events"]) == 3 or not page["has_more"]
        seen += bodies(page)
        cursor, more = page["cursor"], page["has_more"]
    assert seen == list(range(7))
    assert bob.events(cursor)["events"] == []


@pytest.mark.parametrize("count", [3, 4])
def test_has_more_is_true_exactly_when_there_is_more(alice: Person, bob: Person, count: int) -> None:
    for number in range(count):
        alice.send(bob, number)
    assert bob.events(limit=3)["has_more"] is (count > 3)


def test_an_empty_poll_moves_on_with_the_log(alice: Person, bob: Person) -> None:
    quiet = person("quiet-one")
    begun = quiet.events()["cursor"]
    alice.send(bob)
    page = quiet.events(begun)
    assert (page["events"], page["has_more"]) == ([], False)
    assert page["cursor"] == cursor_of(LogHead.objects.get().last)
    assert page["cursor"] != begun


def test_a_page_that_is_not_full_ends_where_the_log_does(alice: Person, bob: Person) -> None:
    alice.send(bob)
    alice.send(alice)  # comes after what bob reads
    assert bob.events()["cursor"] == cursor_of(LogHead.objects.get().last)


def test_a_quiet_agent_does_not_fall_behind_the_floor(alice: Person, bob: Person) -> None:
    quiet = person("quiet-one")
    cursor = quiet.events()["cursor"]
    for _ in range(3):
        alice.send(bob)
        cursor = quiet.events(cursor)["cursor"]
        LogHead.objects.update(floor=LogHead.objects.get().last)
        Event.objects.all().delete()
    assert quiet.events(cursor)["events"] == []


def test_now_is_the_present_and_nothing_before(alice: Person, bob: Person) -> None:
    alice.send(bob, "before")
    page = bob.events("now")
    assert page == {
        "events": [],
        "cursor": cursor_of(LogHead.objects.get().last),
        "has_more": False,
    }
    alice.send(bob, "after")
    assert bodies(bob.events(page["cursor"])) == ["after"]


def test_without_a_cursor_it_begins_at_the_oldest_that_is_kept(alice: Person, bob: Person) -> None:
    for number in range(3):
        alice.send(bob, number)
    first = Event.objects.filter(stream=log.stream_of(bob.agent.pk)).earliest("seq").seq
    LogHead.objects.update(floor=first)
    # The floor is moved before rows are deleted: what is at or below it is gone, though it is still there.
    assert bodies(bob.events()) == [1, 2]
    Event.objects.filter(seq__lte=first).delete()
    assert bodies(bob.events()) == [1, 2]


@pytest.mark.requirement("AIM-S21.4")
def test_a_cursor_before_the_floor_is_expired_and_never_an_empty_page(alice: Person, bob: Person) -> None:
    for number in range(4):
        alice.send(bob, number)
    floor = 4
    LogHead.objects.update(floor=floor)
    for position in range(floor):
        with pytest.raises(AgentError) as refused:
            bob.events(cursor_of(position))
        error = refused.value
        assert (error.code, error.status) == ("cursor_expired", 410)
        assert error.extra["details"] == {
            "oldest_cursor": cursor_of(floor),
            "latest_cursor": cursor_of(8),
            "retention_days": 30,
        }
    assert bodies(bob.events(error.extra["details"]["oldest_cursor"])) == [2, 3]
    assert bodies(bob.events(cursor_of(8))) == []


def test_a_cursor_of_the_future_or_of_another_epoch_is_refused(alice: Person, bob: Person) -> None:
    alice.send(bob)
    last = LogHead.objects.get().last
    for cursor in (cursor_of(last + 1), event_cursor("f" * 16, 0), event_cursor("f" * 16, last)):
        with pytest.raises(AgentError) as refused:
            bob.events(cursor)
        assert (refused.value.code, refused.value.status) == ("cursor_future", 409)
        assert refused.value.extra["details"]["latest_cursor"] == cursor_of(last)
        assert refused.value.extra["details"]["oldest_cursor"] == cursor_of(0)


def test_garbage_is_no_cursor(bob: Person) -> None:
    for cursor in ("", "0", "later", cursor_of(1)[:-2]):
        with pytest.raises(AgentError) as refused:
            bob.events(cursor)
        assert (refused.value.code, refused.value.status) == ("invalid_cursor", 400)


def test_a_log_that_nobody_has_written_to_can_be_read() -> None:
    reader = person("early-bird")
    LogHead.objects.all().delete()
    page = reader.events()
    assert (page["events"], page["has_more"]) == ([], False)
    assert reader.events(page["cursor"])["events"] == []


@pytest.mark.requirement("AIM-S14.3")
def test_only_the_two_of_a_conversation_read_its_events(alice: Person, bob: Person) -> None:
    carol = person("carol")
    alice.send(bob, "between us")
    assert carol.events()["events"] == []
    assert bodies(alice.events()) == bodies(bob.events()) == ["between us"]


def test_events_can_be_chosen_by_type(alice: Person, bob: Person) -> None:
    carol = person("carol")
    carol.send(bob, "a request")
    alice.send(bob, "a message")
    contacts.set_state(bob.agent, "carol", "accepted", SITE)
    assert bodies(bob.events(types="request")) == ["a request"]
    assert bodies(bob.events(types="message,request")) == ["a request", "a message"]
    page = bob.events(types="member.joined")
    assert (page["events"], page["cursor"]) == ([], cursor_of(LogHead.objects.get().last))
    assert [event["type"] for event in bob.events(types="contact.accepted")["events"]] == ["contact.accepted"]


@pytest.mark.parametrize(
    "types",
    [
        "",
        ",",
        "message,",
        "Message",
        "a.b.c",
        "\0",
        "message;drop",
        "x" * 21,
        "bogus",
        "messages",
        "message,bogus",
    ],
)
def test_what_is_no_list_of_types_is_refused(bob: Person, types: str) -> None:
    with pytest.raises(AgentError) as refused:
        bob.events(types=types)
    assert (refused.value.code, refused.value.field) == ("invalid_parameter", "types")


@pytest.mark.requirement("AIM-S16.4")
def test_a_strangers_message_is_a_request(alice: Person) -> None:
    carol = person("carol")
    carol.send(alice, "who are you?")
    [event] = alice.events()["events"]
    assert (event["type"], event["scope"]) == ("request", "requests")
    assert [item["sender"] for item in alice.inbox("requests")["items"]] == [carol.address]
    assert alice.inbox()["items"] == []


def test_what_a_blocked_agent_wrote_is_in_no_page_and_the_cursor_passes_it(
    alice: Person, bob: Person
) -> None:
    begun = bob.events()["cursor"]
    alice.send(bob, "before")
    contacts.set_state(bob.agent, "alice", "blocked", SITE)
    page = bob.events(begun)
    assert [event["type"] for event in page["events"]] == ["contact.blocked"]
    assert page["events"][0]["data"] == {"name": "alice", "address": alice.address, "state": "blocked"}
    assert page["cursor"] == cursor_of(LogHead.objects.get().last)
    # The author's own events are its own.
    assert bodies(alice.events()) == ["before"]
    contacts.remove(bob.agent, "alice", SITE)
    assert bodies(bob.events(begun)) == ["before"]


def test_a_page_of_blocked_messages_hides_nothing_behind_them(alice: Person, bob: Person) -> None:
    carol = person("carol")
    contacts.set_state(bob.agent, "carol", "accepted", SITE)
    begun = bob.events()["cursor"]
    for number in range(5):
        carol.send(bob, f"noise {number}")
    alice.send(bob, "news")
    contacts.set_state(bob.agent, "carol", "blocked", SITE)
    assert bodies(bob.events(begun, limit=2)) == ["news"]


def test_a_removed_message_is_a_tombstone_and_an_event(alice: Person, bob: Person) -> None:
    result = alice.send(bob, "regretted")
    messages.remove(alice.agent, str(result.id), bob.address, SITE)
    for reader in (alice, bob):
        first, removal = reader.events()["events"]
        assert (first["type"], removal["type"]) == ("message", "message.removed")
        assert "message" not in first
        assert first["data"] == removal["data"]
        assert removal["data"]["tombstone"]["id"] == result.id
        assert removal["data"]["tombstone"]["from"] == alice.address
        assert "regretted" not in str(reader.events())


def test_an_event_of_a_message_that_nothing_is_left_of_is_passed_over(alice: Person, bob: Person) -> None:
    alice.send(bob, "old")
    alice.send(bob, "new")
    Message.objects.earliest("seq").delete()
    assert bodies(bob.events()) == ["new"]


def test_contacts_learn_that_an_agent_was_deleted_and_others_do_not(alice: Person, bob: Person) -> None:
    carol = person("carol")
    agents.delete(alice.agent)
    [event] = bob.events()["events"]
    assert (event["type"], event["scope"]) == ("agent.deleted", "account")
    assert event["data"] == {"name": "alice", "address": alice.address}
    assert carol.events()["events"] == []
    assert Event.objects.count() == 1


def test_events_of_agents_and_of_the_own_stream_come_in_one_order(alice: Person, bob: Person) -> None:
    carol = person("carol")
    contacts.set_state(bob.agent, "carol", "accepted", SITE)
    begun = bob.events()["cursor"]
    alice.send(bob, 1)
    agents.delete(carol.agent)
    alice.send(bob, 2)
    page = bob.events(begun)
    assert [event["type"] for event in page["events"]] == ["message", "agent.deleted", "message"]
    first = bob.events(begun, limit=1)
    second = bob.events(first["cursor"], limit=1)
    third = bob.events(second["cursor"], limit=1)
    assert [first["has_more"], second["has_more"], third["has_more"]] == [True, True, False]
    assert first["events"] + second["events"] + third["events"] == page["events"]
