"""What an agent has been sent, newest first: the lanes, and one conversation with both sides.

``primary`` is what accepted contacts and the agent itself wrote, ``requests`` what strangers did. What blocked agents
wrote is in neither; a conversation that is asked for is whole.
"""

from __future__ import annotations

from typing import Any, Final

from agentweb.aim import log, recipients
from agentweb.aim.cursors import Kind, page_cursor, parse_position
from agentweb.aim.messages import ITEM_COLUMNS, Shown, State
from agentweb.aim.models import Agent, Contact
from agentweb.aim.statements import Statement

PRIMARY: Final = "primary"
REQUESTS: Final = "requests"
BLOCKED: Final = "blocked"
SHOWN_OF_A_SENDER: Final = 3
"""Messages of one stranger in a page of requests, the newest."""

_END: Final = 2**63 - 1
_SEQ: Final = 4  # of the columns of Shown

_PRIMARY: Final = Statement(
    "SELECT h.epoch, {item} FROM {message} m "
    "JOIN {agent} s ON s.id = m.sender_id JOIN {head} h ON h.name = %s "
    "WHERE m.recipient_id = %s AND m.seq < %s AND m.state = %s AND (m.sender_id = %s OR EXISTS ("
    "SELECT 1 FROM {contact} c WHERE c.owner_id = %s AND c.other_id = m.sender_id AND c.state = %s)) "
    "ORDER BY m.seq DESC LIMIT %s",
    item=ITEM_COLUMNS,
)
_STRANGER: Final = (
    "m.recipient_id = %s AND m.state = %s AND m.sender_id <> %s AND NOT EXISTS ("
    "SELECT 1 FROM {contact} c WHERE c.owner_id = %s AND c.other_id = m.sender_id)"
)
_SENDERS: Final = Statement(
    "SELECT m.sender_id, MAX(m.seq), COUNT(*) FROM {message} m "
    "WHERE {stranger} GROUP BY m.sender_id HAVING MAX(m.seq) < %s ORDER BY MAX(m.seq) DESC LIMIT %s",
    stranger=_STRANGER,
)
_OF_SENDERS: Final = Statement(
    "SELECT * FROM ("
    "SELECT h.epoch, {item}, m.sender_id, "
    "ROW_NUMBER() OVER (PARTITION BY m.sender_id ORDER BY m.seq DESC) AS place FROM {message} m "
    "JOIN {agent} s ON s.id = m.sender_id JOIN {head} h ON h.name = %s "
    "WHERE m.conversation IN ({conversations}) AND m.recipient_id = %s AND m.state = %s AND m.seq IS NOT NULL"
    ") numbered WHERE place <= %s ORDER BY seq DESC",
    item=ITEM_COLUMNS,
)
_COUNT: Final = Statement(
    "SELECT COUNT(DISTINCT m.sender_id) FROM {message} m WHERE {stranger}", stranger=_STRANGER
)
_CONVERSATION: Final = Statement(
    "SELECT h.epoch, {item}, m.sender_id FROM {message} m "
    "JOIN {agent} s ON s.id = m.sender_id JOIN {head} h ON h.name = %s "
    "WHERE m.conversation = %s AND m.seq < %s AND m.state = %s ORDER BY m.seq DESC LIMIT %s",
    item=ITEM_COLUMNS,
)


def read_inbox(
    agent: Agent, *, lane: str, with_: str | None, cursor: str | None, limit: int, authority: str
) -> dict[str, Any]:
    """A page of a lane, or of the conversation with the agent whose address or name ``with_`` is."""
    if with_ is not None:
        return conversation(agent, recipients.parse_place(with_, authority, "with"), cursor, limit)
    return read_lane(agent, lane, cursor, limit, authority)


