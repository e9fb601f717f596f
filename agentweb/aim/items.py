"""One envelope of a request on its way to a verdict, and the verdict as it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from agentweb.aim.messages import Known
from agentweb.aim.recipients import Party
from agentweb.wire.aim import envelope as envelopes
from agentweb.wire.aim.envelope import SEALED, Envelope, signature_is_valid
from agentweb.wire.errors import AgentError, AuthorizationError, Code, ConflictError, RequestError
from agentweb.wire.json_types import Json

_ACCEPTED: Final = 202


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The verdict about one envelope: accepted, now or before, or ``error``. ``id`` is None when it has none.

    ``accepted_at`` and ``cursor`` are those of the first time; the cursor is the position of the last event that was
    written for the message.
    """

    id: str | None
    accepted_at: str | None = None
    cursor: str | None = None
    duplicate: bool = False
    error: AgentError | None = None

    @property
    def accepted(self) -> bool:
        return self.error is None

    @property
    def charged(self) -> int:
        """Units of the message quota."""
        return int(self.accepted and not self.duplicate)

    @property
    def status(self) -> int:
        return _ACCEPTED if self.error is None else self.error.status

    def receipt(self) -> dict[str, Any]:
        """The answer to a single message: ``{"id", "accepted", "duplicate", "accepted_at", "cursor", "charged"}``."""
        return {
            "id": self.id,
            "accepted": True,
            "duplicate": self.duplicate,
            "accepted_at": self.accepted_at,
            "cursor": self.cursor,
            "charged": self.charged,
        }

    def as_dict(self) -> dict[str, Any]:
        """One of the ``results`` of a batch: the receipt with ``status``; refused, ``error`` is in place of when and
        where."""
        if self.error is None:
            return {**self.receipt(), "status": self.status}
        return {
            "id": self.id,
            "status": self.status,
            "accepted": False,
            "duplicate": False,
            "charged": 0,
            "error": self.error.as_dict(),
        }


@dataclass(slots=True)
class Item:
    """``is_signed`` says whether the current key of the author signed it (a sealed one need not be).

    It ends with ``error``, with the ``known`` message that it repeats, as the ``twin`` of an earlier item of the
    request, or stored: then ``key`` is its primary key, and ``stored`` says when and at which cursor.
    """

    id: str | None
    envelope: Envelope | None = None
    is_signed: bool = True
    error: AgentError | None = None
    known: Known | None = None
    twin: Item | None = None
    recipient: Party | None = None
    conversation: str = ""
    root: str = ""
    key: int = 0
    stored: tuple[str, str] | None = None

    def fresh(self) -> Item:
        return Item(self.id, self.envelope, self.is_signed, self.error)

    def result(self) -> ItemResult:
        if self.error is not None:
            return ItemResult(self.id, error=self.error)
        if self.twin is not None:
            return self._result_after(self.twin)
        if self.stored is None:
            raise RuntimeError("an item was neither refused nor stored")
        at, cursor = self.stored
        return ItemResult(self.id, at, cursor, duplicate=self.known is not None)

    def _result_after(self, first: Item) -> ItemResult:
        """Its id came earlier in the request, and what became of that decides."""
        found = first.result()
        if found.error is not None:
            return ItemResult(self.id, error=found.error)
        if self.envelope is None or first.envelope is None or self.envelope.digest != first.envelope.digest:
            return ItemResult(self.id, error=id_reused())
        return ItemResult(self.id, found.accepted_at, found.cursor, duplicate=True)


def read(value: Json, author: str, key: str) -> Item:
    """The envelope in one element of a request: shape, author, signature. ``author`` is the caller's address."""
    try:
        envelope = envelopes.read(value)
    except AgentError as error:
        return Item(_id_of(value), error=error)
    if str(envelope.sender) != author:
        mismatch = AuthorizationError(
            Code.AUTHOR_MISMATCH,
            f"The request is signed by {author}; from must be just that.",
            field="from",
            details={"author": author},
        )
        return Item(envelope.id, envelope, error=mismatch)
    needs_none = envelope.type == SEALED and envelope.sig is None
    return Item(envelope.id, envelope, is_signed=needs_none or signature_is_valid(envelope, key))


def _id_of(value: Json) -> str | None:
    """The id of what is no envelope, so that its sender knows which one is meant."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) and envelopes.ID.fullmatch(found) else None


def bad_signature() -> RequestError:
    return RequestError(
        Code.BAD_ENVELOPE_SIGNATURE,
        "sig is not the signature, by your current key, of the SHA-256 of the RFC 8785 form of the envelope without "
        "sig.",
        field="sig",
    )


def id_reused() -> ConflictError:
    return ConflictError(
        Code.ID_REUSED,
        "You have sent another message with this id. Repeat a message exactly as it was; give a new one a new id.",
        field="id",
    )
