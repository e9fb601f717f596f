"""What happened, for one agent, after a cursor.

One statement reads the log's ends and the rows after the position, so both are of the same instant: nothing can be
deleted between looking at the floor and reading, and the last position stands for everything that was there.
"""

from __future__ import annotations

from typing import Any, Final

from agentweb import conf
from agentweb.aim import cursors, log, statements
from agentweb.aim.cursors import event_cursor, parse_event_cursor
from agentweb.aim.messages import ITEM_COLUMNS, Shown
from agentweb.aim.models import Agent, Contact
from agentweb.aim.splicing import Raw
from agentweb.aim.statements import Statement
from agentweb.wire.errors import AgentError, Code, RequestError
from agentweb.wire.strict_json import loads

LOOKED_AT: Final = 1_000
"""Rows of each stream that a page looks at. An agent may be able to read none of them, having blocked who wrote them or
asked for other types, and pays for one request only."""

_NO_EDGE: Final = 2**63 - 1

# Each stream by itself in the order of its index and with its own limit, and only then joined: a planner that joins
# first, or sorts rows of both, does that anew for every page of a long replay with all that is left of it. The edge is
# the first row that is not looked at any more: found in the index alone, whatever the rows are about.
_PAGE: Final = Statement(
    "WITH start(place) AS (SELECT CASE WHEN floor > %s THEN floor ELSE %s END FROM {head} WHERE name = %s), "
    "edge(place) AS (SELECT COALESCE(MIN(seq), {no_edge}) FROM ("
    "SELECT * FROM ({beyond}) own UNION ALL SELECT * FROM ({beyond}) others) beyond) "
    "SELECT h.last, h.floor, h.epoch, (SELECT place FROM edge), "
    "p.place, p.kind, p.at, p.data, p.message_key, {item} FROM {head} h "
    "LEFT JOIN (SELECT * FROM ("
    "SELECT e.seq AS place, e.type AS kind, e.at AS at, e.data AS data, e.message_key FROM {event} e "
    "WHERE e.stream = %s AND {within}{types} AND COALESCE((SELECT c.state FROM {message} b JOIN {contact} c "
    "ON c.owner_id = %s AND c.other_id = b.sender_id WHERE b.id = e.message_key), '') <> %s "
    "ORDER BY e.seq LIMIT %s) own "
    "UNION ALL SELECT * FROM ("
    "SELECT e.seq AS place, e.type AS kind, e.at AS at, e.data AS data, CAST(NULL AS bigint) AS message_key "
    "FROM {event} e "
    "WHERE e.stream = %s AND {within}{types} AND "
    "(SELECT c.state FROM {contact} c WHERE c.owner_id = %s AND c.other_id = e.message_key) = %s "
    "ORDER BY e.seq LIMIT %s) others"
    ") p ON 1 = 1 LEFT JOIN {message} m ON m.id = p.message_key LEFT JOIN {agent} s ON s.id = m.sender_id "
    "WHERE h.name = %s ORDER BY p.place LIMIT %s",
    item=ITEM_COLUMNS,
    no_edge=str(_NO_EDGE),
    looked_at=str(LOOKED_AT),
    beyond="SELECT e.seq FROM {event} e WHERE e.stream = %s AND e.seq > (SELECT place FROM start) "
    "ORDER BY e.seq LIMIT 1 OFFSET {looked_at}",
    within="e.seq > (SELECT place FROM start) AND e.seq < (SELECT place FROM edge)",
)


