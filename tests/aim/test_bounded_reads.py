"""What one request looks at is bounded, however much there is that its agent may not or does not want to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentweb.aim import contacts, events, inbox, log, messages, recipients, statements
from agentweb.aim.models import Agent, Contact, Message
from agentweb.wire.clock import now_datetime
from tests.aim import filling
from tests.aim.agents import SITE, Person, befriend, code, person
from tests.aim.looking import looked_at

pytestmark = pytest.mark.django_db

PART = 600


def flood(author: Person, reader: Person, parts: int) -> None:
    """Many messages, more than a page looks at from two parts on."""
    for _ in range(parts):
        filling.post(author.agent, reader.agent, PART)


def pages(read: Callable[[str | None], dict[str, Any]], following: str) -> list[dict[str, Any]]:
    """All pages, each begun where the one before says."""
    found = [read(None)]
    while found[-1].get("has_more", found[-1][following] is not None):
        assert len(found) < 20
        found.append(read(found[-1][following]))
    return found


def set_state(owner: Person, other: Person, state: str) -> None:
    contacts.set_state(owner.agent, other.agent.name, state, SITE)


def test_events_of_a_blocked_author_are_passed_over_in_pages(alice: Person, bob: Person) -> None:
    carol = person("carol")
    befriend(alice, carol)
    flood(bob, alice, 4)
    set_state(alice, bob, "blocked")
    last = carol.send(alice, "after all of them")
    read = pages(lambda cursor: alice.events(cursor, types="message"), "cursor")
    assert [len(page["events"]) for page in read] == [0, 0, 1]
    assert len({page["cursor"] for page in read}) == 3
    assert read[-1]["events"][0]["cursor"] == last.cursor


def test_events_of_other_types_are_passed_over_in_pages(alice: Person, bob: Person) -> None:
    befriend(alice, bob)
    flood(bob, alice, 3)
    set_state(alice, bob, "blocked")
    read = pages(lambda cursor: alice.events(cursor, types="contact.blocked"), "cursor")
    assert [[event["type"] for event in page["events"]] for page in read] == [[], ["contact.blocked"]]


def test_deletions_of_strangers_are_passed_over_in_pages(alice: Person, bob: Person) -> None:
    befriend(alice, bob)
    for _ in range(3):
        gone = [log.Entry(log.AGENTS, log.AGENT_DELETED, 0, '{"name": "x"}') for _ in range(PART)]
        log.append(gone, now_datetime())
    bob.send(alice)
    read = pages(alice.events, "cursor")
    assert [len(page["events"]) for page in read] == [0, 1]


def test_a_page_of_events_begins_after_what_is_half_deleted(alice: Person, bob: Person) -> None:
    """The floor is raised before rows are deleted; who begins at the oldest then still gets what is above it."""
    befriend(alice, bob)
    cursors = [bob.send(alice, number).cursor for number in range(6)]
    _, position = events.parse_event_cursor(str(cursors[3]))
    log.LogHead.objects.update(floor=position)
    assert [event["cursor"] for event in alice.events(limit=2)["events"]] == cursors[4:]


@pytest.mark.parametrize("types", [None, "agent.deleted"])
def test_a_page_of_events_looks_at_as_much_of_a_longer_log(
    alice: Person, bob: Person, types: str | None
) -> None:
    flood(bob, alice, 2)
    set_state(alice, bob, "blocked")
    read = lambda: events.read_events(alice.agent, None, 1, types, SITE)  # noqa: E731
    before = looked_at(read)
    flood(bob, alice, 3)
    # PostgreSQL may by now take another index, and count rows once more.
    assert looked_at(read) < before * 1.5


def test_the_inbox_passes_over_a_blocked_author_in_pages(alice: Person, bob: Person) -> None:
    carol = person("carol")
    befriend(alice, carol)
    carol.send(alice, "before all of them")
    flood(bob, alice, 4)
    set_state(alice, bob, "blocked")
    read = pages(lambda cursor: alice.inbox(cursor=cursor), "next_cursor")
    assert [[item["envelope"]["body"] for item in page["items"]] for page in read] == [
        [],
        [],
        ["before all of them"],
    ]


def test_a_conversation_passes_over_what_is_removed_in_pages(alice: Person, bob: Person) -> None:
    befriend(alice, bob)
    bob.send(alice, "before all of them")
    flood(bob, alice, 2)
    Message.objects.filter(type="text").update(state="removed", envelope="")
    read = pages(lambda cursor: alice.inbox(with_="bob", cursor=cursor), "next_cursor")
    assert [len(page["items"]) for page in read] == [0, 1]


def test_the_flood_of_a_contact_hides_no_stranger(alice: Person, bob: Person) -> None:
    carol = person("carol")
    carol.send(alice, "hello?")
    befriend(alice, bob)
    flood(bob, alice, 2)
    requests = alice.inbox("requests")
    assert [group["sender"] for group in requests["items"]] == [carol.address]
    assert requests["next_cursor"] is None
    assert requests["counts"] == alice.inbox()["counts"] == {"requests": 1}


def strangers(first: int, count: int) -> list[Agent]:
    at = now_datetime()
    return Agent.objects.bulk_create(
        Agent(name=f"stranger-{number}", created_at=at) for number in range(first, first + count)
    )


def write_once(senders: list[Agent], reader: Person) -> None:
    """One message of each."""
    written = filling.post(senders[0], reader.agent, len(senders), kind=log.REQUEST)
    for message, sender in zip(written, senders, strict=True):
        message.sender = sender
        message.conversation = recipients.conversation_of(sender.pk, reader.agent.pk)
    Message.objects.bulk_update(written, ["sender", "conversation"], batch_size=200)


def test_more_strangers_than_are_looked_at_are_all_in_the_pages(alice: Person) -> None:
    there = strangers(0, PART)
    write_once(there[:1], alice)
    flood(Person(there[0], alice.signer), alice, 2)
    write_once(there, alice)
    read = pages(lambda cursor: alice.inbox("requests", cursor=cursor, limit=100), "next_cursor")
    senders = [group["sender"] for page in read for group in page["items"]]
    assert senders == [f"{agent.name}@{SITE}" for agent in reversed(there)]
    assert read[0]["counts"] == {"requests": PART}


def test_the_inbox_looks_at_as_much_for_more_strangers(alice: Person) -> None:
    write_once(strangers(0, 2 * PART), alice)
    calls = [
        lambda lane=lane: inbox.read_lane(alice.agent, lane, None, 50, SITE)
        for lane in ("primary", "requests")
    ]
    before = [looked_at(call) for call in calls]
    write_once(strangers(2 * PART, 2 * PART), alice)
    after = [looked_at(call) for call in calls]
    assert [now < then * 1.2 for now, then in zip(after, before, strict=True)] == [True, True]


def test_the_inbox_looks_at_as_much_for_more_messages_of_one_author(alice: Person, bob: Person) -> None:
    flood(bob, alice, 2)
    Contact.objects.create(
        owner=alice.agent, other=bob.agent, state="blocked", changed_at=alice.agent.created_at
    )
    read = lambda: inbox.read_lane(alice.agent, "primary", None, 50, SITE)  # noqa: E731
    before = looked_at(read)
    flood(bob, alice, 3)
    assert looked_at(read) < before * 1.2


def test_a_former_contact_is_refused_without_counting_all_that_it_sent(alice: Person, bob: Person) -> None:
    count = lambda: statements.together(messages.counting_sent(bob.agent.pk, [alice.agent.pk]))  # noqa: E731
    flood(bob, alice, 1)
    before = looked_at(count)
    flood(bob, alice, 1)
    flood(alice, bob, 1)
    assert count()[0].rows == [(alice.agent.pk, 3)]
    assert looked_at(count) < before * 1.2
    assert code(bob.send(alice)) == "recipient_not_accepting"
