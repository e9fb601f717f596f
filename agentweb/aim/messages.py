"""Messages as rows: found, inserted, shown and removed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from agentweb import conf
from agentweb.aim import log, recipients, statements, transactions
from agentweb.aim.cursors import event_cursor
from agentweb.aim.log import Entry
from agentweb.aim.models import Agent, Message
from agentweb.aim.splicing import Raw
from agentweb.aim.statements import Call, Outcome, Statement
from agentweb.wire.aim.envelope import ID
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError, AuthorizationError, Code
from agentweb.wire.json_writing import dumps

State = Message.State


@dataclass(frozen=True, slots=True)
class Known:
    """A message that was accepted before."""

    key: int
    sender: int
    id: str
    conversation: str
    root: str
    digest: str
    signed_by: str
    state: str
    accepted_at: datetime
    seq: int


@dataclass(frozen=True, slots=True)
class New:
    """A message to insert."""

    sender: int
    recipient: int
    id: str
    conversation: str
    root: str
    digest: str
    signed_by: str
    envelope: str
    type: str


_INSERT: Final = Statement(
    "INSERT INTO {message} (sender_id, recipient_id, message_id, conversation, root, digest, signed_by, envelope, "
    "type, state, accepted_at) VALUES {rows} ON CONFLICT DO NOTHING{returning}"
)
_INSERTED: Final = Statement(
    "SELECT message_id, id FROM {message} WHERE sender_id = %s AND seq IS NULL AND message_id IN ({ids})"
)
_STAMP: Final = Statement("UPDATE {message} SET seq = CASE id {cases} END WHERE id IN ({keys})")
_DELETE: Final = Statement("DELETE FROM {message} WHERE id IN ({keys})")
SENT: Final = (
    "(SELECT COUNT(*) FROM (SELECT n.state FROM {message} n WHERE n.recipient_id = {recipient} AND n.sender_id = %s "
    "AND n.seq IS NOT NULL ORDER BY n.seq DESC LIMIT %s) newest WHERE newest.state <> %s)"
)
"""How many messages that count a sender has sent to a ``recipient``; the values are those of ``sent_by``. By the index
of what each sender has sent, and no further than the limit: who was a contact once may have sent any number."""
_COUNT: Final = Statement(
    "SELECT r.id, {sent} FROM {agent} r WHERE r.id IN ({recipients})", recipient="r.id", sent=SENT
)


def insertion(rows: Sequence[New], at: datetime) -> Call:
    """Inserts them; what collides with another message is left out. ``inserted`` says which were not.

    Waits for transactions that are inserting the same. In the order of ids, so that no two wait for each other.
    """
    ordered = sorted(rows, key=lambda row: row.id)
    when = statements.instant(at)
    values: list[Any] = []
    for row in ordered:
        values += (row.sender, row.recipient, row.id, row.conversation, row.root, row.digest, row.signed_by)
        values += (row.envelope, row.type, State.LIVE.value, when)
    returning = " RETURNING message_id, id" if statements.returns_rows() else ""
    return _INSERT.call(values, rows=(len(ordered), 11), returning=returning)


def inserted(rows: Sequence[New], outcome: Outcome) -> dict[str, int]:
    """The primary keys of those that are there now, by id."""
    if statements.returns_rows():
        return dict(outcome.rows)
    ids = [row.id for row in rows]
    # Without a position: only what this transaction inserted is ever seen so.
    return dict(_INSERTED.fetch([rows[0].sender, *ids], ids=len(ids)))


def stamping(behind: Mapping[int, int]) -> Call:
    """Writes positions, by primary key, as ``log.append`` gives them: how far each is before the last."""
    keys = list(behind)
    values = [value for key, places in behind.items() for value in (key, log.NAME, places)]
    cases = " ".join([f"WHEN %s THEN {log.POSITION}"] * len(keys))
    return _STAMP.call([*values, *keys], cases=cases, keys=len(keys))


def deletion(keys: Collection[int]) -> Call:
    """Takes back what this transaction has inserted."""
    return _DELETE.call(list(keys), keys=len(keys))


def counting_sent(sender: int, to: Collection[int]) -> Call:
    """Rows of a recipient's primary key and how many of the newest messages that the sender has sent to it before
    count: at most UNACCEPTED_PER_PAIR are looked at, and expired ones do not count."""
    return _COUNT.call([*sent_by(sender), *sorted(to)], recipients=len(to))


def sent_by(sender: int) -> tuple[int, int, str]:
    """The values of ``SENT``."""
    return sender, conf.get("UNACCEPTED_PER_PAIR"), State.EXPIRED.value


ITEM_COLUMNS: Final = (
    "m.message_id, m.state, m.ended_at, m.accepted_at, m.seq, m.signed_by, m.envelope, s.name"
)
"""What ``Shown`` reads, of a message ``m`` and its sender ``s``."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as it is shown."""

    id: str
    state: str
    ended_at: Any
    accepted_at: Any
    seq: int
    signed_by: str
    envelope: str
    sender: str

    @property
    def is_live(self) -> bool:
        return self.state == State.LIVE

    def item(self, epoch: str, **more: Any) -> dict[str, Any]:
        """``{"envelope", "received_at", "cursor", "signed_by"}`` and ``more``; ``signed_by`` is null where the
        envelope has no signature of its own."""
        return {
            "envelope": Raw(self.envelope),
            "received_at": statements.write_instant(statements.read_instant(self.accepted_at)),
            "cursor": event_cursor(epoch, self.seq),
            **more,
            "signed_by": self.signed_by or None,
        }

    def tombstone(self, authority: str) -> dict[str, Any]:
        return tombstone(self.id, self.sender, self.state, self.ended_at, authority)


