"""Whether everything that was promised holds: the journals of writers and readers against the database.

Nothing here knows how the messenger works inside; only what its answers meant.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tests.e2e.crash.breaches import Breach, Breaches
from tests.e2e.crash.journal import Line


class Rule(StrEnum):
    """What must hold, by the name of its breach."""

    LOST = "an acknowledged message is not in the database"
    DOUBLED = "a message is in the database more than once"
    ALTERED = "a stored message is not the one that was signed"
    STRANGE = "a message is in the database that nobody wrote"
    UNACKNOWLEDGED = "a message was never acknowledged although the server was up at the end"
    FIRST_TWICE = "more than one answer said duplicate=false for one message"
    CHARGED = "an agent was not charged once for each of its accepted messages"
    CHARGED_TWICE = "answers charged one message more than once"
    OVERRUN = "an agent has more accepted messages than its quota"
    REFUSED_AND_KEPT = "a message that was refused is in the database"
    RECEIVED = "the count of received messages is wrong after the pump has drained"
    UNSIGNALLED = "the site's receivers were not told of a message"
    GAP = "positions of the log have a gap"
    UNTOLD = "a message has not one event for each party"
    RECEIPT = "an answer's cursor is not the position of the message's last event"
    MISSED = "a reader was not given an event of its stream"
    TWICE = "a reader was given an event again that it had committed, or twice in one page"
    DISORDER = "a reader was given events out of the order of their positions"
    ORDERS_DIFFER = "two readers saw the same messages in different orders"
    BACKWARDS = "a cursor went back"
    UNKNOWN_CURSOR = "a cursor names no position of the log"
    INBOX = "an inbox does not hold what came for its agent, once each and newest first"
    UNRESUMED = "a reader did not reach the end of the log"
    NONCE = "a nonce was accepted twice"
    ANSWER = "a request got an answer that nothing explains"


@dataclass
class Message:
    """A row: names of sender and recipient, and ``seq``, the position of its last event."""

    sender: str
    recipient: str
    ident: str
    digest: str
    seq: int
    key: int


@dataclass
class Event:
    """A row of the log; ``agent`` is the name of the one whose stream it is in, ``message`` a message's key."""

    seq: int
    agent: str
    type: str
    message: int | None


@dataclass
class Evidence:
    """All that is known at the end.

    ``positions`` gives the position of each cursor that the log could hand out. ``readers`` are journals by name;
    the first line of each says whose stream it reads. ``told`` are the messages, as sender and id, of which a receiver
    of the site's signal was told; None where none listens. ``inboxes`` are what each agent's inbox gave in the end, as
    senders and ids. ``quota`` is what each agent may have accepted at most, None where it is never used up.
    """

    charged: Mapping[str, int]
    received: Mapping[str, int]
    messages: Sequence[Message]
    events: Sequence[Event]
    last: int
    floor: int
    positions: Mapping[str, int]
    writers: Mapping[str, Sequence[Line]]
    readers: Mapping[str, Sequence[Line]]
    inboxes: Mapping[str, Sequence[Sequence[str]]]
    told: Sequence[tuple[str, str]] | None = None
    quota: int | None = None
    _breaches: Breaches = field(default_factory=Breaches)

    def breach(self, rule: Rule, words: str) -> None:
        self._breaches.add(rule, words)

    def breaches(self) -> list[Breach]:
        return self._breaches.in_order(Rule)


def judge(evidence: Evidence) -> list[Breach]:
    """What does not hold; nothing when all does."""
    evidence._breaches.clear()
    for look in (
        _writers,
        _accounts,
        _signals,
        _inboxes,
        _log,
        _readers,
        _orders,
        _nonces,
    ):
        look(evidence)
    return evidence.breaches()


def acknowledged(lines: Iterable[Line]) -> int:
    """How many answers of a writer's journal acknowledged a message, repeated ones as well."""
    return sum(1 for line in lines if line["is"] == "answer" and line["accepted"])


def _writers(evidence: Evidence) -> None:
    stored: dict[tuple[str, str], list[Message]] = defaultdict(list)
    for message in evidence.messages:
        stored[message.sender, message.ident].append(message)
    meant: set[tuple[str, str]] = set()
    for lines in evidence.writers.values():
        intents = {line["id"]: line for line in lines if line["is"] == "intent"}
        answers: dict[str, list[Line]] = defaultdict(list)
        lost = {line["id"] for line in lines if line["is"] == "lost"}
        for line in lines:
            if line["is"] == "answer":
                answers[line["id"]].append(line)
            elif line["is"] == "unexplained":
                evidence.breach(Rule.ANSWER, f"{line['status']} {line['code']}: {line.get('text', '')}")
        for ident, intent in intents.items():
            name = intent["from"]
            meant.add((name, ident))
            _one(evidence, intent, answers[ident], stored.get((name, ident), []), ident in lost)
    for (name, ident), rows in stored.items():
        if (name, ident) not in meant:
            evidence.breach(Rule.STRANGE, f"{name} {ident}: {len(rows)}")


