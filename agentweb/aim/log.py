"""The log's head: positions are given here, as the last lock of the transaction that writes the events.

Whoever moved the head holds its row until the commit, so events become visible in the order of their positions and
without gaps: after reading up to a position nothing appears before it (RELIABILITY section 1). After ``advance`` a
transaction only stamps and inserts what it gave positions to, and commits.
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
from agentweb.aim.statements import Statement
from agentweb.wire.clock import now_datetime

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
    """``last``: the position given last. ``floor``: the highest that is deleted. ``epoch``: see ``LogHead``."""

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
_INSERT: Final = Statement("INSERT INTO {event} (seq, stream, type, at, message_key, data) VALUES {rows}")


def begin() -> None:
    """Make the head where there is none yet: outside any transaction that needs it."""
    insert_if_absent([LogHead(name=NAME, epoch=secrets.token_hex(EPOCH_BYTES), epoch_since=now_datetime())])


def ends() -> Ends:
    """Where the log begins and ends now. One statement, unless it is the first of all."""
    found = _READ.fetch([NAME])
    if not found:
        begin()
        found = _READ.fetch([NAME])
    last, floor, epoch, since = found[0]
    return Ends(last, floor, epoch, statements.read_instant(since))


def advance(count: int) -> tuple[int, str]:
    """Take the next ``count`` positions: the last of them, and the epoch. Inside a transaction, as its last lock.

    Raises HeadMissing.
    """
    if statements.returns_rows():
        found = _ADVANCE.fetch([count, NAME], returning=" RETURNING last, epoch")
    else:
        _ADVANCE.run([count, NAME], returning="")
        # Ours until the commit: the row is locked.
        found = [row[:3:2] for row in _READ.fetch([NAME])]
    if not found:
        raise HeadMissing
    last, epoch = found[0]
    return last, epoch


def write(entries: Sequence[Entry], first: int, at: datetime) -> None:
    """Insert the events at the positions from ``first`` on, in one statement."""
    when = statements.instant(at)
    values = [
        value
        for seq, entry in enumerate(entries, first)
        for value in (seq, entry.stream, entry.type, when, entry.message_key, entry.data)
    ]
    _INSERT.run(values, rows=(len(entries), 6))


def append(entries: Sequence[Entry], at: datetime) -> tuple[int, str]:
    """Give the events positions and insert them: the last position, and the epoch. The end of a transaction.

    Raises HeadMissing.
    """
    last, epoch = advance(len(entries))
    write(entries, last - len(entries) + 1, at)
    return last, epoch
