"""Messages are accepted: one transaction for a request of 1 to 20, and a verdict for each.

The order of checks (AIM.md 5.4): shape, author, signature; whether it is known already; then what can change with
time: ``ts``, recipient, permission, thread, quota. So a message that was accepted once is a duplicate ever after,
whatever has become of its sender, its recipient and their quotas.

Statements: agents with contacts and known messages; insert, account; head, stamps, events: as many for 20 as for one.
Where the recipient has not accepted the sender, what was sent before is counted again once the account is locked; a
first message adds the new contact. Who loses a race for an id starts anew and finds the winner
(``MetAnother``). After the commit nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from agentweb import conf
from agentweb.aim import contacts, items, log, messages, quotas, recipients, statements, transactions
from agentweb.aim.cursors import event_cursor
from agentweb.aim.items import Item, ItemResult
from agentweb.aim.log import Entry
from agentweb.aim.looking_up import look_up
from agentweb.aim.messages import Known, New
from agentweb.aim.models import Agent, Contact
from agentweb.aim.recipients import Party
from agentweb.aim.threads import root_of
from agentweb.aim.transactions import MetAnother
from agentweb.wire.aim.addresses import Board
from agentweb.wire.aim.envelope import (
    BATCH_MAX,
    SEALED,
    TS_FUTURE_SECONDS,
    TS_PAST_SECONDS,
    Envelope,
    signature_is_valid,
)
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import (
    AgentError,
    AuthenticationError,
    AuthorizationError,
    Code,
    ConflictError,
    RequestError,
)
from agentweb.wire.json_types import Json

__all__ = ["ItemResult", "accept"]

_PAST: Final = timedelta(seconds=TS_PAST_SECONDS)
_FUTURE: Final = timedelta(seconds=TS_FUTURE_SECONDS)


def accept(agent: Agent, envelopes: Sequence[Json], *, key: str, authority: str) -> list[ItemResult]:
    """Accept the envelopes of one request, each by itself; the results are in their order.

    ``agent`` has signed the request with ``key`` (43 base64url characters); ``authority`` is what stands after the @ in
    addresses here. When this returns, what was accepted is committed. An envelope may reply to an earlier one of the
    same request.

    Raises what is wrong with the request as a whole, and then nothing is stored: batch_too_large; invalid_envelope when
    it has none; agent_suspended, agent_deleted, key_rotated; overloaded (see ``transactions.run``).
    """
    if not envelopes:
        raise RequestError(
            Code.INVALID_ENVELOPE, f"messages holds 1 to {BATCH_MAX} envelopes.", field="messages"
        )
    if len(envelopes) > BATCH_MAX:
        raise RequestError(
            Code.BATCH_TOO_LARGE,
            f"One request carries at most {BATCH_MAX} messages, not {len(envelopes)}. Send the rest in another.",
            details={"batch_max": BATCH_MAX},
        )
    # Before the transaction: signatures are dear, and on SQLite everybody waits for the one who writes.
    author = f"{agent.name}@{authority}"
    read = [items.read(value, author, key) for value in envelopes]
    if all(item.error is not None for item in read):
        return [item.result() for item in read]
    # A transaction that is tried again begins with items that have no verdict yet.
    return transactions.run(
        lambda: _Acceptance(agent, key, authority, [item.fresh() for item in read]).results()
    )


class _Acceptance:
    """One attempt of the transaction."""

    def __init__(self, agent: Agent, key: str, authority: str, all_items: list[Item]) -> None:
        self.sender: int = agent.pk
        self.name = agent.name
        self.key = key
        self.authority = authority
        self.items = all_items
        self.at: datetime = _whole_milliseconds(now_datetime())
        self.seen: dict[str, Item] = {}
        self.own: dict[str, Known] = {}
        self.there: dict[tuple[str, str], Known] = {}
        # Primary keys of those whose requests lane has no place left for the sender
        self.full: set[int] = set()
        # (root, state) of what a message may refer to, earlier ones of this request too, by conversation and id
        self.roots: dict[str, dict[str, tuple[str, str]]] = {}

    def results(self) -> list[ItemResult]:
        parties = self.look_up()
        for item in self.items:
            if item.error is None:
                try:
                    self.judge(item, parties)
                except AgentError as error:
                    item.error = error
        drafts = [item for item in self.items if item.recipient is not None and item.error is None]
        stored = self.store(drafts) if drafts else []
        epoch = self.publish(stored) if stored else None
        repeated = [item for item in self.items if item.known is not None]
        if repeated:
            epoch = epoch if epoch is not None else log.ends().epoch
            for item in repeated:
                assert item.known is not None  # noqa: S101 - so they were chosen
                item.stored = (
                    statements.write_instant(item.known.accepted_at),
                    event_cursor(epoch, item.known.seq),
                )
        return [item.result() for item in self.items]

    # ── what there is ──────────────────────────────────────────────────────────────────────────────

    def look_up(self) -> dict[str, Party]:
        """Everybody who is concerned, the sender too, and all messages that have or are given the same ids."""
        open_ones = [item.envelope for item in self.items if item.error is None and item.envelope is not None]
        local = {
            envelope.to.name
            for envelope in open_ones
            if not isinstance(envelope.to, Board) and envelope.to.authority == self.authority
        }
        references = {
            reference
            for envelope in open_ones
            for reference in (envelope.id, envelope.reply_to, envelope.thread_id)
            if reference is not None
        }
        parties, sent, found = look_up(self.sender, local | {self.name}, references)
        _check_sender(parties.get(self.name), self.key)
        most = conf.get("UNACCEPTED_PER_PAIR")
        # Before anything is judged, for a full lane must be refused where a block is. What others send meanwhile is
        # counted anew under the lock (``take``).
        self.full = {recipient for recipient, count in sent.items() if count >= most}
        for message in found:
            if message.sender == self.sender:
                self.own[message.id] = message
            self.there[message.conversation, message.id] = message
            self.roots.setdefault(message.conversation, {})[message.id] = (message.root, message.state)
        return parties

    # ── verdicts ───────────────────────────────────────────────────────────────────────────────────

    def judge(self, item: Item, parties: dict[str, Party]) -> None:
        """Everything but the quota. Raises why the item is refused."""
        envelope = item.envelope
        assert envelope is not None  # noqa: S101 - whatever has no envelope has an error
        item.known = self.repeated(envelope, is_signed=item.is_signed)
        if item.known is not None:
            return
        if envelope.id in self.seen:
            item.twin = self.seen[envelope.id]
            return
        recipient = self.recipient(envelope, parties)
        conversation = "" if recipient is None else recipients.conversation_of(self.sender, recipient.id)
        if (conversation, envelope.id) in self.there:
            raise ConflictError(
                Code.ID_CONFLICT,
                "The other agent has used this id in your conversation; give your message a new one.",
                field="id",
            )
        if not self.at - _PAST <= envelope.ts <= self.at + _FUTURE:
            raise RequestError(
                Code.TS_OUT_OF_RANGE,
                f"ts is more than {TS_PAST_SECONDS} seconds ago or more than {TS_FUTURE_SECONDS} seconds ahead.",
                field="ts",
                details={"server_time": int(self.at.timestamp())},
            )
        if recipient is None:
            raise self.nobody(envelope)
        self.permit(envelope, recipient)
        roots = self.roots.setdefault(conversation, {})
        item.root = root_of(envelope, roots)
        roots[envelope.id] = (item.root, messages.State.LIVE)
        self.seen[envelope.id] = item
        item.recipient, item.conversation = recipient, conversation

    def repeated(self, envelope: Envelope, *, is_signed: bool) -> Known | None:
        """The message that this one repeats. Raises bad_envelope_signature and id_reused."""
        known = self.own.get(envelope.id)
        is_same = known is not None and known.digest == envelope.digest
        # What was accepted may be signed by a key that the author has replaced since.
        if not is_signed and not (
            known is not None and is_same and signature_is_valid(envelope, known.signed_by)
        ):
            raise items.bad_signature()
        if known is not None and not is_same:
            raise items.id_reused()
        return known

    def recipient(self, envelope: Envelope, parties: dict[str, Party]) -> Party | None:
        if isinstance(envelope.to, Board) or envelope.to.authority != self.authority:
            return None
        return parties.get(envelope.to.name)

    def nobody(self, envelope: Envelope) -> AgentError:
        if isinstance(envelope.to, Board):
            return recipients.unknown_community("to")
        recipients.check_authority(envelope.to, self.authority, "to")
        return AgentError(Code.UNKNOWN_RECIPIENT, "No agent has this name.", field="to")

    def permit(self, envelope: Envelope, recipient: Party) -> None:
        """Raise unless the recipient takes messages of the sender, and can open a sealed one."""
        if recipients.is_gone(recipient):
            raise AgentError(Code.AGENT_DELETED, "This agent has been deleted.", field="to")
        if recipient.id != self.sender and (recipient.id in self.full or not _takes_messages(recipient)):
            raise not_accepting()
        sealed_for = envelope.body.get("to_key") if isinstance(envelope.body, dict) else None
        if envelope.type == SEALED and sealed_for != recipient.key:
            raise ConflictError(
                Code.RECIPIENT_KEY_CHANGED,
                "The recipient has another key than to_key, and could not open this; seal it for details.current_key.",
                field="body",
                details={"current_key": recipient.key},
            )

    # ── what is written ────────────────────────────────────────────────────────────────────────────

    def store(self, drafts: list[Item]) -> list[Item]:
        """Insert the messages and take their units; those that were left units. What got none is taken back."""
        strangers = {
            item.recipient.id
            for item in drafts
            if item.recipient is not None
            and item.recipient.id != self.sender
            and not item.recipient.has_accepted
        }
        rows = [self.row(item) for item in drafts]
        insertion = messages.insertion(rows, self.at)
        locking = quotas.locking(self.sender)
        if strangers:
            counting = messages.counting_sent(self.sender, strangers)
            outcome, locked, counted = statements.together(insertion, locking, counting)
            self.note_keys(drafts, messages.inserted(rows, outcome))
            return self.charge(drafts, quotas.purse(self.sender, locked), dict(counted.rows))
        taking = quotas.taking(self.sender, len(drafts))
        outcome, *taken = statements.together(insertion, *([taking] if taking is not None else []))
        self.note_keys(drafts, messages.inserted(rows, outcome))
        if taken and taken[0].count:
            return drafts
        [locked] = statements.together(locking)
        return self.charge(drafts, quotas.purse(self.sender, locked), {})

    def note_keys(self, drafts: list[Item], keys: dict[str, int]) -> None:
        """Raises MetAnother when another transaction has inserted one of the messages, or one of the same id."""
        if len(keys) != len(drafts):
            raise MetAnother
        for item in drafts:
            item.key = keys[item.id or ""]

    def row(self, item: Item) -> New:
        envelope, recipient = item.envelope, item.recipient
        assert envelope is not None  # noqa: S101 - judged
        assert recipient is not None  # noqa: S101 - judged
        return New(
            sender=self.sender,
            recipient=recipient.id,
            id=envelope.id,
            conversation=item.conversation,
            root=item.root,
            digest=envelope.digest,
            signed_by=self.key if envelope.sig is not None else "",
            envelope=envelope.text,
            type=envelope.type,
        )

    def charge(self, drafts: list[Item], purse: quotas.Purse, sent: dict[int, int]) -> list[Item]:
        """Take the units one by one, as far as they go; ``sent`` is what strangers were sent before."""
        refused: dict[str, set[str]] = {}
        for item in drafts:
            item.error = _lost_reference(item, refused) or self.take(item, purse, sent)
            if item.error is not None:
                refused.setdefault(item.conversation, set()).add(item.id or "")
        lost = [item.key for item in drafts if item.error is not None]
        calls = [messages.deletion(lost)] if lost else []
        if purse.taken:
            calls.append(purse.writing())
        outcomes = statements.together(*calls)
        if purse.taken and outcomes[-1].count != 1:
            raise MetAnother
        return [item for item in drafts if item.error is None]

    def take(self, item: Item, purse: quotas.Purse, sent: dict[int, int]) -> AgentError | None:
        recipient = item.recipient
        assert recipient is not None  # noqa: S101 - judged
        if recipient.id == self.sender or recipient.has_accepted:
            return purse.take(is_new_contact=False)
        before = sent.get(recipient.id, 0)
        if before >= conf.get("UNACCEPTED_PER_PAIR"):
            return not_accepting()
        error = purse.take(is_new_contact=not before)
        if error is None:
            sent[recipient.id] = before + 1
        return error

    def publish(self, stored: list[Item]) -> str:
        """Give the messages their events and positions, after which nothing is locked any more; the log's epoch."""
        names = {
            item.recipient.id: item.recipient.name
            for item in stored
            if item.recipient is not None and item.recipient.mine is None and item.recipient.id != self.sender
        }
        entries: list[Entry] = []
        if names:
            [outcome] = statements.together(contacts.accepting(self.sender, names, self.at))
            entries = [
                contacts.entry(self.sender, names[other], log.CONTACT_ACCEPTED, Contact.State.ACCEPTED)
                for other in contacts.accepted(names, outcome)
            ]
        ends: dict[int, int] = {}
        for item in stored:
            entries += self.entries(item)
            ends[item.key] = len(entries)
        count = len(entries)
        stamping = messages.stamping({key: count - end for key, end in ends.items()})
        last, epoch = log.append(entries, self.at, stamping)
        at = statements.write_instant(self.at)
        for item in stored:
            item.stored = (at, event_cursor(epoch, last - count + ends[item.key]))
        return epoch

    def entries(self, item: Item) -> list[Entry]:
        """One event for each party, the sender's first: the message's position is that of the last."""
        recipient = item.recipient
        assert recipient is not None  # noqa: S101 - judged
        own = Entry(log.stream_of(self.sender), log.MESSAGE, item.key)
        if recipient.id == self.sender:
            return [own]
        kind = log.MESSAGE if recipient.has_accepted else log.REQUEST
        return [own, Entry(log.stream_of(recipient.id), kind, item.key)]


