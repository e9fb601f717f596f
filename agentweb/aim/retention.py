"""What of the messenger goes when its time is over (AIM section 7.3).

Each step is a short transaction of its own and holds what was done before when the next one fails. Nothing is deleted
by a query that could reach further than a few thousand rows, and no signal tells of it: a receiver of the site's, or a
row that points at a deleted one, would have each of them read first (RELIABILITY section 4).
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db.models import Exists, F, Max, Min, OuterRef, QuerySet

from agentweb import conf
from agentweb.access.database import write_patiently
from agentweb.access.rows import database, delete_in_batches
from agentweb.aim import consumers, log
from agentweb.aim.erasing import erase
from agentweb.aim.models import Contact, Event, LogConsumer, LogHead, Message, UsedChallenge
from agentweb.aim.sweep import sweep

RANGE: Final = 5_000
"""Rows that one transaction deletes or empties at most."""

_BATCH: Final = 1_000
_CHALLENGE_MARGIN: Final = timedelta(hours=1)
_ENVELOPE_WINDOW_DAYS: Final = 8
"""A day more than the age that an envelope may have when it is sent: its id is known for as long as it could come."""
_CATCH_UP_SECONDS: Final = 60.0

MESSAGES: Final = "messages"
REQUESTS: Final = "requests"


def clear_expired(at: datetime) -> dict[str, int]:
    """Delete events older than EVENTS_DAYS, empty messages older than MESSAGES_DAYS, and those of strangers that were
    not accepted when REQUESTS_DAYS were over, erase what went with deleted agents, forget emptied messages and used
    challenges; how many of each kind.

    Whatever the log says that is not done yet is done first: an event that somebody has not seen is not deleted.
    """
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    sweep(None, lambda: time.monotonic() > deadline)
    return {
        # First: it reads of deletions in the log, and so before their events go.
        "erased_messages": erase(at),
        "events": _delete_events(at),
        "messages": _empty(MESSAGES, at - _days("MESSAGES_DAYS"), Message.objects.all(), at),
        "requests": _empty(REQUESTS, at - _days("REQUESTS_DAYS"), _unanswered(), at),
        "emptied_messages": _forget_emptied(at),
        "used_challenges": delete_in_batches(
            UsedChallenge.objects.filter(expires_at__lt=at - _CHALLENGE_MARGIN)
        ),
    }


def _delete_events(at: datetime) -> int:
    """First the floor moves, which readers compare with after they have read, then the rows below it go: a reader in
    between is told that its place is gone, and never misses one row of a page."""
    before, seen = at - _days("EVENTS_DAYS"), min(consumers.positions().values())
    ends = log.ends()
    deleted = _delete_below(ends.floor)
    floor = ends.floor
    while floor < seen:
        top = min(floor + RANGE, seen)
        young = Event.objects.filter(seq__gt=floor, seq__lte=top, at__gte=before).aggregate(Min("seq"))
        first = young["seq__min"]
        target = top if first is None else first - 1
        if target > floor:
            _raise_floor(floor, target)
            deleted += _delete_through(target)
            floor = target
        if first is not None:
            break
    return deleted


def _raise_floor(before: int, to: int) -> None:
    head = LogHead.objects.filter(name=log.NAME, floor=before)
    write_patiently(lambda: head.update(floor=to))


def _delete_below(floor: int) -> int:
    """What a retention that was killed has left below the floor."""
    lowest = Event.objects.filter(seq__lte=floor).aggregate(Min("seq"))["seq__min"]
    if lowest is None:
        return 0
    tops = [*range(lowest + RANGE - 1, floor, RANGE), floor]
    return sum(map(_delete_through, tops))


def _delete_through(position: int) -> int:
    return write_patiently(partial(_delete_raw, Event.objects.filter(seq__lte=position)))


def _delete_raw(rows: QuerySet[Any]) -> int:
    """One statement, whatever listens to the model's signals."""
    return int(rows._raw_delete(using=database()))


def _empty(name: str, before: datetime, rows: QuerySet[Message], at: datetime) -> int:
    """Take the envelopes away of the messages of ``rows`` that were accepted before.

    Each message is looked at once, when it becomes so old: in the order of the keys, from where the last time ended.
    """
    row = LogConsumer.objects.filter(name=name)
    consumers.hear([name], None)
    position = consumers.positions([name])[name]
    end = Message.objects.aggregate(Max("pk"))["pk__max"] or 0
    emptied = 0
    while position < end:
        # Keys begin anywhere and have gaps, where there is nothing to look at.
        first = Message.objects.filter(pk__gt=position).aggregate(Min("pk"))["pk__min"] or end
        top = min(first - 1 + RANGE, end)
        reached = Message.objects.filter(pk__gte=first, pk__lte=top)
        young = reached.filter(accepted_at__gte=before).aggregate(Min("pk"))["pk__min"]
        # Up to the last one that is there: one of a transaction that is still under way may be about to come.
        target = (
            top if young is None else reached.filter(pk__lt=young).aggregate(Max("pk"))["pk__max"] or position
        )
        due = rows.filter(pk__gt=position, pk__lte=target, state=Message.State.LIVE)
        if target > position:
            expired = partial(due.update, state=Message.State.EXPIRED, envelope="", ended_at=at)
            emptied += write_patiently(expired)
            write_patiently(partial(row.filter(position__lt=target).update, position=target))
            position = target
        if young is not None:
            break
    return emptied


def _unanswered() -> QuerySet[Message]:
    """Messages from others than who accepts them now."""
    accepted = Contact.objects.filter(
        owner_id=OuterRef("recipient_id"), other_id=OuterRef("sender_id"), state=Contact.State.ACCEPTED
    )
    return Message.objects.filter(~Exists(accepted), recipient__isnull=False).exclude(
        sender_id=F("recipient_id")
    )


def _forget_emptied(at: datetime) -> int:
    """Delete what is left of messages once their ids cannot come again: the stubs by which a repeated envelope is known
    and replies find their root. Not those of which a reader of the log has not heard yet, nor those of which an event
    tells."""
    days = max(conf.get("MESSAGES_DAYS"), conf.get("EVENTS_DAYS"), _ENVELOPE_WINDOW_DAYS)
    known = timedelta(days=days)
    seen = min(consumers.positions().values())
    rows = Message.objects.filter(ended_at__lt=at - known, seq__lte=seen).exclude(state=Message.State.LIVE)
    deleted = 0
    while found := list(rows.values_list("pk", flat=True)[:_BATCH]):
        deleted += write_patiently(partial(_delete_raw, Message.objects.filter(pk__in=found)))
        if len(found) < _BATCH:
            break
    return deleted


def _days(setting: str) -> timedelta:
    return timedelta(days=conf.get(setting))
