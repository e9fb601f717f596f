"""What happened, for one agent, after a cursor.

One statement reads the log's ends and the rows after the position, so both are of the same instant: nothing can be
deleted between looking at the floor and reading, and the last position stands for everything that was there.
"""

from __future__ import annotations

import re
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

_TYPE: Final = re.compile(r"[a-z]{1,20}(?:\.[a-z]{1,20})?")

# Each stream by itself in the order of its index and with its own limit, and only then joined: a planner that joins
# first, or sorts rows of both, does that anew for every page of a long replay with all that is left of it.
_PAGE: Final = Statement(
    "SELECT h.last, h.floor, h.epoch, p.place, p.kind, p.at, p.data, p.message_key, {item} FROM {head} h "
    "LEFT JOIN (SELECT * FROM ("
    "SELECT e.seq AS place, e.type AS kind, e.at AS at, e.data AS data, e.message_key FROM {event} e "
    "WHERE e.stream = %s AND e.seq > %s{types} AND COALESCE((SELECT c.state FROM {message} b JOIN {contact} c "
    "ON c.owner_id = %s AND c.other_id = b.sender_id WHERE b.id = e.message_key), '') <> %s "
    "ORDER BY e.seq LIMIT %s) own "
    "UNION ALL SELECT * FROM ("
    "SELECT e.seq AS place, e.type AS kind, e.at AS at, e.data AS data, CAST(NULL AS bigint) AS message_key "
    "FROM {event} e "
    "WHERE e.stream = %s AND e.seq > %s{types} AND "
    "(SELECT c.state FROM {contact} c WHERE c.owner_id = %s AND c.other_id = e.message_key) = %s "
    "ORDER BY e.seq LIMIT %s) others"
    ") p ON 1 = 1 LEFT JOIN {message} m ON m.id = p.message_key LEFT JOIN {agent} s ON s.id = m.sender_id "
    "WHERE h.name = %s ORDER BY p.place LIMIT %s",
    item=ITEM_COLUMNS,
)


def read_events(
    agent: Agent, after: str | None, limit: int, types: str | None, authority: str
) -> dict[str, Any]:
    """The events after a cursor, at most ``limit``, in order: ``{"events", "cursor", "has_more"}``. One statement.

    An event is ``{"cursor", "type", "at", "scope", "message"?, "signed_by"?, "data"?}``. The page's ``cursor`` is where
    to go on, also when there was nothing: everything up to it has been looked at. ``types`` are separated by commas.

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
    rows = _PAGE.fetch(
        [
            *(log.stream_of(agent.pk), position, *wanted),
            *(agent.pk, Contact.State.BLOCKED.value, limit + 1),
            *(log.AGENTS, position, *wanted, agent.pk, Contact.State.ACCEPTED.value, limit + 1),
            *(log.NAME, limit + 1),
        ],
        types=chosen,
    )
    if not rows:
        log.begin()
        ends = log.ends()
        rows = [(ends.last, ends.floor, ends.epoch, None)]
    last, floor, current = rows[0][:3]
    if epoch is not None:
        _check(epoch, position, last, floor, current)
    # A position at or below the floor may be half deleted: seen only by who began at the oldest.
    found = [row for row in rows if row[3] is not None and row[3] > floor]
    events = [_event(row, current, authority) for row in found[:limit] if not _is_gone(row)]
    has_more = len(found) > limit
    end = found[limit - 1][3] if has_more else last
    return _page(events, event_cursor(current, end), has_more=has_more)


def _wanted(types: str | None) -> list[str]:
    """Types of events in a list with commas; all when there is none. One that is not written here never comes."""
    if types is None:
        return []
    wanted = sorted(set(types.split(",")))
    if not all(map(_TYPE.fullmatch, wanted)):
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
    _, _, _, _, _, _, data, message_key, identifier, *_ = row
    return message_key is not None and identifier is None and not data


def _event(row: tuple[Any, ...], epoch: str, authority: str) -> dict[str, Any]:
    _, _, _, seq, kind, at, data, _, *columns = row
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
