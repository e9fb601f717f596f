"""What an agent has been sent, newest first: the lanes, and one conversation with both sides.

``primary`` is what accepted contacts and the agent itself wrote, ``requests`` what strangers did. What blocked agents
wrote is in neither; a conversation that is asked for is whole.

However much has been sent to an agent, a page looks at a bounded number of rows, so it may hold few items or none and
yet have a ``next_cursor``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agentweb.aim import log, recipients
from agentweb.aim.cursors import Kind, page_cursor, parse_position
from agentweb.aim.messages import ITEM_COLUMNS, Shown, State
from agentweb.aim.models import Agent, Contact
from agentweb.aim.statements import Statement

PRIMARY: Final = "primary"
REQUESTS: Final = "requests"
BLOCKED: Final = "blocked"
LOOKED_AT: Final = 1_000
"""Messages that a page of a lane looks at, shown or not."""
SENDERS_LOOKED_AT: Final = 200
"""Agents who wrote to this one that are looked at one by one. Where there are more, strangers are looked for among so
many messages as a page of a lane looks at."""
LOOKED_AT_OF_A_SENDER: Final = 25
"""The newest messages of one stranger that are looked at, and so the most that ``count`` says."""
SHOWN_OF_A_SENDER: Final = 3
"""Messages of one stranger in a page of requests, the newest."""

_END: Final = 2**63 - 1
_SEQ: Final = 4  # of the columns of Shown

# The rows of a page are chosen from one table in the order of an index, with subqueries for what depends on others, and
# joined afterwards: a planner that joins first may read and sort everything that there is before it cuts off a page.
# The edge is the first row that a page does not look at any more: found in the index alone.
_PAGE: Final = (
    "WITH edge(place) AS (SELECT (SELECT e.seq FROM {message} e WHERE e.{of} = %s AND e.seq < %s ORDER BY e.seq DESC "
    "LIMIT 1 OFFSET {looked_at})) "
    "SELECT h.epoch, (SELECT place FROM edge), {item}, m.sender_id FROM {head} h "
    "LEFT JOIN (SELECT * FROM {message} WHERE {of} = %s AND seq < %s "
    "AND seq > (SELECT COALESCE(place, -1) FROM edge) AND state = %s{only} ORDER BY seq DESC LIMIT %s) m ON 1 = 1 "
    "LEFT JOIN {agent} s ON s.id = m.sender_id WHERE h.name = %s ORDER BY m.seq DESC"
)
_PRIMARY: Final = Statement(
    _PAGE,
    item=ITEM_COLUMNS,
    looked_at=str(LOOKED_AT),
    of="recipient_id",
    only=" AND (sender_id = %s OR "
    "(SELECT c.state FROM {contact} c WHERE c.owner_id = %s AND c.other_id = {message}.sender_id) = %s)",
)
_CONVERSATION: Final = Statement(
    _PAGE, item=ITEM_COLUMNS, looked_at=str(LOOKED_AT), of="conversation", only=""
)
# Who has written to the agent, by leaps through the index from one sender to the next, whatever each has written. Where
# that is too many, who is the sender of one of the newest messages; where it is not, the range of those is empty, for
# SQLite would read each row before it asks whether any is wanted. Each stands at the place of its newest message.
_STRANGERS: Final[dict[str, str]] = {
    "looked_at": str(LOOKED_AT),
    "looked_at_of_a_sender": str(LOOKED_AT_OF_A_SENDER),
    "senders_looked_at": str(SENDERS_LOOKED_AT),
    "newest": "SELECT MAX(n.seq) FROM {message} n WHERE n.recipient_id = %s AND n.sender_id",
    "strangers": "WITH RECURSIVE senders(id, number) AS ("
    "SELECT (SELECT MAX(m.sender_id) FROM {message} m WHERE m.recipient_id = %s), 1 UNION ALL "
    "SELECT (SELECT MAX(m.sender_id) FROM {message} m WHERE m.recipient_id = %s AND m.sender_id < senders.id), "
    "number + 1 FROM senders WHERE senders.id IS NOT NULL AND number <= {senders_looked_at}), "
    "many(number) AS (SELECT COUNT(id) FROM senders WHERE number > {senders_looked_at}), "
    "edge(place) AS (SELECT CASE WHEN (SELECT number FROM many) > 0 THEN (SELECT e.seq FROM {message} e "
    "WHERE e.recipient_id = %s AND e.seq < %s ORDER BY e.seq DESC LIMIT 1 OFFSET {looked_at}) END), "
    "authors(id, place) AS ("
    "SELECT id, ({newest} = senders.id) FROM senders "
    "WHERE (SELECT number FROM many) = 0 AND id IS NOT NULL UNION ALL "
    "SELECT w.sender_id, w.seq FROM {message} w WHERE w.recipient_id = %s "
    "AND w.seq < (SELECT CASE WHEN number > 0 THEN %s ELSE 0 END FROM many) "
    "AND w.seq > (SELECT COALESCE(place, -1) FROM edge) AND w.seq = ({newest} = w.sender_id)), "
    "strangers(id, place) AS (SELECT id, place FROM authors WHERE place < %s AND id <> %s AND NOT EXISTS "
    "(SELECT 1 FROM {contact} c WHERE c.owner_id = %s AND c.other_id = authors.id) AND EXISTS (SELECT 1 FROM "
    "(SELECT m.state FROM {message} m WHERE m.recipient_id = %s AND m.sender_id = authors.id AND m.seq IS NOT NULL "
    "ORDER BY m.seq DESC LIMIT {looked_at_of_a_sender}) few WHERE few.state = %s)) ",
}
_COUNT: Final = Statement("{strangers}SELECT COUNT(*) FROM strangers", **_STRANGERS)
_SENDERS: Final = Statement(
    "{strangers}SELECT p.id, (SELECT place FROM edge), p.place, (SELECT COUNT(*) FROM {few}){shown} "
    "FROM (SELECT 1 AS one) o LEFT JOIN (SELECT id, place FROM strangers ORDER BY place DESC LIMIT %s) p ON 1 = 1 "
    "ORDER BY p.place DESC",
    **_STRANGERS,
    few="(SELECT m.seq, m.state FROM {message} m WHERE m.recipient_id = %s AND m.sender_id = p.id "
    "AND m.seq IS NOT NULL ORDER BY m.seq DESC LIMIT {looked_at_of_a_sender}) few WHERE few.state = %s",
    nth="SELECT few.seq FROM {few} ORDER BY few.seq DESC LIMIT 1 OFFSET",
    shown="".join(f", ({{nth}} {place})" for place in range(SHOWN_OF_A_SENDER)),
)
_PLACED: Final = Statement(
    "SELECT h.epoch, {item}, m.sender_id FROM "
    "(SELECT * FROM {message} WHERE recipient_id = %s AND seq IN ({places}) AND state = %s) m "
    "JOIN {agent} s ON s.id = m.sender_id JOIN {head} h ON h.name = %s ORDER BY m.seq DESC",
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
    three, of ``count`` (25 at most). Two or three statements. Raises invalid_cursor.

    ``counts.requests`` is how many strangers wait. Of an agent to whom more than ``SENDERS_LOOKED_AT`` wrote, it is how
    many do among its newest ``LOOKED_AT`` messages.
    """
    page = _primary(agent, cursor, limit) if name == PRIMARY else _requests(agent, cursor, limit, authority)
    [(waiting,)] = _COUNT.fetch(_strangers(agent, _END))
    return {**page, "counts": {"requests": waiting}}