_REASONS: Final = {State.REMOVED: "author", State.ERASED: "agent_deleted", State.EXPIRED: "retention"}


def tombstone(identifier: str, sender: str, state: str, ended_at: Any, authority: str) -> dict[str, Any]:
    """``{"id", "from", "removed": {"by": "author" | "agent_deleted" | "retention", "at"}}``."""
    at = None if ended_at is None else statements.write_instant(statements.read_instant(ended_at))
    return {
        "id": identifier,
        "from": f"{sender}@{authority}",
        "removed": {"by": _REASONS[State(state)], "at": at},
    }


_FIND: Final = Statement(
    "SELECT h.epoch, m.id, m.sender_id, m.recipient_id, {item} FROM {message} m "
    "JOIN {agent} s ON s.id = m.sender_id JOIN {head} h ON h.name = %s "
    "WHERE m.conversation = %s AND m.message_id = %s AND m.seq IS NOT NULL",
    item=ITEM_COLUMNS,
)
_END: Final = Statement(
    "UPDATE {message} SET state = %s, ended_at = %s, envelope = '' WHERE id = %s AND state = %s"
)


def find(agent: Agent, identifier: str, place: str, authority: str) -> dict[str, Any]:
    """A message of the conversation with the agent whose address ``place`` is, for one of the two.

    ``{"message": {"envelope", "received_at", "cursor", "signed_by"}}``, or ``{"tombstone": {"id", "from", "removed"}}``
    for one that is gone. Two statements. Raises not_found, unknown_community, invalid_parameter, remote_authority.
    """
    epoch, _, _, _, shown = _find(agent, identifier, place, authority)
    return {"message": shown.item(epoch)} if shown.is_live else {"tombstone": shown.tombstone(authority)}


def remove(agent: Agent, identifier: str, place: str, authority: str) -> dict[str, Any]:
    """Remove an own message, for both sides: ``{"tombstone": {"id", "from", "removed"}}``, each time.

    Raises author_mismatch for the other's message, and what ``find`` raises.
    """
    return transactions.run(lambda: _remove(agent, identifier, place, authority))


def _remove(agent: Agent, identifier: str, place: str, authority: str) -> dict[str, Any]:
    _, key, sender, recipient, shown = _find(agent, identifier, place, authority)
    if sender != agent.pk:
        raise AuthorizationError(Code.AUTHOR_MISMATCH, "Only its author removes a message.")
    at = now_datetime()
    if not _END.run([State.REMOVED.value, statements.instant(at), key, State.LIVE.value]):
        # Gone before, perhaps just now: that is read anew.
        return {"tombstone": _find(agent, identifier, place, authority)[-1].tombstone(authority)}
    grave = tombstone(identifier, shown.sender, State.REMOVED, at, authority)
    data = dumps({"tombstone": grave}).decode("utf-8")
    log.append(
        [
            Entry(log.stream_of(party), log.MESSAGE_REMOVED, key, data)
            for party in dict.fromkeys([sender, recipient])
        ],
        at,
    )
    return {"tombstone": grave}


def _find(agent: Agent, identifier: str, place: str, authority: str) -> tuple[str, int, int, int, Shown]:
    name = recipients.parse_place(place, authority, "in")
    # What is no id is in no conversation, and need not be asked for.
    other = recipients.find(agent.pk, [name] if ID.fullmatch(identifier) else [])
    found = [
        row
        for party in other.values()
        for row in _FIND.fetch([log.NAME, recipients.conversation_of(agent.pk, party.id), identifier])
    ]
    if not found:
        raise AgentError(Code.NOT_FOUND, "In this conversation is no such message.")
    epoch, key, sender, recipient, *shown = found[0]
    return epoch, key, sender, recipient, Shown(*shown)
