"""Events: each once, committed when it is done, whatever becomes of the log."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from agentweb.aim.models import Event as EventRow
from agentweb.aim.models import LogHead
from agentweb.client.errors import UnreachableError
from agentweb.client.messenger import Messenger
from agentweb.wire.errors import ClientError
from tests.client.messenger.conftest import Make, Network

pytestmark = pytest.mark.django_db
BOB = "bob@shop.example"


def bodies(messenger: Messenger, count: int | None = None) -> list[Any]:
    events = itertools.islice(messenger.events(), count)
    return [event.message.body for event in events if event.message is not None]


@pytest.fixture
def friends(alice: Messenger, bob: Messenger) -> tuple[Messenger, Messenger]:
    bob.accept("alice")
    list(bob.events())
    return alice, bob


def test_events_come_once_and_in_order(friends: tuple[Messenger, Messenger]) -> None:
    alice, bob = friends
    for number in range(5):
        alice.send(BOB, number)
    assert bodies(bob) == [0, 1, 2, 3, 4]
    assert bodies(bob) == []
    alice.send(BOB, 5)
    assert bodies(bob) == [5]


@pytest.mark.requirement("AIM-S21.2")
def test_an_event_is_done_when_the_next_is_asked_for(
    friends: tuple[Messenger, Messenger], agent: Make
) -> None:
    alice, bob = friends
    for number in range(3):
        alice.send(BOB, number)

    def work() -> None:
        for event in bob.events():
            assert event.message is not None
            if event.message.body == 1:
                raise RuntimeError("The program fails while it works on the second.")

    with pytest.raises(RuntimeError):
        work()
    assert bodies(agent("bob")) == [1, 2]


def test_the_cursor_moves_with_each_event_and_past_what_is_no_message(
    friends: tuple[Messenger, Messenger],
) -> None:
    alice, bob = friends
    alice.send(BOB, 0)
    alice.send(BOB, 1)
    before = bob.identity
    events = bob.events()
    first = next(events)
    assert bob.identity == before
    next(events)
    assert bob.identity is not None
    assert bob.identity.cursor == first.cursor
    bob.block("alice")
    list(bob.events())
    head = bob.cursor_now()
    assert bob.identity.cursor == head


def test_the_cursor_moves_past_what_others_do(friends: tuple[Messenger, Messenger], agent: Make) -> None:
    """Otherwise it would fall out of what is kept, though nothing was missed."""
    alice, bob = friends
    agent("carol").connect("carol")
    alice.send("carol@shop.example", 1)
    assert list(bob.events()) == []
    assert bob.identity is not None
    assert bob.identity.cursor == bob.cursor_now()


def test_many_pages_are_read_to_their_end(
    friends: tuple[Messenger, Messenger], network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentweb.client.messenger import reading

    alice, bob = friends
    monkeypatch.setattr(reading, "PAGE", 2)
    for number in range(5):
        alice.send(BOB, number)
    network.seen.clear()
    assert bodies(bob) == [0, 1, 2, 3, 4]
    assert len(network.to("/v2/events")) == 3


@pytest.mark.requirement("AIM-S21.3")
def test_a_message_that_comes_several_times_is_handled_once(
    friends: tuple[Messenger, Messenger], network: Network
) -> None:
    alice, bob = friends

    def twice(request: Any, answer: Any) -> Any:
        if request.url.path == "/v2/events":
            answer["events"] = [event for event in answer["events"] for _ in range(2)]
        return answer

    network.alter = twice
    registered = bob.identity
    alice.send(BOB, 1)
    assert bodies(bob) == [1]
    # Everything is given once more, as to an agent whose cursor was lost.
    assert registered is not None
    bob.store.commit("shop.example", registered.cursor)
    assert bodies(bob) == []


@pytest.mark.requirement("AIM-S21.4")
def test_what_the_log_no_longer_has_is_taken_from_the_inbox(
    friends: tuple[Messenger, Messenger], agent: Make
) -> None:
    alice, bob = friends
    stranger = agent("carol")
    stranger.connect("carol")
    for number in range(3):
        alice.send(BOB, number)
    assert bodies(bob, 2) == [0, 1]  # the second is not done
    stranger.send(BOB, "a stranger's")
    head = LogHead.objects.get()
    EventRow.objects.all().delete()
    LogHead.objects.update(floor=head.last)
    events = list(bob.events())
    assert events[0].type == "gap"
    assert isinstance(events[0].data, dict)
    assert events[0].data["code"] == "cursor_expired"
    assert [(each.type, each.message.body) for each in events[1:] if each.message] == [
        ("message", 2),
        ("message", 1),
        ("request", "a stranger's"),
    ]
    assert all(event.recovered for event in events[1:])
    alice.send(BOB, 3)
    assert bodies(bob) == [3]


def test_a_recovery_that_is_broken_off_is_taken_up_again(
    friends: tuple[Messenger, Messenger], agent: Make
) -> None:
    alice, bob = friends
    for number in range(3):
        alice.send(BOB, number)
    EventRow.objects.all().delete()
    LogHead.objects.update(floor=LogHead.objects.get().last)
    assert bodies(bob, 3) == [2, 1]
    assert bodies(agent("bob")) == [1, 0]
    assert bodies(agent("bob")) == []


def test_a_log_restored_from_a_backup_is_read_again_without_repeating(
    friends: tuple[Messenger, Messenger],
) -> None:
    alice, bob = friends
    alice.send(BOB, 0)
    assert bodies(bob) == [0]
    alice.send(BOB, 1)
    LogHead.objects.update(epoch="0123456789abcdef")
    events = list(bob.events())
    assert events[0].type == "gap"
    assert isinstance(events[0].data, dict)
    assert events[0].data["code"] == "cursor_future"
    assert [event.message.body for event in events if event.message] == [1]
    assert bodies(bob) == []


def test_following_goes_on_through_an_outage(
    friends: tuple[Messenger, Messenger], network: Network, agent: Make
) -> None:
    alice, _ = friends
    bob = agent("bob", attempts=1)
    alice.send(BOB, 1)
    network.refuse = 1
    with pytest.raises(UnreachableError):
        list(bob.events())
    network.refuse, network.proxied = 3, 2
    events = bob.events(follow=True)
    event = next(events)
    assert event.message is not None
    assert event.message.body == 1
    assert network.refuse == network.proxied == 0
    alice.send(BOB, 2)
    event = next(events)
    assert event.message is not None
    assert event.message.body == 2
    assert "wait=25" in str(network.to("/v2/events")[-1].url)


def test_a_service_that_cannot_let_us_wait_is_not_asked_without_end(
    friends: tuple[Messenger, Messenger], network: Network, agent: Make
) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    def at_once(request: Any, answer: Any) -> Any:
        return {**answer, "retry_after": 7} if "events" in answer and len(pauses) < 2 else answer

    network.alter = at_once
    bob = agent("bob", sleep=pause)
    real = bob._link.call

    def call(*arguments: Any, **named: Any) -> Any:
        if named.get("query"):
            named["query"] = {**named["query"], "wait": None}
        return real(*arguments, **named)

    bob._link.call = call  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        list(bob.events(follow=True))
    assert pauses == [7, 7, 1]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"events": None, "cursor": "x", "has_more": False},
        {"events": [], "has_more": False},
        {"events": [1], "cursor": "x", "has_more": False},
    ],
    ids=str,
)
def test_an_answer_that_is_none_is_said_to_be(alice: Messenger, network: Network, answer: Any) -> None:
    network.alter = lambda request, _found: answer
    before = alice.identity
    with pytest.raises(ClientError) as refused:
        list(alice.events())
    assert refused.value.code == "response_invalid"
    assert alice.identity == before