def conversation(agent: Agent, name: str, cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of what the agent and the one of that name wrote to each other, newest first.

    ``{"items", "next_cursor"}`` with items as in ``primary``, where ``lane`` may be ``requests`` and, of an author
    whom the agent has blocked, ``blocked``. Two statements. Raises not_found and invalid_cursor.
    """
    other = recipients.find_one(agent.pk, name)
    place = recipients.conversation_of(agent.pk, other.id)
    lanes = {Contact.State.ACCEPTED.value: PRIMARY, Contact.State.BLOCKED.value: BLOCKED, None: REQUESTS}
    return _page(
        _CONVERSATION,
        place,
        (),
        kind=Kind.CONVERSATION,
        cursor=cursor,
        limit=limit,
        lane_of=lambda sender: PRIMARY if sender == agent.pk else lanes[other.mine],
    )


def _primary(agent: Agent, cursor: str | None, limit: int) -> dict[str, Any]:
    only = (agent.pk, agent.pk, Contact.State.ACCEPTED.value)
    return _page(
        *(_PRIMARY, agent.pk, only), kind=Kind.PRIMARY, cursor=cursor, limit=limit, lane_of=lambda _: PRIMARY
    )


def _page(
    statement: Statement,
    of: int | str,
    only: tuple[Any, ...],
    *,
    kind: Kind,
    cursor: str | None,
    limit: int,
    lane_of: Callable[[int], str],
) -> dict[str, Any]:
    """A page of messages of ``of``, which the statement narrows by ``only``."""
    before = _END if cursor is None else parse_position(kind, cursor)
    found = statement.fetch([*(of, before), *(of, before, State.LIVE.value, *only, limit + 1), log.NAME])
    # Without an id: nothing was found before the edge.
    rows = [row for row in found if row[2] is not None]
    items = [Shown(*columns).item(epoch, lane=lane_of(sender)) for epoch, _, *columns, sender in rows[:limit]]
    more = page_cursor(kind, rows[limit - 1][2 + _SEQ]) if len(rows) > limit else _after_edge(kind, found)
    return {"items": items, "next_cursor": more}


def _requests(agent: Agent, cursor: str | None, limit: int, authority: str) -> dict[str, Any]:
    before = _END if cursor is None else parse_position(Kind.REQUESTS, cursor)
    of_sender = (agent.pk, State.LIVE.value)
    found = _SENDERS.fetch([*_strangers(agent, before), *of_sender * (1 + SHOWN_OF_A_SENDER), limit + 1])
    senders = [row for row in found if row[0] is not None]
    groups: dict[int, dict[str, Any]] = {
        sender: {"sender": "", "lane": REQUESTS, "count": count, "messages": []}
        for sender, _, _, count, *_ in senders[:limit]
    }
    places = [place for _, _, _, _, *shown in senders[:limit] for place in shown if place is not None]
    if places:
        rows = _PLACED.fetch([agent.pk, *places, State.LIVE.value, log.NAME], places=len(places))
        for epoch, *columns, sender in rows:
            shown = Shown(*columns)
            groups[sender]["sender"] = f"{shown.sender}@{authority}"
            groups[sender]["messages"].append(shown.item(epoch, lane=REQUESTS))
    # Without messages: they were removed between the two statements.
    items = [group for group in groups.values() if group["messages"]]
    if len(senders) > limit:
        return {"items": items, "next_cursor": page_cursor(Kind.REQUESTS, senders[limit - 1][2])}
    return {"items": items, "next_cursor": _after_edge(Kind.REQUESTS, found)}


def _strangers(agent: Agent, before: int) -> list[Any]:
    """The values of ``_STRANGERS``, up to whatever place ``before`` is."""
    me = agent.pk
    return [me, me, *(me, before), me, *(me, before, me), *(before, me, me), *(me, State.LIVE.value)]


def _after_edge(kind: Kind, found: list[tuple[Any, ...]]) -> str | None:
    """Where to go on after a page that looked at all rows before its edge, the second column; None where none is."""
    edge = found[0][1] if found else None
    return None if edge is None else page_cursor(kind, edge + 1)