def read_events(
    agent: Agent, after: str | None, limit: int, types: str | None, authority: str
) -> dict[str, Any]:
    """The events after a cursor, at most ``limit``, in order: ``{"events", "cursor", "has_more"}``. One statement.

    An event is ``{"cursor", "type", "at", "scope", "message"?, "signed_by"?, "data"?}``. The page's ``cursor`` is where
    to go on, also when there was nothing: everything up to it has been looked at. At most ``LOOKED_AT`` rows of a
    stream are, so a page may have few events or none and yet ``has_more``. ``types`` are separated by commas.

    ``after`` is exclusive; None is from the oldest that is kept, ``"now"`` from the present on. An event of a message
    that is gone has ``data.tombstone`` in place of ``message``. What blocked agents wrote is left out.

    Raises invalid_cursor for what is no cursor of the log; cursor_expired (410) where events after it are deleted;
    cursor_future (409) where the log never got there, having been restored from a backup. Both have ``details``
    ``{"oldest_cursor", "latest_cursor", "retention_days"}``. invalid_parameter for what is no list of types.
    """
    if after == cursors.NOW:
        ends = log.ends()
        return _page([], event_cursor(ends.epoch, ends.last), has_more=False)
    epoch, position = (None, 0) if after is None else parse_event_cursor(after)
    wanted = _wanted(types)
    chosen = f" AND e.type IN ({', '.join(['%s'] * len(wanted))})" if wanted else ""
    own, limit_and_one = log.stream_of(agent.pk), limit + 1
    rows = _PAGE.fetch(
        [
            *(position, position, log.NAME),
            *(own, log.AGENTS),
            *(own, *wanted, agent.pk, Contact.State.BLOCKED.value, limit_and_one),
            *(log.AGENTS, *wanted, agent.pk, Contact.State.ACCEPTED.value, limit_and_one),
            *(log.NAME, limit_and_one),
        ],
        types=chosen,
    )
    if not rows:
        log.begin()
        ends = log.ends()
        rows = [(ends.last, ends.floor, ends.epoch, _NO_EDGE, None)]
    last, floor, current, edge = rows[0][:4]
    if epoch is not None:
        _check(epoch, position, last, floor, current)
    found = [row for row in rows if row[4] is not None]
    events = [_event(row, current, authority) for row in found[:limit] if not _is_gone(row)]
    if len(found) > limit:
        return _page(events, event_cursor(current, found[limit - 1][4]), has_more=True)
    # Before the edge everything has been looked at.
    end = last if edge == _NO_EDGE else edge - 1
    return _page(events, event_cursor(current, end), has_more=edge != _NO_EDGE)


def _wanted(types: str | None) -> list[str]:
    """Types of events in a list with commas; all when there is none. One that the protocol does not have is refused: a
    client that misspells it would wait for ever."""
    if types is None:
        return []
    wanted = sorted(set(types.split(",")))
    if not log.SCOPES.keys() | log.NOT_YET >= set(wanted):
        raise RequestError(
            Code.INVALID_PARAMETER,
            f"types is a list of types of events with commas between them: {', '.join(log.SCOPES)}.",
            field="types",
        )
    return wanted


def _page(events: list[dict[str, Any]], cursor: str, *, has_more: bool) -> dict[str, Any]:
    return {"events": events, "cursor": cursor, "has_more": has_more}


def _check(epoch: str, position: int, last: int, floor: int, current: str) -> None:
    if epoch != current or position > last:
        code = Code.CURSOR_FUTURE
        said = "The log was never there: it has been restored from a backup since."
    elif position < floor:
        code = Code.CURSOR_EXPIRED
        said = "Events after this cursor are no longer kept."
    else:
        return
    raise AgentError(
        code,
        f"{said} Read the inbox for what you may have missed, then go on at details.oldest_cursor.",
        details={
            "oldest_cursor": event_cursor(current, floor),
            "latest_cursor": event_cursor(current, last),
            "retention_days": conf.get("EVENTS_DAYS"),
        },
    )


def _is_gone(row: tuple[Any, ...]) -> bool:
    """Whether nothing is left of the message that the row is about."""
    _, _, _, _, _, _, _, data, message_key, identifier, *_ = row
    return message_key is not None and identifier is None and not data


def _event(row: tuple[Any, ...], epoch: str, authority: str) -> dict[str, Any]:
    _, _, _, _, seq, kind, at, data, _, *columns = row
    event: dict[str, Any] = {
        "cursor": event_cursor(epoch, seq),
        "type": kind,
        "at": statements.write_instant(statements.read_instant(at)),
        "scope": log.SCOPES.get(kind, "account"),
    }
    shown = Shown(*columns) if columns[0] is not None and not data else None
    if shown is not None and shown.is_live:
        event["message"] = Raw(shown.envelope)
        event["signed_by"] = shown.signed_by or None
    elif shown is not None:
        event["data"] = {"tombstone": shown.tombstone(authority)}
    elif data:
        event["data"] = _data(data, authority)
    return event


def _data(text: str, authority: str) -> Any:
    """What the row has, and the address of the agent that it names: that depends on the site's name of today."""
    data = loads(text.encode())
    if isinstance(data, dict) and "name" in data:
        data = {**data, "address": f"{data['name']}@{authority}"}
    return data