def _one(evidence: Evidence, intent: Line, answers: list[Line], rows: list[Message], was_lost: bool) -> None:
    said = f"{intent['from']} to {intent['to']} {intent['id']}"
    accepted = [answer for answer in answers if answer["accepted"]]
    if len(rows) > 1:
        evidence.breach(Rule.DOUBLED, f"{said}: {len(rows)} rows")
    if any(row.digest != intent["digest"] for row in rows):
        evidence.breach(Rule.ALTERED, said)
    if any(row.recipient != intent["to"] for row in rows):
        evidence.breach(Rule.ALTERED, f"{said}: its recipient")
    if not accepted:
        refused = bool(answers) and all(answer["final"] for answer in answers)
        if not answers or not answers[-1]["final"]:
            evidence.breach(Rule.UNACKNOWLEDGED, said)
        elif rows and refused and not was_lost:
            evidence.breach(Rule.REFUSED_AND_KEPT, f"{said}: {answers[-1]['code']}")
        return
    if not rows:
        evidence.breach(Rule.LOST, said)
    if sum(1 for answer in accepted if not answer["duplicate"]) > 1:
        evidence.breach(Rule.FIRST_TWICE, said)
    if sum(answer["charged"] for answer in accepted) > 1:
        evidence.breach(Rule.CHARGED_TWICE, said)
    for answer in accepted:
        position = evidence.positions.get(answer["cursor"])
        if position is None:
            evidence.breach(Rule.UNKNOWN_CURSOR, f"{said}: {answer['cursor']}")
        elif rows and all(row.seq != position for row in rows):
            evidence.breach(Rule.RECEIPT, f"{said}: {position} is not {[row.seq for row in rows]}")


def _accounts(evidence: Evidence) -> None:
    sent = Counter(message.sender for message in evidence.messages)
    received = Counter(message.recipient for message in evidence.messages)
    for name in evidence.charged:
        if evidence.charged[name] != sent[name]:
            evidence.breach(Rule.CHARGED, f"{name}: {evidence.charged[name]} charged, {sent[name]} accepted")
        if evidence.received[name] != received[name]:
            evidence.breach(
                Rule.RECEIVED, f"{name}: {evidence.received[name]} counted, {received[name]} there"
            )
        if evidence.quota is not None and sent[name] > evidence.quota:
            evidence.breach(Rule.OVERRUN, f"{name}: {sent[name]} of {evidence.quota}")


def _signals(evidence: Evidence) -> None:
    if evidence.told is None:
        return
    told = set(evidence.told)
    for message in evidence.messages:
        if (message.sender, message.ident) not in told:
            evidence.breach(Rule.UNSIGNALLED, f"{message.sender} {message.ident} at {message.seq}")


def _inboxes(evidence: Evidence) -> None:
    for name, given in evidence.inboxes.items():
        came = [message for message in evidence.messages if message.recipient == name]
        expected = [
            (each.sender, each.ident) for each in sorted(came, key=lambda each: each.seq, reverse=True)
        ]
        if [tuple(each) for each in given] == expected:
            continue
        missing = Counter(expected) - Counter(map(tuple, given))
        more = Counter(map(tuple, given)) - Counter(expected)
        evidence.breach(Rule.INBOX, f"{name}: {list(missing)[:3]} missing, {list(more)[:3]} too many")


def _log(evidence: Evidence) -> None:
    expected = evidence.floor + 1
    for event in evidence.events:
        if event.seq != expected:
            evidence.breach(Rule.GAP, f"{event.seq} after {expected - 1}")
        expected = event.seq + 1
    if expected != evidence.last + 1:
        evidence.breach(Rule.GAP, f"the head says {evidence.last}, the last event is {expected - 1}")
    told: dict[int, list[Event]] = defaultdict(list)
    for event in evidence.events:
        if event.message is not None:
            told[event.message].append(event)
    for message in evidence.messages:
        events = told[message.key]
        parties = sorted({message.sender, message.recipient})
        if sorted(event.agent for event in events) != parties:
            evidence.breach(Rule.UNTOLD, f"{message.ident}: {[event.agent for event in events]}")
        elif max(event.seq for event in events) != message.seq:
            evidence.breach(Rule.UNTOLD, f"{message.ident}: its seq is {message.seq}")


