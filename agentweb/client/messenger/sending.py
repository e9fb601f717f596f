"""Messages on their way: on the disk before the first attempt, and there until their fate is known.

An envelope is made and signed once. Every attempt sends the same bytes, whenever and by whichever process; the service
stores and charges it once, and answers repeats with ``duplicate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from agentweb.client.errors import SiteError, UnreachableError
from agentweb.client.messenger.link import Link
from agentweb.client.messenger.store import MessengerStore, Waiting
from agentweb.wire.aim.envelope import Envelope, parse_request, read
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.json_types import Json

# What a service says of the message itself, after it has looked whether it has it: sent again, it would say the same.
_DECIDED: Final = frozenset(
    {
        Code.INVALID_ENVELOPE,
        Code.UNKNOWN_FIELD,
        Code.INVALID_ADDRESS,
        Code.REMOTE_AUTHORITY,
        Code.RESERVED_TYPE,
        Code.TOO_DEEP,
        Code.TOO_LARGE,
        Code.NUMBER_OUT_OF_RANGE,
        Code.INVALID_UNICODE,
        Code.BAD_ENVELOPE_SIGNATURE,
        Code.TS_OUT_OF_RANGE,
        Code.AUTHOR_MISMATCH,
        Code.UNKNOWN_RECIPIENT,
        Code.UNKNOWN_COMMUNITY,
        Code.AGENT_DELETED,
        Code.RECIPIENT_NOT_ACCEPTING,
        Code.RECIPIENT_KEY_CHANGED,
        Code.SEALED_NOT_ALLOWED,
        Code.ID_REUSED,
        Code.ID_CONFLICT,
        Code.UNKNOWN_REPLY_TARGET,
        Code.REPLY_TARGET_EXPIRED,
        Code.THREAD_MISMATCH,
    }
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The service has the message for good. ``duplicate``: it had it before, and charged nothing this time."""

    envelope: Envelope
    duplicate: bool
    accepted_at: str
    cursor: str
    charged: int

    @property
    def id(self) -> str:
        return self.envelope.id

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "to": str(self.envelope.to),
            "accepted": True,
            "duplicate": self.duplicate,
            "accepted_at": self.accepted_at,
            "cursor": self.cursor,
            "charged": self.charged,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a message that was left over: a receipt, or the error with which it was refused for good."""

    id: str
    receipt: Receipt | None
    error: AgentError | None


class Sender:
    """Sends what is in the outbox of one service."""

    def __init__(self, link: Link, store: MessengerStore) -> None:
        self._link = link
        self._store = store

    def keep(self, envelope: dict[str, Json], now: float) -> Waiting:
        """Bring the signed envelope to the disk; nothing has been sent when this returns."""
        kept = read(envelope)
        waiting = Waiting(self._link.authority, kept.id, kept.text, now)
        self._store.put(waiting)
        return waiting

    def send(self, waiting: Waiting) -> Receipt:
        """Send it until it is answered.

        Raises SiteError for a refusal. Afterwards it is still in the outbox unless the service decided about the
        message itself; so it is when no answer came (UnreachableError).
        """
        try:
            answer = self._link.call(
                "POST", self._link.service.messages, body=waiting.envelope.encode("utf-8")
            )
        except SiteError as error:
            if error.code in _DECIDED:
                self._store.settle(waiting.authority, waiting.id)
            raise
        receipt = _receipt(waiting, answer)
        self._store.settle(waiting.authority, waiting.id)
        return receipt

    def resume(self) -> list[Outcome]:
        """Send everything that is left, in its order. Stops, raising it, at the first error that is not about a
        message: no answer, a limit, a key that is not known."""
        outcomes: list[Outcome] = []
        for waiting in self._store.outbox(self._link.authority):
            try:
                outcomes.append(Outcome(waiting.id, self.send(waiting), None))
            except UnreachableError:
                raise
            except SiteError as error:
                if error.code not in _DECIDED:
                    raise
                outcomes.append(Outcome(waiting.id, None, error))
        return outcomes


def _receipt(waiting: Waiting, answer: Any) -> Receipt:
    envelope = read(parse_request(waiting.envelope.encode("utf-8")))
    try:
        if answer["id"] != envelope.id or answer["accepted"] is not True:
            raise ValueError(answer)
        return Receipt(
            envelope,
            duplicate=bool(answer["duplicate"]),
            accepted_at=str(answer["accepted_at"]),
            cursor=str(answer["cursor"]),
            charged=int(answer["charged"]),
        )
    except (KeyError, TypeError, ValueError):
        raise ClientError(
            Code.RESPONSE_INVALID,
            "The service's answer does not say that it has the message; it is sent again.",
        ) from None
