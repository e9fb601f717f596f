"""The signal ``message_accepted``, once for each accepted message, at least.

First the receivers run, then the position moves, and only if it is still where it was. A worker that is killed in
between leaves the position, and whoever comes next tells the receivers again: twice, but never not at all. A lease
keeps two workers from telling the same; one that was killed keeps the others out for ``consumers.LEASE_SECONDS``.

A receiver that raises is logged and not told again. Receivers run one after the other in the worker, so a slow one
holds up those of later messages, and no message.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from agentweb import signals
from agentweb.aim import consumers, cursors, log, site
from agentweb.aim.models import Event, Message
from agentweb.aim.pump import BATCH, MESSAGE_TYPES
from agentweb.aim.records import address_of

logger = logging.getLogger("agentweb.aim")

_SAVE_SECONDS: Final = 0.5
"""How long receivers are told before the position is moved: so much is told again after a kill."""


def announce(stopping: Callable[[], bool]) -> int:
    """Send the signal for what was accepted since the last time, until the end of the log or until ``stopping``; how
    many were sent. 0 while another worker does it."""
    token = consumers.lease(consumers.TOLD)
    if token is None:
        return 0
    try:
        return _announce(token, stopping)
    finally:
        consumers.release(consumers.TOLD, token)


def _announce(token: str, stopping: Callable[[], bool]) -> int:
    sent, position = 0, consumers.positions([consumers.TOLD])[consumers.TOLD]
    while not stopping():
        ends = log.ends()
        if not signals.message_accepted.receivers:
            # Nobody listens: what is accepted from now on is for those who listen then.
            consumers.move(consumers.TOLD, token, before=position, now=ends.last)
            break
        events = list(Event.objects.filter(seq__gt=position).order_by("seq")[:BATCH])
        if not events:
            break
        messages = _messages_of(events)
        until, saved_at = position, time.monotonic()
        for event in events:
            message = messages.get(event.message_key) if event.type in MESSAGE_TYPES else None
            if message is not None and event.stream == log.stream_of(message.recipient_id or 0):
                _tell(message, cursors.event_cursor(ends.epoch, event.seq))
                sent += 1
            until = event.seq
            if stopping() or time.monotonic() - saved_at > _SAVE_SECONDS:
                break
        if not consumers.move(consumers.TOLD, token, before=position, now=until):
            break
        position = until
    return sent


def _messages_of(events: Sequence[Event]) -> dict[int | None, Message]:
    keys = {event.message_key or 0 for event in events if event.type in MESSAGE_TYPES}
    rows = Message.objects.filter(pk__in=keys).select_related("sender", "recipient").defer("envelope")
    return {row.pk: row for row in rows}


def _tell(message: Message, cursor: str) -> None:
    here = site.authority()
    answers: Sequence[tuple[Any, Any]] = signals.message_accepted.send_robust(
        sender=address_of(message.sender.name, here),
        recipient=address_of(message.recipient.name, here) if message.recipient else "",
        message_id=message.message_id,
        cursor=cursor,
    )
    for receiver, answer in answers:
        if isinstance(answer, Exception):
            logger.error(
                "%r failed for message %r, and is not told of it again: %r",
                receiver,
                message.message_id,
                answer,
            )
