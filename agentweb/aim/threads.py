"""Threads: every message has the root of its thread, so nobody ever walks from reply to reply.

A reply names a message that was accepted before, and ids never change hands: there are no circles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentweb.aim import log, recipients, statements
from agentweb.aim.cursors import Kind, event_cursor, page_cursor, parse_position
from agentweb.aim.messages import ITEM_COLUMNS, Shown
from agentweb.aim.models import Agent, Message
from agentweb.aim.statements import Statement
from agentweb.wire.aim.envelope import ID, Envelope
from agentweb.wire.errors import AgentError, Code, RequestError


def root_of(envelope: Envelope, found: Mapping[str, tuple[str, str]]) -> str:
    """The id of the message that began the thread to which this one belongs.

    ``found`` has (root, state) of the messages of the conversation that the envelope refers to, by id. Raises
    unknown_reply_target, reply_target_expired, thread_mismatch.
    """
    if envelope.reply_to is not None:
        parent = found.get(envelope.reply_to)
        if parent is None:
            raise RequestError(
                Code.UNKNOWN_REPLY_TARGET,
                "reply_to names no accepted message of this conversation.",
                field="reply_to",
            )
        root, state = parent
        if state == Message.State.EXPIRED:
            raise RequestError(
                Code.REPLY_TARGET_EXPIRED,
                "reply_to names a message that is no longer kept; write a new one.",
                field="reply_to",
            )
        if envelope.thread_id not in {None, root}:
            raise RequestError(
                Code.THREAD_MISMATCH,
                "thread_id must be that of the message in reply_to: details.thread_id.",
                field="thread_id",
                details={"thread_id": root},
            )
        return root
    if envelope.thread_id in {None, envelope.id}:
        return envelope.id
    named = found.get(envelope.thread_id)
    if named is None or named[0] != envelope.thread_id:
        raise RequestError(
            Code.THREAD_MISMATCH,
            "thread_id is neither the first message of a thread of this conversation nor the own id.",
            field="thread_id",
        )
    return envelope.thread_id


_LIST: Final = Statement(
    "SELECT h.epoch, {item} FROM {message} m "
    "JOIN {agent} s ON s.id = m.sender_id JOIN {head} h ON h.name = %s "
    "WHERE m.conversation = %s AND m.root = %s AND m.seq > %s ORDER BY m.seq LIMIT %s",
    item=ITEM_COLUMNS,
)


def thread(
    agent: Agent, root: str, place: str, authority: str, cursor: str | None, limit: int
) -> dict[str, Any]:
    """A page of a thread of the conversation with the agent whose address ``place`` is, from its root on.

    ``{"items": [{"envelope", "received_at", "cursor", "signed_by"}], "next_cursor"}``; for a message that is gone an
    item has ``tombstone`` in place of ``envelope``. Two statements. Raises invalid_cursor and what ``messages.find``
    raises; not_found also where ``root`` began no thread.
    """
    after = 0 if cursor is None else parse_position(Kind.THREAD, cursor)
    name = recipients.parse_place(place, authority, "in")
    parties = recipients.find(agent.pk, [name] if ID.fullmatch(root) else [])
    found = [
        row
        for party in parties.values()
        for row in _LIST.fetch(
            [log.NAME, recipients.conversation_of(agent.pk, party.id), root, after, limit + 1]
        )
    ]
    if not found and cursor is None:
        raise AgentError(Code.NOT_FOUND, "In this conversation no thread begins with such a message.")
    items = [_item(Shown(*row[1:]), row[0], authority) for row in found[:limit]]
    more = page_cursor(Kind.THREAD, found[limit - 1][5]) if len(found) > limit else None
    return {"items": items, "next_cursor": more}


def _item(shown: Shown, epoch: str, authority: str) -> dict[str, Any]:
    if shown.is_live:
        return shown.item(epoch)
    return {
        "tombstone": shown.tombstone(authority),
        "received_at": statements.write_instant(statements.read_instant(shown.accepted_at)),
        "cursor": event_cursor(epoch, shown.seq),
        "signed_by": shown.signed_by or None,
    }