def _readers(evidence: Evidence) -> None:
    streams: dict[str, list[Event]] = defaultdict(list)
    for event in evidence.events:
        streams[event.agent].append(event)
    idents = {message.key: (message.sender, message.ident, message.digest) for message in evidence.messages}
    for name, lines in evidence.readers.items():
        agent = next(line["agent"] for line in lines if line["is"] == "start")
        _Reading(evidence, name, streams[agent], idents).follow(lines)


class _Reading:
    """One reader's way through its stream."""

    def __init__(
        self, evidence: Evidence, name: str, stream: list[Event], idents: dict[int, tuple[str, str, str]]
    ) -> None:
        self.evidence = evidence
        self.name = name
        self.stream = stream
        self.idents = idents

    def follow(self, lines: Sequence[Line]) -> None:
        asked = ""
        committed, committed_cursor, at = -1, "", -1
        for line in lines:
            match line["is"]:
                case "start":
                    if not committed_cursor:
                        committed, committed_cursor = max(self._at(line["cursor"]), 0), line["cursor"]
                    elif line["cursor"] != committed_cursor:
                        self._breach(Rule.BACKWARDS, f"it began at {line['cursor']}, not {committed_cursor}")
                    at, asked = committed, committed_cursor
                case "page":
                    if line["after"] != asked:
                        raise ValueError(f"{self.name} asked after {line['after']}, but was at {asked}")
                    at, asked = self._page(line, at), line["cursor"]
                case "commit":
                    committed, committed_cursor = at, asked
                case "unexplained":
                    self._breach(Rule.ANSWER, f"{line['status']} {line['code']}: {line.get('text', '')}")
        if committed < self.evidence.last:
            self._breach(Rule.UNRESUMED, f"{committed} of {self.evidence.last}")

    def _page(self, page: Line, at: int) -> int:
        """One answer: exactly what the stream has after ``at``, as far as its cursor; the cursor's position."""
        end = self._at(page["cursor"])
        if end < at:
            self._breach(Rule.BACKWARDS, f"from {at} to {end}")
            end = at
        given = [self._at(event["cursor"]) for event in page["events"]]
        if given != sorted(given):
            self._breach(Rule.DISORDER, f"{given} after {at}")
        elif len(set(given)) != len(given) or (given and given[0] <= at):
            self._breach(Rule.TWICE, f"{given} after {at}")
        expected = {event.seq: event for event in self.stream if at < event.seq <= end}
        for seq in sorted(set(expected) - set(given)):
            self._breach(Rule.MISSED, f"{expected[seq].type} at {seq}, between {at} and {end}")
        for event, seq in zip(page["events"], given, strict=True):
            row = expected.get(seq)
            if row is None:
                self._breach(Rule.DISORDER, f"{event['type']} at {seq}, not of {at} to {end} of the stream")
            elif row.message is not None and tuple(event.get("message") or ()) != self.idents.get(
                row.message
            ):
                self.evidence.breach(Rule.ALTERED, f"{self.name} at {seq}: {event.get('message')}")
        return end

    def _at(self, cursor: str) -> int:
        position = self.evidence.positions.get(cursor)
        if position is None:
            self._breach(Rule.UNKNOWN_CURSOR, cursor)
            return -1
        return position

    def _breach(self, rule: Rule, words: str) -> None:
        self.evidence.breach(rule, f"{self.name}: {words}")


def _orders(evidence: Evidence) -> None:
    """Between readers alone, whatever the database says: who saw what before what."""
    first_seen: dict[str, dict[tuple[str, str], int]] = {}
    for name, lines in evidence.readers.items():
        seen = first_seen[name] = {}
        for line in lines:
            if line["is"] == "page":
                for event in line["events"]:
                    if event.get("message"):
                        seen.setdefault((event["message"][0], event["message"][1]), len(seen))
    for (one, ones), (other, others) in itertools.combinations(first_seen.items(), 2):
        places = [others[message] for message in ones if message in others]
        turned = sum(1 for before, after in itertools.pairwise(places) if before > after)
        if turned:
            evidence.breach(Rule.ORDERS_DIFFER, f"{one} and {other}: {turned} times")


def _nonces(evidence: Evidence) -> None:
    """``use`` lines: every time a captured request was sent and something came back that got past its nonce."""
    for name, lines in evidence.writers.items():
        accepted = Counter(line["nonce"] for line in lines if line["is"] == "use" and line["accepted"])
        for nonce, count in accepted.items():
            if count > 1:
                evidence.breach(Rule.NONCE, f"{name} {nonce}: {count} times")
