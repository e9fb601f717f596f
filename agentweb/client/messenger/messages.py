"""Messages as they come: verified, and opened when they are sealed, before anybody sees their content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from agentweb.client.messenger.directory import KEY_CHANGED, Directory, is_unknown
from agentweb.wire.aim.addresses import Address
from agentweb.wire.aim.envelope import SEALED, Envelope, read, signature_is_valid
from agentweb.wire.aim.keys import public_of
from agentweb.wire.aim.sealed import SealError, open_sealed
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.json_types import Json
from agentweb.wire.signing import SigningKey

_TRUSTED_AS_GIVEN: Final = ("received_at", "cursor", "lane")


@dataclass(frozen=True, slots=True)
class Message:
    """A message. ``envelope`` is what was signed and sent; ``content`` the same, or what was sealed in it.

    ``content`` is None when there is nothing to show: ``problem`` then says why (``signature``, ``unknown_key``,
    ``key_changed``, ``authority``, ``unknown_agent``; ``opening``, ``members``, ``recipient`` of a sealed one), or
    is None too, of an own message that was sealed for somebody else. What has a problem was perhaps not written by
    whom it names.
    """

    envelope: Envelope
    content: Envelope | None
    problem: str | None
    is_own: bool
    received_at: str | None = None
    cursor: str | None = None
    lane: str | None = None

    @property
    def id(self) -> str:
        return self.envelope.id

    @property
    def sender(self) -> str:
        return str(self.envelope.sender)

    @property
    def to(self) -> str:
        return str(self.envelope.to)

    @property
    def is_sealed(self) -> bool:
        return self.envelope.type == SEALED

    @property
    def type(self) -> str:
        return (self.content or self.envelope).type

    @property
    def body(self) -> Json:
        """What was written, never None but where there is no content."""
        return None if self.content is None else self.content.body

    def as_dict(self) -> dict[str, Any]:
        """For programs: ``{"id", "from", "to", "type", "ts", "body", "reply_to", "thread_id", "sealed", "problem",
        "received_at", "lane"}``."""
        return {
            "id": self.id,
            "from": self.sender,
            "to": self.to,
            "type": self.type,
            "ts": self.envelope.ts_text,
            "body": self.body,
            "reply_to": self.envelope.reply_to,
            "thread_id": self.envelope.thread_id,
            "sealed": self.is_sealed,
            "problem": self.problem,
            "received_at": self.received_at,
            "lane": self.lane,
        }


class Reader:
    """Makes messages of the items of a service. ``name`` is the reader's own."""

    def __init__(
        self, directory: Directory, key: Callable[[], SigningKey], authority: str, name: str
    ) -> None:
        self._directory = directory
        self._key = key
        self._authority = authority
        self._name = name

    def message(self, item: Any, member: str = "envelope") -> Message:
        """The message of ``{"envelope", "signed_by", …}``. Raises ClientError ``response_invalid``."""
        try:
            envelope = read(item[member])
            signed_by = item.get("signed_by")
            given = {name: _text(item.get(name)) for name in _TRUSTED_AS_GIVEN}
        except (AgentError, KeyError, TypeError, AttributeError):
            raise ClientError(Code.RESPONSE_INVALID, "The service gave a message that is none.") from None
        is_own = envelope.sender == Address(self._name, self._authority)
        content, problem = self._verified(envelope, _text(signed_by), is_own=is_own)
        return Message(envelope, content, problem, is_own, **given)

    def _verified(
        self, envelope: Envelope, signed_by: str | None, *, is_own: bool
    ) -> tuple[Envelope | None, str | None]:
        if envelope.sender.authority != self._authority:
            return None, "authority"
        if is_own:
            return self._own(envelope)
        if str(envelope.to) != f"{self._name}@{self._authority}":
            return None, "recipient"
        try:
            record = self._directory.look_up(envelope.sender.name, knows=signed_by)
        except AgentError as error:
            if is_unknown(error):
                return None, "unknown_agent"
            if error.code in {KEY_CHANGED, Code.RESPONSE_INVALID}:
                return None, "key_changed" if error.code == KEY_CHANGED else "unknown_key"
            raise
        key = signed_by if signed_by is not None else record.key
        if key is None or key not in record.keys:
            return None, "unknown_key"
        is_signed = envelope.sig is not None or envelope.type != SEALED
        if is_signed and not signature_is_valid(envelope, key):
            return None, "signature"
        if envelope.type != SEALED:
            return envelope, None
        try:
            return open_sealed(envelope, self._key(), key), None
        except SealError as error:
            return None, error.reason

    def _own(self, envelope: Envelope) -> tuple[Envelope | None, str | None]:
        key = self._key()
        if envelope.sig is not None and not signature_is_valid(envelope, public_of(key)):
            return None, "signature"
        if envelope.type != SEALED:
            return envelope, None
        try:
            return open_sealed(envelope, key, public_of(key)), None
        except SealError:
            return None, None  # sealed for somebody else


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