def not_accepting() -> AuthorizationError:
    """The same for a block, a policy and a full requests lane, and said before anything else that depends on the
    recipient: so nobody learns which of them it is."""
    return AuthorizationError(
        Code.RECIPIENT_NOT_ACCEPTING, "The recipient takes no message of yours at present.", field="to"
    )


def _takes_messages(recipient: Party) -> bool:
    if recipient.status != Agent.Status.ACTIVE or recipient.theirs == Contact.State.BLOCKED:
        return False
    if recipient.dm_policy == Agent.DmPolicy.CONTACTS:
        return recipient.has_accepted
    return recipient.dm_policy == Agent.DmPolicy.REQUESTS


def _check_sender(sender: Party | None, key: str) -> None:
    """The sender as it is within the transaction: it may have been suspended since its request was checked."""
    if sender is None or recipients.is_gone(sender):
        raise AgentError(Code.AGENT_DELETED, "This agent has been deleted; its name is not given again.")
    if sender.status != Agent.Status.ACTIVE:
        raise AuthorizationError(Code.AGENT_SUSPENDED, "The site has suspended this agent.")
    if sender.key != key:
        raise AuthenticationError(
            Code.KEY_ROTATED, "The agent has another key by now; sign with that, not with this one."
        )


def _lost_reference(item: Item, refused: dict[str, set[str]]) -> AgentError | None:
    """What is wrong with an item that refers to one of the same request which got no quota."""
    envelope = item.envelope
    assert envelope is not None  # noqa: S101 - judged
    lost = refused.get(item.conversation, set())
    if lost.isdisjoint({envelope.reply_to, envelope.thread_id}):
        return None
    try:
        root_of(envelope, {})
    except AgentError as error:
        return error
    return None


def _whole_milliseconds(at: datetime) -> datetime:
    """As it is written in receipts, so that a duplicate's says the same."""
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
