"""The pump: what follows from the events of the log inside the database, exactly once.

One transaction for a batch: it begins with an UPDATE of the pump's own row, so on both engines one pump works at a
time; it reads what comes after the row's position, writes the effects, and moves the position. A worker that is killed
has done all of a batch or nothing of it, and whoever comes next goes on there. No task carries work: a task that is
lost, late or run twice changes nothing of what is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from django.db.models import Case, F, Value, When

from agentweb.access.database import begun, patiently
from agentweb.access.rows import update
from agentweb.aim import consumers, log
from agentweb.aim.models import Account, Event, LogConsumer, Message
from agentweb.wire.clock import now_datetime

BATCH: Final = 500
MESSAGE_TYPES: Final = (log.MESSAGE, log.REQUEST)
"""Types of the events that say that a message was accepted, one for each party."""


def pump() -> int:
    """Count the messages of the next batch on the accounts of their recipients; how many events were read.

    Fewer than ``BATCH`` means that the end of the log was reached.
    """
    return patiently(_one_batch)


def _one_batch() -> int:
    with begun(_take_turn):
        position = LogConsumer.objects.values_list("position", flat=True).get(pk=consumers.RECEIVED)
        events = list(
            Event.objects.filter(seq__gt=position)
            .order_by("seq")
            .values_list("seq", "stream", "type", "message_key")[:BATCH]
        )
        if events:
            accepted = [(key or 0, stream) for _seq, stream, kind, key in events if kind in MESSAGE_TYPES]
            recipients = dict(
                Message.objects.filter(pk__in={key for key, _stream in accepted}).values_list(
                    "pk", "recipient_id"
                )
            )
            # The sender has an event of its own for the same message.
            came_for = (
                recipients.get(key) for key, stream in accepted if _is_for(recipients.get(key), stream)
            )
            _count(Counter(came_for))
            LogConsumer.objects.filter(pk=consumers.RECEIVED).update(position=events[-1][0])
    return len(events)


def _is_for(recipient: int | None, stream: str) -> bool:
    return recipient is not None and stream == log.stream_of(recipient)


def _take_turn() -> None:
    values, where = {"heard_at": now_datetime()}, {"name": consumers.RECEIVED}
    if not update(LogConsumer, values, where):
        consumers.create([consumers.RECEIVED])
        update(LogConsumer, values, where)


def _count(received: Mapping[int | None, int]) -> None:
    """Last, since senders wait for the rows of their accounts until the transaction ends."""
    if received:
        more = Case(*(When(pk=agent, then=Value(count)) for agent, count in received.items()))
        Account.objects.filter(pk__in=received).update(received=F("received") + more)
