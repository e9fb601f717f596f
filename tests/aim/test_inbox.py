"""The lanes of the inbox and one conversation (AIM.md 6.1)."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.aim import agents, contacts, messages
from agentweb.aim.models import Message
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
    return [item["envelope"]["body"] for item in page["items"]]


@pytest.mark.requirement("AIM-S5.1")
def test_the_inbox_has_what_was_sent_to_the_agent_newest_first(alice: Person, bob: Person) -> None:
    written = [alice.write(bob, number) for number in range(3)]
    results = alice.post(*written)
    bob.send(alice, "an answer")
    page = bob.inbox()
    assert bodies(page) == [2, 1, 0]
    assert page["items"][0] == {
        "envelope": written[2],
        "received_at": results[2].accepted_at,
        "cursor": results[2].cursor,
        "lane": "primary",
        "signed_by": alice.key,
    }
    assert envelopes.signature_is_valid(envelopes.read(page["items"][0]["envelope"]), alice.key)
    assert page["next_cursor"] is None


@pytest.mark.requirement("AIM-S5.2")
def test_strangers_wait_in_the_requests_lane_by_sender(alice: Person, bob: Person) -> None:
    carol, dave = person("carol"), person("dave")
    carol.send(alice, "c1")
    dave.send(alice, "d1")
    bob.send(alice, "b1")
    carol.send(alice, "c2")
    assert bodies(alice.inbox()) == ["b1"]
    page = alice.inbox("requests")
    assert [(group["sender"], group["count"], group["lane"]) for group in page["items"]] == [
        (carol.address, 2, "requests"),
        (dave.address, 1, "requests"),
    ]
    assert [message["envelope"]["body"] for message in page["items"][0]["messages"]] == ["c2", "c1"]
    assert {message["lane"] for group in page["items"] for message in group["messages"]} == {"requests"}
    assert page["counts"] == alice.inbox()["counts"] == {"requests": 2}


def test_a_stranger_shows_three_messages_at_most(alice: Person, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "UNACCEPTED_PER_PAIR": 10}
    carol = person("carol")
    for number in range(5):
        carol.send(alice, number)
    [group] = alice.inbox("requests")["items"]
    assert ([message["envelope"]["body"] for message in group["messages"]], group["count"]) == ([4, 3, 2], 5)


def test_accepting_moves_what_waits_to_the_primary_lane(alice: Person) -> None:
    carol = person("carol")
    carol.send(alice, "hello?")
    contacts.set_state(alice.agent, "carol", "accepted", SITE)
    assert bodies(alice.inbox()) == ["hello?"]
    assert alice.inbox("requests") == {"items": [], "next_cursor": None, "counts": {"requests": 0}}


def test_replying_accepts_too(alice: Person) -> None:
    carol = person("carol")
    first = carol.send(alice, "hello?")
    alice.send(carol, "hello", reply_to=first.id)
    assert bodies(alice.inbox()) == ["hello?"]
    assert bodies(carol.inbox()) == ["hello"]


def test_blocking_hides_what_waits_and_keeps_more_away(alice: Person, bob: Person) -> None:
    carol = person("carol")
    carol.send(alice, "buy this")
    contacts.set_state(alice.agent, "carol", "blocked", SITE)
    contacts.set_state(alice.agent, "bob", "blocked", SITE)
    refused = carol.send(alice, "and this")
    assert refused.error is not None
    assert refused.error.code == "recipient_not_accepting"
    assert alice.inbox()["items"] == alice.inbox("requests")["items"] == []
    assert alice.inbox()["counts"] == {"requests": 0}


def test_a_contact_that_was_removed_is_a_stranger_again(alice: Person, bob: Person) -> None:
    bob.send(alice, "hello")
    contacts.remove(alice.agent, "bob", SITE)
    assert alice.inbox()["items"] == []
    assert alice.inbox("requests")["items"][0]["sender"] == bob.address


def test_removed_messages_are_in_no_lane(alice: Person, bob: Person) -> None:
    carol = person("carol")
    for author in (bob, carol):
        result = author.send(alice, "regretted")
        messages.remove(author.agent, str(result.id), alice.address, SITE)
    assert alice.inbox()["items"] == alice.inbox("requests")["items"] == []
    assert alice.inbox()["counts"] == {"requests": 0}


def test_the_conversation_has_both_directions(alice: Person, bob: Person) -> None:
    alice.send(bob, "one")
    bob.send(alice, "two")
    alice.send(alice, "a note")
    alice.send(bob, "three")
    for viewer, other in ((alice, "bob"), (bob, alice.address)):
        page = viewer.inbox(with_=other)
        assert bodies(page) == ["three", "two", "one"]
        assert {item["lane"] for item in page["items"]} == {"primary"}
    assert bodies(alice.inbox(with_="alice")) == ["a note"]


def test_the_conversation_says_in_which_lane_the_other_is(alice: Person) -> None:
    carol = person("carol")
    carol.send(alice, "hello?")
    assert [item["lane"] for item in alice.inbox(with_="carol")["items"]] == ["requests"]
    contacts.set_state(alice.agent, "carol", "blocked", SITE)
    assert [item["lane"] for item in alice.inbox(with_="carol")["items"]] == ["blocked"]


def test_nobody_sees_the_conversation_of_two_others(alice: Person, bob: Person) -> None:
    alice.send(bob, "between us")
    assert person("carol").inbox(with_="bob")["items"] == []


@pytest.mark.parametrize(
    ("with_", "code"),
    [
        ("nobody-here", "not_found"),
        (f"nobody-here@{SITE}", "not_found"),
        ("bob@other.example", "remote_authority"),
        ("board:c-1234567890", "unknown_community"),
        ("", "invalid_parameter"),
        ("\0", "invalid_parameter"),
        (f"Bob@{SITE}", "invalid_parameter"),
    ],
    ids=ascii,
)
def test_a_conversation_is_with_somebody_who_is_here(alice: Person, with_: str, code: str) -> None:
    with pytest.raises(AgentError) as refused:
        alice.inbox(with_=with_)
    assert refused.value.code == code


def test_every_list_is_read_in_pages_each_item_once(alice: Person, bob: Person, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "MESSAGE_RATE": (100, 100)}
    for number in range(7):
        bob.send(alice, number)
        person(f"stranger-{number}").send(alice, number)

    def pages(**query: Any) -> list[list[dict[str, Any]]]:
        found, cursor = [], None
        while True:
            page = alice.inbox(cursor=cursor, limit=3, **query)
            found.append(page["items"])
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    for query in ({}, {"with_": "bob"}):
        read = pages(**query)
        assert [[item["envelope"]["body"] for item in page] for page in read] == [[6, 5, 4], [3, 2, 1], [0]]
    requests = pages(lane="requests")
    assert [[group["sender"] for group in page] for page in requests] == [
        [f"stranger-{number}@{SITE}" for number in numbers] for numbers in ([6, 5, 4], [3, 2, 1], [0])
    ]


def test_what_comes_while_pages_are_read_moves_nothing(alice: Person, bob: Person) -> None:
    for number in range(4):
        bob.send(alice, number)
    first = alice.inbox(limit=2)
    bob.send(alice, "new")
    assert bodies(alice.inbox(cursor=first["next_cursor"], limit=2)) == [1, 0]


def test_a_cursor_of_another_list_is_refused(alice: Person, bob: Person) -> None:
    for number in range(4):
        bob.send(alice, number)
    cursor = alice.inbox(limit=2)["next_cursor"]
    for query in ({"lane": "requests"}, {"with_": "bob"}):
        with pytest.raises(AgentError) as refused:
            alice.inbox(cursor=cursor, **query)
        assert refused.value.code == "invalid_cursor"


def test_what_a_deleted_agent_wrote_stays_with_its_recipient(alice: Person, bob: Person) -> None:
    bob.send(alice, "farewell")
    agents.delete(bob.agent)
    assert bodies(alice.inbox()) == bodies(alice.inbox(with_="bob")) == ["farewell"]


def test_only_live_messages_are_counted(alice: Person) -> None:
    person("carol").send(alice, "old")
    Message.objects.update(state="expired", envelope="")
    assert alice.inbox()["counts"] == {"requests": 0}
    assert alice.inbox("requests")["items"] == []
