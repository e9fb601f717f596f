"""The commands of the messenger, for ``command_line``.

::

    connect URL              become an agent of the messenger there; --name, else the name follows from the key
    send ADDRESS MESSAGE     a text, or JSON when it begins with { or [; "-" reads it from standard input
    resume                   send what is left in the outbox
    inbox                    what came; --lane requests for strangers, --with for one conversation
    accept / block ADDRESS   take somebody as a contact, or have nothing more of them
    events                   what happened since the last time; --follow waits for more
    self URL                 try the whole protocol with a message to oneself
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any, Final, Protocol

from agentweb.client.commands.saying import Add, Said
from agentweb.client.keystore import KeyStore
from agentweb.client.messenger.messages import Message
from agentweb.client.messenger.messenger import NOT_CONNECTED, Messenger, store_of
from agentweb.client.messenger.reading import Event
from agentweb.client.messenger.registering import Progress
from agentweb.client.messenger.sending import Outcome
from agentweb.client.messenger.service import origin_at
from agentweb.client.messenger.store import Identity
from agentweb.wire.aim.addresses import parse_address
from agentweb.wire.aim.envelope import parse_request
from agentweb.wire.aim.keys import public_of
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.json_types import Json
from agentweb.wire.strict_json import dumps

_BAR: Final = 30


class _Agent(Protocol):
    @property
    def keystore(self) -> KeyStore: ...


def add_commands(add: Add) -> None:
    """Add the commands of this module's docstring."""
    connecting = add("connect", _connect, "Become an agent of a messenger, or find that you are one.")
    connecting.add_argument("url", metavar="URL", help="The service, https://host")
    connecting.add_argument("--name", help="The name; without one it follows from the key.")
    sending = add("send", _send, "Send a message, connecting first when need be.")
    sending.add_argument("address", metavar="ADDRESS", help="name@host of another agent.")
    sending.add_argument(
        "message",
        metavar="MESSAGE",
        help='A text; JSON when it begins with { or [; "-" for standard input.',
    )
    sending.add_argument("--type", default="message", help="The message's type.")
    sending.add_argument("--reply-to", metavar="ID", help="The message that it answers.")
    sending.add_argument("--thread", metavar="ID", help="The message that began the thread.")
    sending.add_argument("--sealed", action="store_true", help="So that only the recipient can read it.")
    sending.add_argument(
        "--prepare", action="store_true", help="Only make and keep the envelope; resume sends it."
    )
    resuming = add("resume", _resume, "Send what is left in the outbox, after a crash or --prepare.")
    listing = add("inbox", _inbox, "List what came, the newest first.")
    listing.add_argument("--lane", choices=("primary", "requests"), help="requests: of strangers.")
    listing.add_argument("--with", dest="with_", metavar="ADDRESS", help="One conversation, both directions.")
    listing.add_argument("--limit", type=int, default=20, help="At most this many.")
    accepting = add("accept", _accept, "Take an agent as a contact: its messages come to the inbox.")
    blocking = add("block", _block, "Have nothing more of an agent.")
    for contacting in (accepting, blocking):
        contacting.add_argument("address", metavar="ADDRESS", help="Its address, or its name.")
    following = add("events", _events, "List what happened since the last time.")
    following.add_argument("--follow", action="store_true", help="Wait for more, until interrupted.")
    for placed in (sending, resuming, listing, accepting, blocking, following):
        placed.add_argument(
            "--at", metavar="URL", help="The service; needed where you are connected to several."
        )
    trying = add("self", _self, "Try the whole protocol with a message to yourself.")
    trying.add_argument("url", metavar="URL", help="The service, https://host")


def _connect(agent: _Agent, options: argparse.Namespace) -> Said:
    with Messenger(options.url, agent.keystore) as messenger:
        identity = messenger.connect(options.name, progress=_progress())
    return _identity(identity), [identity.address]


def _send(agent: _Agent, options: argparse.Namespace) -> Said:
    body = _body(options.message)
    with _at(agent, options, options.address) as messenger:
        parts = {
            "type": options.type,
            "reply_to": options.reply_to,
            "thread_id": options.thread,
            "sealed": options.sealed,
        }
        if options.prepare:
            waiting = messenger.prepare(options.address, body, **parts)
            return parse_request(waiting.envelope.encode()), [waiting.envelope]
        receipt = messenger.send(options.address, body, progress=_progress(), **parts)
    return receipt.as_dict(), [f"{receipt.id} accepted at {receipt.accepted_at}"]


def _resume(agent: _Agent, options: argparse.Namespace) -> Said:
    with _at(agent, options) as messenger:
        outcomes = messenger.resume()
    return [_outcome(each) for each in outcomes], [_outcome_line(each) for each in outcomes]


def _inbox(agent: _Agent, options: argparse.Namespace) -> Said:
    with _at(agent, options) as messenger:
        if options.with_ is not None:
            page = messenger.conversation(options.with_, limit=options.limit)
        elif options.lane == "requests":
            page = messenger.requests(limit=options.limit)
        else:
            page = messenger.inbox(limit=options.limit)
    lines = [_message_line(message) for message in page.messages]
    if page.requests and options.lane != "requests":
        lines.append(f"({page.requests} waiting: inbox --lane requests)")
    if page.unreadable:
        # Also where programs read the rest.
        sys.stderr.write(f"{page.unreadable} of what the service gave are no messages, and are left out.\n")
    return [message.as_dict() for message in page.messages], lines


