"""What goes when its time is over, in which order, and what stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.signals import post_delete
from django.test.utils import CaptureQueriesContext

from agentweb.aim import consumers, log, retention
from agentweb.aim.models import Agent, Contact, Event, LogHead, Message, UsedChallenge
from agentweb.aim.sweep import sweep
from agentweb.testing import clock
from agentweb.testing.clocks import Clock
from agentweb.wire.clock import now_datetime
from tests.aim.filling import agent, post

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0
DAY = 86_400
LIVE, EXPIRED, REMOVED = Message.State.LIVE, Message.State.EXPIRED, Message.State.REMOVED


@pytest.fixture(autouse=True)
def days(settings: Any) -> None:
    settings.AGENTWEB = {
        **settings.AGENTWEB,
        "EVENTS_DAYS": 30,
        "MESSAGES_DAYS": 90,
        "REQUESTS_DAYS": 14,
    }


@pytest.fixture
def time() -> Iterator[Clock]:
    with clock(NOON) as time:
        yield time


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "RANGE", 4)


def clear() -> dict[str, int]:
    counts = retention.clear_expired(now_datetime())
    return {what: count for what, count in counts.items() if count}


def pair(*, accepted: bool = True) -> tuple[Agent, Agent]:
    ann, bob = agent("ann"), agent("bob")
    if accepted:
        accept(ann, bob)
        accept(bob, ann)
    return ann, bob


def accept(owner: Agent, other: Agent) -> None:
    Contact.objects.create(owner=owner, other=other, state="accepted", changed_at=now_datetime())


def seqs() -> list[int]:
    return list(Event.objects.order_by("seq").values_list("seq", flat=True))


def states() -> list[str]:
    return list(Message.objects.order_by("pk").values_list("state", flat=True))


def test_an_empty_messenger_has_nothing_to_delete(time: Clock) -> None:
    assert clear() == {}


def test_events_go_after_their_days_and_not_before(time: Clock) -> None:
    ann, bob = pair()
    post(ann, bob)
    time.forward(DAY)
    post(ann, bob)
    time.forward(29 * DAY)
    assert clear() == {}
    time.forward(1)
    assert clear() == {"events": 2}
    assert (seqs(), log.ends().floor) == ([3, 4], 2)
    time.forward(DAY)
    assert clear() == {"events": 2}
    assert (seqs(), log.ends().floor, log.ends().last) == ([], 4, 4)
    [message] = post(ann, bob)
    assert message.seq == 6


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_any_number_of_ranges_is_deleted_up_to_the_first_young_event(
    time: Clock, small: None, count: int
) -> None:
    ann, bob = pair()
    post(ann, bob, count)
    time.forward(31 * DAY)
    post(ann, bob, 3)
    assert clear() == {"events": 2 * count}
    assert seqs() == list(range(2 * count + 1, 2 * count + 7))
    assert log.ends().floor == 2 * count


def test_an_old_event_behind_a_young_one_stays_so_that_there_is_no_hole(time: Clock) -> None:
    """A machine whose clock is behind wrote it."""
    ann, bob = pair()
    post(ann, bob)
    post(ann, bob, at=now_datetime() - timedelta(days=40))
    time.forward(20 * DAY)
    clear()
    assert seqs() == [1, 2, 3, 4]


def test_the_floor_is_committed_before_a_row_goes(time: Clock, small: None) -> None:
    ann, bob = pair()
    post(ann, bob, 5)
    time.forward(31 * DAY)
    with CaptureQueriesContext(connection) as captured:
        clear()
    sent = [query["sql"] for query in captured if "event" in query["sql"] or "loghead" in query["sql"]]
    steps = [
        (sql.split()[0], "head" if "loghead" in sql else "event")
        for sql in sent
        if not sql.startswith("SELECT")
    ]
    assert steps == [("UPDATE", "head"), ("DELETE", "event")] * 3


def test_keys_that_begin_far_up_cost_no_more_than_others(time: Clock, small: None) -> None:
    ann, bob = pair()
    [message] = post(ann, bob)
    Message.objects.filter(pk=message.pk).update(id=2_000_000_000)
    time.forward(91 * DAY)
    with CaptureQueriesContext(connection) as captured:
        clear()
    assert states() == [Message.State.EXPIRED]
    assert len(captured) < 60


def test_what_a_killed_retention_left_below_the_floor_goes_with_the_next(time: Clock, small: None) -> None:
    ann, bob = pair()
    post(ann, bob, 7)
    sweep()
    LogHead.objects.update(floor=11)
    assert clear() == {"events": 11}
    assert seqs() == [12, 13, 14]


def test_an_event_that_a_reader_of_the_log_has_not_seen_stays(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = pair()
    post(ann, bob, 2)
    time.forward(31 * DAY)
    monkeypatch.setattr(retention, "sweep", lambda *_: None)
    assert clear() == {}
    consumers.create(consumers.READERS)
    assert clear() == {}
    monkeypatch.undo()
    assert clear() == {"events": 4}


def test_no_signal_is_sent_for_what_goes(time: Clock) -> None:
    seen = []

    def look(instance: Any, **told: Any) -> None:
        seen.append(instance)

    ann, bob = pair()
    post(ann, bob)
    time.forward(181 * DAY)
    post_delete.connect(look)
    try:
        clear()
        time.forward(91 * DAY)
        clear()
    finally:
        post_delete.disconnect(look)
    assert (seqs(), states(), seen) == ([], [], [])


def test_messages_lose_their_envelope_after_their_days_and_their_row_as_long_after_that(time: Clock) -> None:
    ann, bob = pair()
    post(ann, bob)
    time.forward(90 * DAY)
    clear()
    assert states() == [LIVE]
    time.forward(1)
    assert clear() == {"messages": 1}
    row = Message.objects.get()
    assert (row.state, row.envelope, row.ended_at) == (EXPIRED, "", now_datetime())
    assert (row.digest, row.root) != ("", "")
    time.forward(90 * DAY)
    assert clear() == {}
    time.forward(1)
    assert clear() == {"emptied_messages": 1}
    assert states() == []


def test_a_message_of_which_an_event_tells_is_known(time: Clock, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "MESSAGES_DAYS": 1, "EVENTS_DAYS": 40}
    ann, bob = pair()
    time.forward(39 * DAY)
    post(ann, bob)
    time.forward(DAY + 1)
    assert clear() == {"messages": 1}
    time.forward(39 * DAY - 2)
    assert clear() == {}
    assert len(seqs()) >= 2
    assert states() == [EXPIRED]


def test_an_id_is_known_for_eight_days_however_short_messages_are_kept(time: Clock, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "MESSAGES_DAYS": 1, "EVENTS_DAYS": 1}
    ann, bob = pair()
    post(ann, bob)
    time.forward(DAY + 1)
    assert clear() == {"events": 2, "messages": 1}
    time.forward(8 * DAY)
    assert clear() == {}
    time.forward(1)
    assert clear() == {"emptied_messages": 1}


def test_what_strangers_wrote_goes_sooner_unless_it_was_accepted(time: Clock) -> None:
    ann, bob = pair(accepted=False)
    cat = agent("cat")
    accept(bob, cat)
    for sender in (ann, cat):
        post(sender, bob)
    post(ann, ann)
    time.forward(14 * DAY + 1)
    assert clear() == {"requests": 1}
    assert states() == [EXPIRED, LIVE, LIVE]
    time.forward(76 * DAY)
    assert clear() == {"events": 5, "messages": 2}


def test_that_the_sender_accepts_the_recipient_does_not_keep_a_request(time: Clock) -> None:
    ann, bob = pair(accepted=False)
    accept(ann, bob)
    Contact.objects.create(owner=bob, other=ann, state="blocked", changed_at=now_datetime())
    post(ann, bob)
    time.forward(14 * DAY + 1)
    assert clear() == {"requests": 1}


def test_a_request_that_was_accepted_in_time_stays_although_the_contact_is_removed_later(time: Clock) -> None:
    ann, bob = pair(accepted=False)
    post(ann, bob)
    accept(bob, ann)
    time.forward(14 * DAY + 1)
    clear()
    Contact.objects.all().delete()
    time.forward(DAY)
    clear()
    assert states() == [LIVE]


def test_each_message_is_looked_at_once_and_none_is_passed_over(time: Clock, small: None) -> None:
    ann, bob = pair(accepted=False)
    for _ in range(11):
        post(ann, bob)
        time.forward(DAY)
    for expected in range(11):
        time.forward(3 * DAY + 1 if expected == 0 else DAY)
        clear()
        assert states() == [EXPIRED] * (expected + 1) + [LIVE] * (10 - expected)
    with CaptureQueriesContext(connection) as captured:
        clear()
    assert not [query["sql"] for query in captured if query["sql"].startswith('UPDATE "agentweb_message"')]


def test_a_message_whose_transaction_was_under_way_is_not_passed_over(time: Clock) -> None:
    """Its key is lower than that of one that is there already."""
    ann, bob = pair(accepted=False)
    post(ann, bob)
    time.forward(14 * DAY + 1)
    rows = post(ann, bob, 3)
    late = rows[0]
    kept = {field.attname: getattr(late, field.attname) for field in Message._meta.concrete_fields}
    Message.objects.filter(pk=late.pk).delete()
    assert clear() == {"requests": 1}
    Message.objects.create(**kept)
    time.forward(14 * DAY + 1)
    assert clear()["requests"] == 3


def test_removed_messages_stay_as_long_as_they_would_have_lived(time: Clock) -> None:
    ann, bob = pair()
    post(ann, bob)
    time.forward(DAY)
    Message.objects.update(state=REMOVED, envelope="", ended_at=now_datetime())
    time.forward(90 * DAY)
    clear()
    assert states() == [REMOVED]
    time.forward(1)
    clear()
    assert states() == []


def test_used_challenges_go_an_hour_after_their_end(time: Clock) -> None:
    UsedChallenge.objects.create(digest="0" * 64, expires_at=now_datetime())
    time.forward(3_600)
    assert clear() == {}
    time.forward(1)
    assert clear() == {"used_challenges": 1}


def test_queries_do_not_grow_with_the_rows_of_a_range(time: Clock) -> None:
    ann, bob = pair(accepted=False)
    counts = []
    for many in (1, 1, 200):
        post(ann, bob, many)
        time.forward(95 * DAY)
        with CaptureQueriesContext(connection) as captured:
            clear()
        counts.append(len(captured))
    assert counts[1] == counts[2]
