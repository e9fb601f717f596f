"""What is charged, what is refused, and that a repeat at the told time passes (AIM.md 7.2)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from agentweb.aim import contacts, messages, quotas
from agentweb.aim.models import Account, Event, Message
from agentweb.testing.clocks import clock
from tests.aim.agents import SITE, Person, befriend, person

pytestmark = pytest.mark.django_db


def codes(results: list[Any]) -> list[str | None]:
    return [None if result.error is None else str(result.error.code) for result in results]


def code(result: Any) -> str | None:
    return codes([result])[0]


@pytest.fixture
def bob(alice: Person, bob: Person) -> Person:
    """A friend of alice, who may send many messages."""
    befriend(alice, bob)
    return bob


def limits(settings: Any, **values: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, **values}


def test_the_burst_passes_and_then_one_a_second(alice: Person, bob: Person) -> None:
    with clock(1_800_000_000) as time:
        assert codes(alice.post(*[alice.write(bob) for _ in range(20)])) == [None] * 20
        results = alice.post(*[alice.write(bob) for _ in range(20)])
        assert codes(results) == [None] * 10 + ["rate_limited"] * 10
        assert [result.error.retry_after for result in results if result.error] == list(range(1, 11))
        assert Account.objects.get(agent=alice.agent).charged == 30
        assert Message.objects.count() == 30
        time.forward(1)
        assert codes(alice.post(alice.write(bob), alice.write(bob))) == [None, "rate_limited"]


@pytest.mark.requirement("AIM-S27.2")
def test_what_was_refused_passes_at_the_time_that_was_told(alice: Person, bob: Person, settings: Any) -> None:
    limits(settings, MESSAGE_RATE=(0.7, 2))
    with clock(1_800_000_000.25) as time:
        written = [alice.write(bob, number) for number in range(6)]
        results = alice.post(*written)
        assert codes(results) == [None, None, *["rate_limited"] * 4]
        begun = time.now
        for envelope, result in zip(written[2:], results[2:], strict=True):
            time.now = begun + result.error.retry_after  # type: ignore[union-attr]
            [again] = alice.post(envelope)
            assert (code(again), again.duplicate) == (None, False)


def test_refused_items_cost_nothing_and_their_ids_stay_free(
    alice: Person, bob: Person, settings: Any
) -> None:
    limits(settings, MESSAGE_RATE=(0.001, 1))
    with clock(1_800_000_000) as time:
        first, second = alice.write(bob), alice.write(bob)
        assert codes(alice.post(first, second)) == [None, "rate_limited"]
        events = Event.objects.count()
        assert (Message.objects.count(), Account.objects.get(agent=alice.agent).charged) == (1, 1)
        assert codes(alice.post(second)) == ["rate_limited"]
        assert Event.objects.count() == events
        time.forward(1_000)
        assert codes(alice.post(second)) == [None]


def test_a_batch_larger_than_the_burst_is_accepted_as_far_as_it_fits(
    alice: Person, bob: Person, settings: Any
) -> None:
    limits(settings, MESSAGE_RATE=(1, 3))
    assert codes(alice.post(*[alice.write(bob) for _ in range(5)])) == [None] * 3 + ["rate_limited"] * 2


def test_a_day_has_its_own_limit(alice: Person, bob: Person, settings: Any) -> None:
    limits(settings, MESSAGES_PER_DAY=2, MESSAGE_RATE=(100, 100))
    with clock(1_800_000_000) as time:
        results = alice.post(*[alice.write(bob) for _ in range(4)])
        assert codes(results) == [None, None, "quota_exceeded", "quota_exceeded"]
        assert [result.error.retry_after for result in results if result.error] == [43_200, 86_400]
        time.forward(43_200)
        assert codes(alice.post(alice.write(bob), alice.write(bob))) == [None, "quota_exceeded"]


def test_in_the_day_after_a_pause_twice_as_many_fit(alice: Person, bob: Person, settings: Any) -> None:
    """As the guides say: units come back evenly, at no midnight."""
    limits(settings, MESSAGES_PER_DAY=4, MESSAGE_RATE=(100, 100))
    with clock(1_800_000_000) as time:
        accepted = []
        for _ in range(5):
            accepted += [not code for code in codes(alice.post(*[alice.write(bob) for _ in range(4)]))]
            time.forward(86_400 / 4)
        assert sum(accepted) == 8


def test_of_two_limits_the_longer_wait_is_told_and_neither_is_used_up(
    alice: Person, bob: Person, settings: Any
) -> None:
    limits(settings, MESSAGES_PER_DAY=2, MESSAGE_RATE=(0.5, 2))
    with clock(1_800_000_000):
        alice.post(alice.write(bob), alice.write(bob))
        before = Account.objects.get(agent=alice.agent)
        refused = alice.send(bob)
        after = Account.objects.get(agent=alice.agent)
    assert refused.error is not None
    assert (refused.error.code, refused.error.retry_after) == ("quota_exceeded", 43_200)
    assert (before.rate_tat, before.day_tat, before.charged) == (
        after.rate_tat,
        after.day_tat,
        after.charged,
    )


def test_a_message_that_waits_longest_for_the_rate_is_told_that(
    alice: Person, bob: Person, settings: Any
) -> None:
    limits(settings, MESSAGES_PER_DAY=86_400, MESSAGE_RATE=(0.5, 1))
    with clock(1_800_000_000):
        refused = alice.post(alice.write(bob), alice.write(bob))[1]
    assert refused.error is not None
    assert (refused.error.code, refused.error.retry_after) == ("rate_limited", 2)


def test_a_stranger_gets_three_messages_and_not_one_more(alice: Person) -> None:
    carol = person("carol")
    assert codes(alice.post(*[alice.write(carol) for _ in range(5)])) == [
        *[None] * 3,
        *["recipient_not_accepting"] * 2,
    ]
    assert code(alice.send(carol)) == "recipient_not_accepting"
    assert Account.objects.get(agent=alice.agent).charged == 3
    contacts.set_state(carol.agent, "alice", "accepted", SITE)
    assert codes(alice.post(*[alice.write(carol) for _ in range(5)])) == [None] * 5


def test_removing_messages_makes_no_room_for_more(alice: Person) -> None:

    carol = person("carol")
    for _ in range(3):
        result = alice.send(carol)
        messages.remove(alice.agent, str(result.id), carol.address, SITE)
    assert code(alice.send(carol)) == "recipient_not_accepting"
    Message.objects.update(state="expired")
    assert code(alice.send(carol)) is None


def test_five_strangers_at_once_and_twenty_a_day(alice: Person) -> None:
    strangers = [person(f"stranger-{letter}") for letter in "abcdefg"]
    with clock(1_800_000_000) as time:
        results = alice.post(*[alice.write(each) for each in strangers])
        assert codes(results) == [None] * 5 + ["quota_exceeded"] * 2
        assert [result.error.retry_after for result in results if result.error] == [4_320, 8_640]
        # Further messages to the same ones open no new contact.
        assert codes(alice.post(*[alice.write(each) for each in strangers[:5]])) == [None] * 5
        assert code(alice.send(strangers[5])) == "quota_exceeded"
        assert quotas.left(alice.agent)["new_contacts"] == 0
        time.forward(4_320)
        assert [code(alice.send(each)) for each in strangers[5:]] == [None, "quota_exceeded"]
    assert Counter(Message.objects.values_list("recipient__name", flat=True))["stranger-g"] == 0


def test_writing_to_who_has_accepted_one_is_no_new_contact(alice: Person) -> None:
    for number in range(7):
        friend = person(f"friend-{number}a")
        contacts.set_state(friend.agent, "alice", "accepted", SITE)
        assert code(alice.send(friend)) is None
    assert Account.objects.get(agent=alice.agent).contact_tat == 0


def test_what_refers_to_a_refused_message_of_its_request_is_refused(alice: Person) -> None:
    carol = person("carol")
    alice.post(alice.write(carol), alice.write(carol))
    last, refused = alice.write(carol), alice.write(carol)
    results = alice.post(
        last,
        refused,
        alice.write(carol, reply_to=refused["id"]),
        alice.write(carol, thread_id=refused["id"]),
        refused,
        {**refused, "sig": last["sig"]},
    )
    assert codes(results) == [
        None,
        "recipient_not_accepting",
        "unknown_reply_target",
        "thread_mismatch",
        "recipient_not_accepting",
        "bad_envelope_signature",
    ]


def test_an_id_that_got_no_quota_may_be_used_for_another_message(
    alice: Person, bob: Person, settings: Any
) -> None:
    limits(settings, MESSAGE_RATE=(0.001, 1))
    with clock(1_800_000_000) as time:
        first, second = alice.write(bob), alice.write(bob)
        other = alice.write(bob, "other", id=second["id"])
        assert codes(alice.post(first, second, other)) == [None, "rate_limited", "rate_limited"]
        time.forward(1_000)
        assert codes(alice.post(other)) == [None]


def test_what_is_left_is_what_then_passes(alice: Person, bob: Person) -> None:
    with clock(1_800_000_000):
        alice.post(*[alice.write(bob) for _ in range(20)])
        left = quotas.left(alice.agent)
        assert left == {
            "messages": 10,
            "messages_today": 4_980,
            "new_contacts": 5,
            "charged": 20,
            "received": 0,
        }
        assert codes(alice.post(*[alice.write(bob) for _ in range(11)])) == [None] * 10 + ["rate_limited"]


def test_an_agent_without_an_account_gets_one(alice: Person, bob: Person) -> None:
    Account.objects.filter(agent=alice.agent).delete()
    assert code(alice.send(bob)) is None
    assert Account.objects.get(agent=alice.agent).charged == 1
