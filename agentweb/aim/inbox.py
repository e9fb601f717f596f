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
COUNTED_OF_A_SENDER: Final = 100
"""A stranger who was a contact once may have sent any number; more are not counted."""

_END: Final = 2**63 - 1
_SEQ: Final = 4  # of the columns of Shown

# The rows of a page are chosen from one table in the order of an index, with subqueries for what depends on others, and
# joined afterwards: a planner that joins first may read and sort everything that there is before it cuts off a page.
_SHOWN: Final = (
    "SELECT h.epoch, {item}, m.sender_id FROM ({chosen}) m "
    "JOIN {agent} s ON s.id = m.sender_id JOIN {head} h ON h.name = %s ORDER BY m.seq DESC"
)
_PRIMARY: Final = Statement(
    _SHOWN,
    item=ITEM_COLUMNS,
    chosen="SELECT * FROM {message} WHERE recipient_id = %s AND seq < %s AND state = %s AND (sender_id = %s OR "
    "(SELECT c.state FROM {contact} c WHERE c.owner_id = %s AND c.other_id = {message}.sender_id) = %s) "
    "ORDER BY seq DESC LIMIT %s",
)
_CONVERSATION: Final = Statement(
    _SHOWN,
    item=ITEM_COLUMNS,
    chosen="SELECT * FROM {message} WHERE conversation = %s AND seq < %s AND state = %s ORDER BY seq DESC LIMIT %s",
)
# Who has written to the agent, by leaps through the index from one sender to the next, whatever each has written.
_STRANGERS: Final = (
    "WITH RECURSIVE senders(id) AS (SELECT MIN(sender_id) FROM {message} WHERE recipient_id = %s UNION ALL "
    "SELECT (SELECT MIN(m.sender_id) FROM {message} m WHERE m.recipient_id = %s AND m.sender_id > senders.id) "
    "FROM senders WHERE senders.id IS NOT NULL), "
    "newest(id, seq) AS (SELECT id, (SELECT m.seq FROM {message} m WHERE m.recipient_id = %s "
    "AND m.sender_id = senders.id AND m.state = %s AND m.seq IS NOT NULL ORDER BY m.seq DESC LIMIT 1) FROM senders "
    "WHERE id <> %s AND NOT EXISTS "
    "(SELECT 1 FROM {contact} c WHERE c.owner_id = %s AND c.other_id = senders.id)) "
)
_OF_SENDER: Final = "FROM {message} m WHERE m.recipient_id = %s AND m.sender_id = newest.id AND m.state = %s"
_SENDERS: Final = Statement(
    "{strangers}SELECT id, "
    "(SELECT COUNT(*) FROM (SELECT 1 AS one {of_sender} ORDER BY m.seq DESC LIMIT {counted}) few), "
    "newest.seq{older} FROM newest WHERE newest.seq < %s ORDER BY newest.seq DESC LIMIT %s",
    of_sender=_OF_SENDER,
    counted=str(COUNTED_OF_A_SENDER),
    older="".join(
        f", (SELECT m.seq {_OF_SENDER} AND m.seq IS NOT NULL ORDER BY m.seq DESC LIMIT 1 OFFSET {place})"
        for place in range(1, SHOWN_OF_A_SENDER)
    ),
    strangers=_STRANGERS,
)
_COUNT: Final = Statement(
    "{strangers}SELECT COUNT(*) FROM newest WHERE seq IS NOT NULL", strangers=_STRANGERS
)
_PLACED: Final = Statement(
    _SHOWN,
    item=ITEM_COLUMNS,
    chosen="SELECT * FROM {message} WHERE recipient_id = %s AND seq IN ({places}) AND state = %s",
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
    [(waiting,)] = _COUNT.fetch(_strangers(agent))
    return {**page, "counts": {"requests": waiting}}


def conversation(agent: Agent, name: str, cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of what the agent and the one of that name wrote to each other, newest first.

    ``{"items", "next_cursor"}`` with items as in ``primary``, where ``lane`` may be ``requests`` and, of an author
    whom the agent has blocked, ``blocked``. Two statements. Raises not_found and invalid_cursor.
    """
    before = _END if cursor is None else parse_position(Kind.CONVERSATION, cursor)
    other = recipients.find_one(agent.pk, name)
    place = recipients.conversation_of(agent.pk, other.id)
    rows = _CONVERSATION.fetch([place, before, State.LIVE.value, limit + 1, log.NAME])
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
            *(agent.pk, before, State.LIVE.value, agent.pk, agent.pk, Contact.State.ACCEPTED.value),
            *(limit + 1, log.NAME),
        ]
    )
    items = [Shown(*columns).item(epoch, lane=PRIMARY) for epoch, *columns, _ in rows[:limit]]
    return {"items": items, "next_cursor": _next(Kind.PRIMARY, rows, limit)}


def _requests(agent: Agent, cursor: str | None, limit: int, authority: str) -> dict[str, Any]:
    before = _END if cursor is None else parse_position(Kind.REQUESTS, cursor)
    of_sender = (agent.pk, State.LIVE.value)
    senders = _SENDERS.fetch([*_strangers(agent), *of_sender * SHOWN_OF_A_SENDER, before, limit + 1])
    groups: dict[int, dict[str, Any]] = {
        sender: {"sender": "", "lane": REQUESTS, "count": count, "messages": []}
        for sender, count, *_ in senders[:limit]
    }
    places = [place for _, _, *found in senders[:limit] for place in found if place is not None]
    if places:
        rows = _PLACED.fetch([agent.pk, *places, State.LIVE.value, log.NAME], places=len(places))
        for epoch, *columns, sender in rows:
            shown = Shown(*columns)
            groups[sender]["sender"] = f"{shown.sender}@{authority}"
            groups[sender]["messages"].append(shown.item(epoch, lane=REQUESTS))
    # Without messages: they were removed between the two statements.
    items = [group for group in groups.values() if group["messages"]]
    more = page_cursor(Kind.REQUESTS, senders[limit - 1][2]) if len(senders) > limit else None
    return {"items": items, "next_cursor": more}


def _strangers(agent: Agent) -> list[Any]:
    return [agent.pk, agent.pk, agent.pk, State.LIVE.value, agent.pk, agent.pk]


def _next(kind: Kind, rows: list[tuple[Any, ...]], limit: int) -> str | None:
    return page_cursor(kind, rows[limit - 1][1 + _SEQ]) if len(rows) > limit else None
