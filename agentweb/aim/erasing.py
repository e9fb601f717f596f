"""What goes with an agent that was deleted: what nobody can read any more (AIM section 7.3).

A message is one row for both of its agents. So what a deleted agent wrote to others, or they to it, stays for the other
one as long as any message; it is erased once both are deleted, and so are notes that an agent wrote to itself. Of the
deleted agent's own events goes what they say of its contacts.

Deletions are read from the log, in its order, each once; a step that is killed is done again from its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db.models import QuerySet

from agentweb.access.database import write_patiently
from agentweb.aim import consumers, log
from agentweb.aim.models import Agent, Event, LogConsumer, Message

ERASED: Final = "erased"
"""The row that says up to which deletion the log was read."""

BATCH: Final = 500
"""Rows that are read, and erased by one transaction, at most."""
_SETTLED: Final = timedelta(minutes=1)
"""By then every transaction that began before the deletion, and that may have written for the agent, has ended."""


def erase(at: datetime) -> int:
    """Erase what nobody can read any more since an agent was deleted; how many messages."""
    row = LogConsumer.objects.filter(name=ERASED)
    consumers.hear([ERASED], None)
    position = consumers.positions([ERASED])[ERASED]
    erased = 0
    deletions = Event.objects.filter(stream=log.AGENTS, type=log.AGENT_DELETED)
    for seq, agent, deleted_at in _walked(deletions, "seq", position, "message_key", "at"):
        if deleted_at > at - _SETTLED:
            break
        erased += _erase(agent, at)
        write_patiently(partial(row.filter(position__lt=seq).update, position=seq))
    return erased


def _erase(agent: int, at: datetime) -> int:
    # Each in the order of an index that begins with the agent.
    sent = _walked(Message.objects.filter(sender=agent), "message_id", "", "pk", "state", "recipient__status")
    received = _walked(Message.objects.filter(recipient=agent), "seq", 0, "pk", "state", "sender__status")
    erased = 0
    for rows in (sent, received):
        due = (
            pk
            for _, pk, state, other in rows
            if state == Message.State.LIVE and other == Agent.Status.DELETED
        )
        for keys in _batches(due):
            found = Message.objects.filter(pk__in=keys, state=Message.State.LIVE)
            gone = partial(found.update, state=Message.State.ERASED, envelope="", ended_at=at)
            erased += write_patiently(gone)
    told = _walked(Event.objects.filter(stream=log.stream_of(agent)), "seq", 0, "data")
    for places in _batches(seq for seq, data in told if data):
        write_patiently(partial(Event.objects.filter(seq__in=places).update, data=""))
    return erased


def _walked(rows: QuerySet[Any], along: str, after: Any, *columns: str) -> Iterator[tuple[Any, ...]]:
    """``along`` and the columns of all rows after that place, in its order, read in batches."""
    ordered = rows.order_by(along).values_list(along, *columns)
    while found := list(ordered.filter(**{f"{along}__gt": after})[:BATCH]):
        yield from found
        after = found[-1][0]
        if len(found) < BATCH:
            break


def _batches(keys: Iterator[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    for key in keys:
        batch.append(key)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
