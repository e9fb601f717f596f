"""A look at the log does what is left to do, once, whoever looks and however often."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.aim import announcements, consumers, log, pump
from agentweb.aim.cursors import parse_event_cursor
from agentweb.aim.models import Account, Event, LogConsumer, Message
from agentweb.aim.sweep import Swept, sweep
from agentweb.signals import message_accepted
from agentweb.testing import clock
from agentweb.wire.clock import now_datetime
from tests.aim.filling import agent, post

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0


class Heard(list[tuple[str, str, str, str]]):
    """What a receiver was told."""

    def __call__(self, sender: str, *, recipient: str, message_id: str, cursor: str, **rest: Any) -> None:
        self.append((sender, recipient, message_id, cursor))


@pytest.fixture
def heard() -> Iterator[Heard]:
    receiver = Heard()
    message_accepted.connect(receiver, weak=False)
    yield receiver
    message_accepted.disconnect(receiver)


def received() -> dict[str, int]:
    return dict(Account.objects.values_list("agent__name", "received"))


def test_an_empty_log_has_nothing_to_do() -> None:
    assert sweep() == Swept(0, 0, 0)
    assert set(LogConsumer.objects.values_list("name", flat=True)) == {"received", "told"}


def test_each_message_counts_once_for_its_recipient_and_not_for_its_sender(heard: Heard) -> None:
    ann, bob = agent("ann"), agent("bob")
    post(ann, bob, 3)
    post(bob, ann, 1, kind=log.REQUEST)
    assert sweep() == Swept(8, 4, 0)
    assert received() == {"ann": 1, "bob": 3}
    assert sweep() == Swept(0, 0, 0)
    assert received() == {"ann": 1, "bob": 3}


def test_a_message_to_oneself_counts_once(heard: Heard) -> None:
    ann = agent("ann")
    [message] = post(ann, ann)
    assert sweep() == Swept(1, 1, 0)
    assert received() == {"ann": 1}
    assert [told[:3] for told in heard] == [("ann@shop.example", "ann@shop.example", message.message_id)]


def test_receivers_are_told_addresses_id_and_the_recipient_s_cursor_in_the_order_of_the_log(
    heard: Heard,
) -> None:
    ann, bob = agent("ann"), agent("bob")
    first, second = post(ann, bob)[0], post(bob, ann)[0]
    sweep()
    assert [told[:3] for told in heard] == [
        ("ann@shop.example", "bob@shop.example", first.message_id),
        ("bob@shop.example", "ann@shop.example", second.message_id),
    ]
    assert [parse_event_cursor(told[3]) for told in heard] == [
        (log.ends().epoch, first.seq),
        (log.ends().epoch, second.seq),
    ]


def test_other_events_are_passed_over(heard: Heard) -> None:
    ann, bob = agent("ann"), agent("bob")
    [message] = post(ann, bob)
    log.append(
        [
            log.Entry(log.stream_of(bob.pk), log.MESSAGE_REMOVED, message.pk),
            log.Entry(log.AGENTS, log.AGENT_DELETED, bob.pk),
            log.Entry(log.stream_of(ann.pk), log.CONTACT_ACCEPTED, None, "{}"),
        ],
        now_datetime(),
    )
    assert sweep() == Swept(5, 1, 0)
    assert received() == {"ann": 0, "bob": 1}


def test_a_message_that_is_gone_before_anybody_looked_is_passed_over(heard: Heard) -> None:
    ann, bob = agent("ann"), agent("bob")
    post(ann, bob)
    Message.objects.all().delete()
    assert sweep() == Swept(2, 0, 0)
    assert received() == {"ann": 0, "bob": 0}


def test_a_receiver_that_raises_is_logged_and_keeps_no_other_from_being_told(
    heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**told: Any) -> None:
        raise ValueError("no")

    message_accepted.connect(broken, weak=False)
    try:
        messages = post(agent("ann"), agent("bob"), 2)
        with caplog.at_level(logging.ERROR, logger="agentweb.aim"):
            assert sweep() == Swept(4, 2, 0)
    finally:
        message_accepted.disconnect(broken)
    assert [told[2] for told in heard] == [message.message_id for message in messages]
    ours = [record.getMessage() for record in caplog.records if record.name == "agentweb.aim"]
    assert len(ours) == 2
    assert messages[0].message_id in ours[0]
    assert sweep() == Swept(0, 0, 0)


def test_without_receivers_the_position_goes_on_and_a_later_one_is_told_what_comes_later(
    request: pytest.FixtureRequest,
) -> None:
    ann, bob = agent("ann"), agent("bob")
    post(ann, bob, 2)
    assert sweep() == Swept(4, 0, 0)
    heard = request.getfixturevalue("heard")
    [message] = post(ann, bob)
    assert sweep() == Swept(2, 1, 0)
    assert [told[2] for told in heard] == [message.message_id]


def test_a_receiver_that_ends_the_worker_is_told_again(heard: Heard) -> None:
    """As a kill does: nothing after it is run, and the position is where it was."""

    def ends(**told: Any) -> None:
        raise SystemExit

    [message] = post(agent("ann"), agent("bob"))
    message_accepted.connect(ends, weak=False)
    with pytest.raises(SystemExit):
        sweep()
    message_accepted.disconnect(ends)
    assert sweep().told == 1
    assert [told[2] for told in heard] == [message.message_id] * 2
    assert received() == {"ann": 0, "bob": 1}


def test_who_is_killed_while_telling_is_waited_for_and_then_made_up_for(heard: Heard) -> None:
    with clock(NOON) as time:
        post(agent("ann"), agent("bob"))
        sweep()
        heard.clear()
        post(*map(_named, ("ann", "bob")))
        assert consumers.lease(consumers.TOLD) is not None  # and is killed
        assert sweep() == Swept(2, 0, 2)
        time.forward(consumers.LEASE_SECONDS + 1)
        assert sweep() == Swept(0, 1, 0)
    assert len(heard) == 1


def test_two_that_tell_at_once_move_the_position_once(heard: Heard) -> None:
    """The first is stopped for longer than its lease; the second takes over. The first moves nothing then."""
    with clock(NOON) as time:
        ann, bob = agent("ann"), agent("bob")
        post(ann, bob)
        consumers.create([consumers.TOLD])
        token = consumers.lease(consumers.TOLD)
        assert token is not None
        time.forward(consumers.LEASE_SECONDS + 1)
        sweep()
        assert not consumers.move(consumers.TOLD, token, before=0, now=1)
        assert not consumers.renew(consumers.TOLD, token)
        assert consumers.positions() == {"received": 2, "told": 2}


def test_a_long_log_is_read_in_batches(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pump, announcements, __import__("agentweb.aim.sweep", fromlist=["sweep"])):
        monkeypatch.setattr(module, "BATCH", 10)
    post(agent("ann"), agent("bob"), 17)
    assert sweep() == Swept(34, 17, 0)
    assert received() == {"ann": 0, "bob": 17}
    assert len(heard) == 17


def test_who_is_told_to_stop_ends_between_batches_and_what_was_told_is_not_told_again(heard: Heard) -> None:
    post(agent("ann"), agent("bob"), 5)
    swept = sweep(stopping=lambda: len(heard) >= 2)
    assert (swept.told, len(heard)) == (2, 2)
    assert sweep().told == 3
    assert len({told[2] for told in heard}) == 5


def test_queries_do_not_grow_with_the_messages(heard: Heard) -> None:
    parties = [agent(f"agent-{number}") for number in range(20)]
    sweep()
    counts = []
    for many in (1, 20):
        for number in range(many):
            post(parties[number], parties[-1 - number], 2)
        with CaptureQueriesContext(connection) as captured:
            sweep()
        counts.append(len(captured))
    assert counts[0] == counts[1]
    assert sum(received().values()) == Message.objects.count()


def test_a_look_is_noted_with_the_period_after_which_another_is_to_come() -> None:
    with clock(NOON) as time:
        sweep(2)
        time.forward(1)
        sweep(None)
        rows = LogConsumer.objects.values_list("period", "heard_at")
        assert set(rows) == {(2.0, now_datetime())}


def test_events_of_two_are_told_apart_by_the_stream() -> None:
    """``agent:1`` is not ``agent:11``."""
    parties = [agent(f"agent-{number}") for number in range(12)]
    for party in parties[1:]:
        post(parties[0], party)
    sweep()
    assert received() == {party.name: int(party is not parties[0]) for party in parties}
    assert Event.objects.count() == 22


def _named(name: str) -> Any:
    return Account.objects.select_related("agent").get(agent__name=name).agent
