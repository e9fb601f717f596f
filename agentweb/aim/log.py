"""The log's head: positions are given here, as the last lock of the transaction that writes the events.

Whoever moved the head holds its row until the commit, so events become visible in the order of their positions and
without gaps: after reading up to a position nothing appears before it (RELIABILITY section 1). After ``append`` a
transaction only commits.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentweb.access.rows import insert_if_absent
from agentweb.aim import statements
from agentweb.aim.cursors import EPOCH_BYTES
from agentweb.aim.models import LogHead
from agentweb.aim.statements import Call, Statement
from agentweb.wire.clock import from_unix

NAME: Final = "log"

MESSAGE: Final = "message"
REQUEST: Final = "request"
MESSAGE_REMOVED: Final = "message.removed"
CONTACT_ACCEPTED: Final = "contact.accepted"
CONTACT_BLOCKED: Final = "contact.blocked"
CONTACT_REMOVED: Final = "contact.removed"
AGENT_DELETED: Final = "agent.deleted"

SCOPES: Final = {
    MESSAGE: "inbox",
    REQUEST: "requests",
    MESSAGE_REMOVED: "inbox",
    CONTACT_ACCEPTED: "account",
    CONTACT_BLOCKED: "account",
    CONTACT_REMOVED: "account",
    AGENT_DELETED: "account",
}
"""Every type of event that is written, and its ``scope``."""

NOT_YET: Final = frozenset(
    {
        *("community.updated", "member.joined", "member.left", "member.banned", "member.role"),
        *("key.rotated", "checkpoint"),
    }
)
"""Types that the protocol has and that are not written yet (AIM section 6.1): a client may ask for them."""

AGENTS: Final = "agents"
"""The stream of what happens to agents themselves. Each reads of it what concerns its contacts; the row's
``message_key`` is then the key of the agent that it is about."""


def stream_of(agent_key: int) -> str:
    """The stream that one agent alone reads; ``agent_key`` is its primary key."""
    return f"agent:{agent_key}"


class HeadMissing(Exception):
    """The log has no head yet. Made inside this transaction it could collide, so: end it, ``begin``, try again."""


@dataclass(frozen=True, slots=True)
class Ends:
    """``last``: the position given last. ``floor``: the highest that is deleted. ``epoch``: see ``LogHead``, and
    ``since`` is its ``epoch_since``."""

    last: int
    floor: int
    epoch: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """An event before it has a position; ``data`` is a JSON object or empty."""

    stream: str
    type: str
    message_key: int | None = None
    data: str = ""


_READ: Final = Statement("SELECT last, floor, epoch, epoch_since FROM {head} WHERE name = %s")
_ADVANCE: Final = Statement("UPDATE {head} SET last = last + %s WHERE name = %s{returning}")
_LAST: Final = "COALESCE((SELECT last FROM {head} WHERE name = %s), 0)"
_INSERT: Final = Statement("INSERT INTO {event} (seq, stream, type, at, message_key, data) VALUES {rows}")
_ROW: Final = f"({_LAST} - %s, %s, %s, %s, %s, %s)"

POSITION: Final = f"({_LAST} - %s)"
"""In a statement that ``append`` runs: a position, by how far it is before the last. Its values are NAME and that."""


def begin() -> None:
    """Make the head where there is none yet: outside any transaction that needs it.

    The first epoch was always: before it nothing was there that could be forgotten, so no signature is too old for it.
    """
    insert_if_absent([LogHead(name=NAME, epoch=secrets.token_hex(EPOCH_BYTES), epoch_since=from_unix(0))])


def ends() -> Ends:
    """Where the log begins and ends now. One statement, unless it is the first of all."""
    found = _READ.fetch([NAME])
    if not found:
        begin()
        found = _READ.fetch([NAME])
    last, floor, epoch, since = found[0]
    return Ends(last, floor, epoch, statements.read_instant(since))


def bounds() -> tuple[int, int]:
    """The position given last and the highest that is deleted, for who only looks: nothing is made. One statement."""
    found = _READ.fetch([NAME])
    return (found[0][0], found[0][1]) if found else (0, 0)


def append(entries: Sequence[Entry], at: datetime, *also: Call) -> tuple[int, str]:
    """Give the events positions and insert them: the last position, and the epoch. The end of a transaction.

    ``also`` are statements that need positions (``POSITION``), run when they are given. Raises HeadMissing.
    """
    when = statements.instant(at)
    values = [
        value
        for place, entry in enumerate(entries, 1)
        for value in (
            *(NAME, len(entries) - place),
            *(entry.stream, entry.type, when, entry.message_key, entry.data),
        )
    ]
    insert = _INSERT.call(values, rows=", ".join([_ROW] * len(entries)))
    count = len(entries)
    if statements.returns_rows():
        advance = _ADVANCE.call([count, NAME], returning=" RETURNING last, epoch")
        found = statements.together(advance, *also, insert)[0].rows
    else:
        advance = _ADVANCE.call([count, NAME], returning="")
        # The row is locked: what it says is ours.
        read = _READ.call([NAME])
        found = [row[:3:2] for row in statements.together(advance, *also, insert, read)[-1].rows]
    if not found:
        raise HeadMissing
    last, epoch = found[0]
    return last, epoch
