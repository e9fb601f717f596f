"""``self``: the whole protocol once through, with nobody else involved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentweb.wire.errors import ClientError
from agentweb.wire.json_types import Json

if TYPE_CHECKING:
    from agentweb.client.messenger.messenger import Messenger
    from agentweb.client.messenger.registering import Progress

TRIAL_FAILED = "trial_failed"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried and works; ``detail`` says how it looked."""

    name: str
    detail: str


def run(messenger: Messenger, progress: Progress | None = None) -> Iterator[Step]:
    """The steps, each when it has passed. Raises the AgentError of the first that does not, ClientError
    ``trial_failed`` where the service did something else than it should."""
    service = messenger.service
    yield Step("discover", f"{service.authority} speaks AIM 2")
    identity = messenger.connect(progress=progress)
    yield Step("connect", identity.address)
    start = messenger.cursor_now()
    body: dict[str, Json] = {"text": "A message to myself.", "numbers": [1, 0.1, 1e21, -0.0], "é\u2028": None}
    waiting = messenger.prepare(identity.address, body, type="self-test")
    receipt = messenger.send_prepared(waiting)
    _expect(not receipt.duplicate and receipt.charged == 1, "the message was charged once", receipt)
    yield Step("send", f"{receipt.id} accepted at {receipt.accepted_at}")
    again = messenger.send_prepared(waiting)
    _expect(again.duplicate and again.charged == 0, "an identical repeat was recognised", again)
    _expect(again.accepted_at == receipt.accepted_at, "a repeat was told when the first was accepted", again)
    yield Step("repeat", "recognised as a duplicate, charged nothing")
    sealed = messenger.send(identity.address, body, type="self-test", sealed=True)
    yield Step("seal", f"{sealed.id} accepted without its content being readable on the way")
    found = {event.message.id: event.message for event in messenger.events_after(start) if event.message}
    _check_received(found.get, receipt.id, sealed.id, body, "the events")
    yield Step("events", "both came, with good signatures")
    shown = {message.id: message for message in messenger.inbox(limit=100).messages}
    _check_received(shown.get, receipt.id, sealed.id, body, "the inbox")
    yield Step("inbox", "both are there; the sealed one opens")


def _check_received(
    find: Callable[[str], Any], plain: str, sealed: str, body: dict[str, Json], where: str
) -> None:
    for identifier in (plain, sealed):
        message = find(identifier)
        _expect(message is not None, f"{identifier} is in {where}", None)
        _expect(message.problem is None, f"{identifier} verifies in {where}", message.problem)
        _expect(message.body == body, f"{identifier} is unchanged in {where}", message.body)


def _expect(holds: bool, what: str, found: object) -> None:
    if not holds:
        raise ClientError(TRIAL_FAILED, f"It does not hold that {what}: {found!r:.300}")