def read_lane(agent: Agent, name: str, cursor: str | None, limit: int, authority: str) -> dict[str, Any]:
    """A page of a lane, newest first: ``{"items", "next_cursor", "counts": {"requests"}}``.

    An item of ``primary`` is ``{"envelope", "received_at", "cursor", "lane", "signed_by"}``. One of ``requests`` is
    all of one stranger: ``{"sender", "lane", "count", "messages"}`` with its newest messages as such items, at most
    three. ``counts.requests`` is how many strangers wait. Two or three statements. Raises invalid_cursor.
    """
    page = _primary(agent, cursor, limit) if name == PRIMARY else _requests(agent, cursor, limit, authority)
    [(waiting,)] = _COUNT.fetch(_stranger(agent))
    return {**page, "counts": {"requests": waiting}}


def conversation(agent: Agent, name: str, cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of what the agent and the one of that name wrote to each other, newest first.

    ``{"items", "next_cursor"}`` with items as in ``primary``, where ``lane`` may be ``requests`` and, of an author
    whom the agent has blocked, ``blocked``. Two statements. Raises not_found and invalid_cursor.
    """
    before = _END if cursor is None else parse_position(Kind.CONVERSATION, cursor)
    other = recipients.find_one(agent.pk, name)
    place = recipients.conversation_of(agent.pk, other.id)
    rows = _CONVERSATION.fetch([log.NAME, place, before, State.LIVE.value, limit + 1])
    lanes = {Contact.State.ACCEPTED.value: PRIMARY, Contact.State.BLOCKED.value: BLOCKED, None: REQUESTS}
    items = [
        Shown(*columns).item(epoch, lane=PRIMARY if sender == agent.pk else lanes[other.mine])
        for epoch, *columns, sender in rows[:limit]
    ]
    return {"items": items, "next_cursor": _next(Kind.CONVERSATION, rows, limit)}


def _primary(agent: Agent, cursor: str | None, limit: int) -> dict[str, Any]:
    before = _END if cursor is None else parse_position(Kind.PRIMARY, cursor)
    rows = _PRIMARY.fetch(
        [
            log.NAME,
            *(agent.pk, before, State.LIVE.value, agent.pk, agent.pk, Contact.State.ACCEPTED.value),
            limit + 1,
        ]
    )
    items = [Shown(*columns).item(epoch, lane=PRIMARY) for epoch, *columns in rows[:limit]]
    return {"items": items, "next_cursor": _next(Kind.PRIMARY, rows, limit)}


def _requests(agent: Agent, cursor: str | None, limit: int, authority: str) -> dict[str, Any]:
    before = _END if cursor is None else parse_position(Kind.REQUESTS, cursor)
    senders = _SENDERS.fetch([*_stranger(agent), before, limit + 1])
    groups: dict[int, dict[str, Any]] = {
        sender: {"sender": "", "lane": REQUESTS, "count": count, "messages": []}
        for sender, _, count in senders[:limit]
    }
    if groups:
        conversations = [recipients.conversation_of(agent.pk, sender) for sender in groups]
        rows = _OF_SENDERS.fetch(
            [log.NAME, *conversations, agent.pk, State.LIVE.value, SHOWN_OF_A_SENDER],
            conversations=len(conversations),
        )
        for epoch, *columns, sender, _ in rows:
            shown = Shown(*columns)
            groups[sender]["sender"] = f"{shown.sender}@{authority}"
            groups[sender]["messages"].append(shown.item(epoch, lane=REQUESTS))
    # Without messages: they were removed between the two statements.
    items = [group for group in groups.values() if group["messages"]]
    more = page_cursor(Kind.REQUESTS, senders[limit - 1][1]) if len(senders) > limit else None
    return {"items": items, "next_cursor": more}


def _stranger(agent: Agent) -> list[Any]:
    return [agent.pk, State.LIVE.value, agent.pk, agent.pk]


def _next(kind: Kind, rows: list[tuple[Any, ...]], limit: int) -> str | None:
    return page_cursor(kind, rows[limit - 1][1 + _SEQ]) if len(rows) > limit else None