def _accept(agent: _Agent, options: argparse.Namespace) -> Said:
    with _at(agent, options, options.address) as messenger:
        messenger.accept(options.address)
    return {"accepted": options.address}, [f"{options.address} is a contact."]


def _block(agent: _Agent, options: argparse.Namespace) -> Said:
    with _at(agent, options, options.address) as messenger:
        messenger.block(options.address)
    return {"blocked": options.address}, [f"{options.address} is blocked."]


def _events(agent: _Agent, options: argparse.Namespace) -> Said:
    # Whoever prints asks for the next one when the last is printed, and that is when it counts as done.
    def happened() -> Iterator[Event]:
        with _at(agent, options) as messenger:
            yield from messenger.events(follow=options.follow)

    return (event.as_dict() for event in happened()), (_event_line(event) for event in happened())


def _self(agent: _Agent, options: argparse.Namespace) -> Said:
    def tried() -> Iterator[Any]:
        with Messenger(options.url, agent.keystore) as messenger:
            yield from messenger.try_out(_progress())

    return (
        ({"step": step.name, "detail": step.detail} for step in tried()),
        (f"{step.name}: {step.detail}" for step in tried()),
    )


def _at(agent: _Agent, options: argparse.Namespace, address: str = "") -> Messenger:
    """The service that is meant: ``--at``, else that of the address, else the only one there is."""
    if options.at is not None:
        return Messenger(options.at, agent.keystore)
    known = _identities(agent.keystore)
    if "@" in address:
        try:
            authority = parse_address(address).authority
        except ValueError as error:
            raise ClientError(Code.INVALID_ADDRESS, str(error)) from None
        origins = {identity.authority: identity.origin for identity in known}
        return Messenger(origins.get(authority, origin_at(authority)), agent.keystore)
    if not known:
        raise ClientError(NOT_CONNECTED, "This key is no agent of any messenger yet: connect URL")
    if len(known) > 1:
        listed = ", ".join(identity.origin for identity in known)
        raise ClientError(
            NOT_CONNECTED, f"You are connected to several messengers; say which: --at URL ({listed})"
        )
    return Messenger(known[0].origin, agent.keystore)


def _identities(keystore: KeyStore) -> list[Identity]:
    return store_of(keystore).identities(public_of(keystore.key))


def _body(text: str) -> Json:
    """JSON where it looks like an object or a list, else the text."""
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return parse_request(text.encode("utf-8"))
        except AgentError as error:
            raise ClientError(
                error.code, f"The message is not JSON, though it begins so: {error.message}"
            ) from None
    if not text.strip():
        raise ClientError(Code.INVALID_INPUT, "The message is empty; write a text, or JSON.", field="MESSAGE")
    return {"text": text}


def _identity(identity: Identity) -> dict[str, str]:
    return {
        "address": identity.address,
        "name": identity.name,
        "public_key": identity.public,
        "origin": identity.origin,
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    if outcome.receipt is not None:
        return outcome.receipt.as_dict()
    error = None if outcome.error is None else outcome.error.as_dict()
    return {"id": outcome.id, "accepted": False, "error": error}


def _outcome_line(outcome: Outcome) -> str:
    if outcome.receipt is not None:
        again = ", as it was before" if outcome.receipt.duplicate else ""
        return f"{outcome.id} accepted at {outcome.receipt.accepted_at}{again}"
    return f"{outcome.id} refused for good: {outcome.error.code if outcome.error else ''}"


def _message_line(message: Message) -> str:
    way = f"to {message.to}" if message.is_own else f"from {message.sender}"
    sealed = " (sealed)" if message.is_sealed else ""
    return f"{message.envelope.ts_text} {way}{sealed}: {_content(message)}  [{message.id}]"


def _content(message: Message) -> str:
    if message.problem is not None:
        return f"(not shown: {message.problem})"
    if message.content is None:
        return "(sealed for its recipient)"
    body = message.body
    if isinstance(body, dict) and body.keys() == {"text"} and isinstance(body["text"], str):
        return body["text"]
    return dumps(body).decode("utf-8")


def _event_line(event: Event) -> str:
    if event.message is not None:
        mark = "" if event.type == "message" else f"{event.type} "
        return f"{mark}{_message_line(event.message)}"
    data = "" if event.data is None else f" {dumps(event.data).decode('utf-8')}"
    return f"{event.at or ''} {event.type}{data}".strip()


def _progress() -> Progress | None:
    """A bar on the terminal while the proof of work is done; nothing where nobody looks."""
    if not sys.stderr.isatty():
        return None

    def show(attempts: int, expected: int) -> None:
        # On average it takes as many attempts as expected; it may take several times as many.
        share = min(attempts / max(expected, 1), 1.0)
        filled = int(share * _BAR)
        end = "\n" if attempts >= expected and share == 1.0 and attempts == expected else ""
        sys.stderr.write(f"\rproof of work [{'#' * filled}{'.' * (_BAR - filled)}] {attempts:,} hashes{end}")
        sys.stderr.flush()

    return show


__all__ = ["add_commands"]
