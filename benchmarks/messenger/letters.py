"""Agents with keys that everybody can derive, and requests that they signed: made before the time is taken.

Nothing here needs Django, so the load is prepared by whoever sends it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, Final

from agentweb.wire.aim import authorization, envelope, keys
from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url
from agentweb.wire.signing import SigningKey

AUTHORITY: Final = "127.0.0.1"
PATH: Final = "/v2/messages"
AGENTS: Final = 64
CONTACTS: Final = 8
"""Each agent has accepted this many after it and this many before it, and they have accepted it."""

SMALL: Final = 400
LARGE: Final = 8_192
_LINE: Final = "The quick brown fox jumps over the lazy dog; the dog does not mind. "


@dataclass(frozen=True)
class Writer:
    """The agent of a number; its key is of its number too."""

    number: int

    @cached_property
    def signer(self) -> SigningKey:
        return SigningKey.from_seed(hashlib.sha256(f"benchmarks {self.number}".encode()).digest())

    @cached_property
    def public(self) -> str:
        return keys.public_of(self.signer)

    @property
    def name(self) -> str:
        return f"bench-{self.number:06d}"

    @property
    def address(self) -> str:
        return f"{self.name}@{AUTHORITY}"

    def contact(self, turn: int) -> Writer:
        """One of those with whom it writes, another one each turn."""
        return Writer((self.number + 1 + turn % CONTACTS) % AGENTS)


@dataclass(frozen=True, slots=True)
class Signed:
    """A request with a nonce of its own. ``envelopes`` are the documents in its body."""

    method: str
    target: str
    header: str
    body: bytes
    writer: Writer
    envelopes: tuple[dict[str, Any], ...] = ()

    def raw(self, host: str) -> bytes:
        """As it goes over the wire."""
        lines = [f"{self.method} {self.target} HTTP/1.1", f"Host: {host}", f"Authorization: {self.header}"]
        if self.body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(self.body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


def sign(writer: Writer, method: str, target: str, body: bytes = b"", *envelopes: dict[str, Any]) -> Signed:
    header = authorization.sign_request(writer.signer, method, target, AUTHORITY, body, ts=int(time.time()))
    return Signed(method, target, header, body, writer, envelopes)


def letter(writer: Writer, to: Writer, size: int) -> dict[str, Any]:
    """A signed envelope of ``size`` bytes in its canonical form: lines of text with numbers between them."""
    fields: dict[str, Any] = envelope.compose(writer.address, to.address, _body(size - _frame()))
    digest = hashlib.sha256(canonicalize(fields)).digest()
    return {**fields, "sig": b64url(writer.signer.sign(digest))}


def singles(many: int, size: int) -> Iterator[Signed]:
    """Requests with one message each; the writers take turns."""
    for turn in range(many):
        writer = Writer(turn % AGENTS)
        document = letter(writer, writer.contact(turn // AGENTS), size)
        yield sign(writer, "POST", PATH, canonicalize(document), document)


def batches(many: int, size: int, of: int = envelope.BATCH_MAX) -> Iterator[Signed]:
    """Requests with ``of`` messages each."""
    for turn in range(many):
        writer = Writer(turn % AGENTS)
        documents = [letter(writer, writer.contact(at), size) for at in range(of)]
        yield sign(writer, "POST", PATH, canonicalize({"messages": list(documents)}), *documents)


def reads(many: int, target: str, writer: Writer | None = None) -> Iterator[Signed]:
    """Signed GETs, of one agent or of all in turn."""
    for turn in range(many):
        yield sign(writer or Writer(turn % AGENTS), "GET", target)


def _body(size: int) -> dict[str, Any]:
    lines: list[Any] = []
    for number in count():
        left = size - len(canonicalize({"lines": [*lines, {"n": number, "text": ""}]}))
        if left <= len(_LINE):
            break
        lines.append({"n": number, "text": _LINE})
    return {"lines": [*lines, {"n": number, "text": "x" * max(0, left)}]}


def _frame() -> int:
    """Bytes of an envelope around its body."""
    one = Writer(0)
    fields = envelope.compose(one.address, one.address, 0)
    return len(json.dumps({**fields, "sig": "s" * 86}, separators=(",", ":"))) - 1
