"""Messenger: one agent at one service of AIM 2."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from agentweb.client.keystore import KeyStore
from agentweb.client.messenger import registering, trial
from agentweb.client.messenger.directory import Directory, Record
from agentweb.client.messenger.link import Link
from agentweb.client.messenger.messages import Reader
from agentweb.client.messenger.paging import Paging
from agentweb.client.messenger.reading import WAIT_SECONDS, Event, Events, Inbox, Page
from agentweb.client.messenger.registering import Progress
from agentweb.client.messenger.sending import Outcome, Receipt, Sender
from agentweb.client.messenger.service import Service, origin_of
from agentweb.client.messenger.store import Identity, MessengerStore, Waiting
from agentweb.client.patience import Patience
from agentweb.client.transport import Transport
from agentweb.wire import clock as wire_clock
from agentweb.wire.aim import envelope as envelopes
from agentweb.wire.aim.addresses import Address, parse_address, parse_recipient
from agentweb.wire.aim.keys import public_of
from agentweb.wire.aim.sealed import seal
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.json_types import Json

if TYPE_CHECKING:
    import httpx

NOT_CONNECTED: Final = "not_connected"
STORE_SUFFIX: Final = ".messenger"


class Messenger:
    """An agent at the messenger of ``url``, with the key of ``keystore``. Threads may share it, but for its events.

    What it has to remember is in a file beside the key store. ``http``, ``allow_hosts``, ``attempts``, ``patience``,
    ``seconds``, ``clock`` and ``sleep`` are those of AgentClient.
    """

    def __init__(
        self,
        url: str,
        keystore: KeyStore,
        *,
        http: httpx.Client | None = None,
        allow_hosts: Collection[str] = (),
        attempts: int = 5,
        patience: float = 60.0,
        seconds: float = 10.0,
        clock: Callable[[], float] = wire_clock.now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.keystore = keystore
        self.store = store_of(keystore)
        self._clock, self._sleep = clock, sleep
        self._transport = Transport(http, allowed=allow_hosts, seconds=seconds)
        self._patient = Transport(http, allowed=allow_hosts, seconds=seconds + WAIT_SECONDS)
        self._link = Link(
            origin_of(url),
            lambda: keystore.key,
            self.store,
            transport=self._transport,
            patient=self._patient,
            patience=lambda: Patience(attempts=attempts, seconds=patience, clock=clock, sleep=sleep),
            clock=clock,
        )
        self._directory = Directory(self._link, self.store)
        self._sender = Sender(self._link, self.store)

    @property
    def authority(self) -> str:
        """What addresses at this service end with."""
        return self._link.authority

    @property
    def service(self) -> Service:
        """The service as it says of itself. Raises ClientError ``manifest_invalid``, ``site_unreachable``."""
        return self._link.service

    @property
    def identity(self) -> Identity | None:
        """Who the agent is here, None when it has not connected yet. Asks nobody."""
        return self.store.identity(self.authority, public_of(self.keystore.key))

    def connect(self, name: str | None = None, *, progress: Progress | None = None) -> Identity:
        """Register the key, under this name or the one that follows from it; the same agent when it is registered.

        ``progress(attempts, expected)`` is told how the proof of work goes. Raises SiteError (``name_taken``,
        ``invalid_name``, ``key_already_registered`` …) and ClientError ``work_too_hard``.
        """
        return registering.register(
            self._link, self.store, self.keystore.key, name, clock=self._clock, progress=progress
        )

    def send(
        self,
        to: str,
        body: Json,
        *,
        type: str = envelopes.MESSAGE,
        reply_to: str | None = None,
        thread_id: str | None = None,
        sealed: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Send a message to ``name@authority``, connecting first when need be; the service's receipt.

        Every call is a message of its own. When this raises UnreachableError or for a limit, the message is kept, and
        ``resume`` sends it. Raises SiteError for what the service refuses, InputError for what is no message, and
        ClientError ``remote_authority`` for an address at another service.
        """
        self._require_local(to)
        if self.identity is None:
            self.connect(progress=progress)
        waiting = self.prepare(to, body, type=type, reply_to=reply_to, thread_id=thread_id, sealed=sealed)
        return self.send_prepared(waiting)

    def prepare(
        self,
        to: str,
        body: Json,
        *,
        type: str = envelopes.MESSAGE,
        reply_to: str | None = None,
        thread_id: str | None = None,
        sealed: bool = False,
    ) -> Waiting:
        """The signed envelope, on the disk and not sent: ``send_prepared`` or ``resume`` sends it.

        Raises ClientError ``not_connected`` and ``remote_authority``, and InputError for what is no message.
        """
        identity = self._require_identity()
        self._require_local(to)
        fields = envelopes.compose(
            identity.address,
            to,
            body,
            type=type,
            reply_to=reply_to,
            thread_id=thread_id,
            ts=envelopes.write_ts(self._link.now()),
        )
        key = self.keystore.key
        signed = seal(fields, key, self._key_of(to)) if sealed else envelopes.sign(fields, key)
        return self._sender.keep(signed, self._clock())

    def send_prepared(self, waiting: Waiting) -> Receipt:
        """Send what ``prepare`` made; what was sent before is told to be a ``duplicate``."""
        return self._sender.send(waiting)

    def outbox(self) -> list[Waiting]:
        """What is kept because its fate is not known, or because it was only prepared. Asks nobody."""
        return self.store.outbox(self.authority)

    def resume(self) -> list[Outcome]:
        """Send what is in the outbox, after a crash say. Raises at the first error that is not about a message."""
        return self._sender.resume()

    def inbox(self, *, cursor: str | None = None, limit: int | None = None) -> Page:
        """Messages of accepted contacts, newest first."""
        return self._inbox().page(cursor=cursor, limit=limit)

    def requests(self, *, cursor: str | None = None, limit: int | None = None) -> Page:
        """Messages of strangers, newest first; at most three of each."""
        return self._inbox().page(lane="requests", cursor=cursor, limit=limit)

    def conversation(self, with_: str, *, cursor: str | None = None, limit: int | None = None) -> Page:
        """What the agent and another one, by address or name, wrote to each other, newest first."""
        return self._inbox().page(with_=with_, cursor=cursor, limit=limit)

    def thread(self, root: str, with_: str, *, cursor: str | None = None, limit: int | None = None) -> Page:
        """The thread that began with the message ``root``, in its order."""
        return self._inbox().thread(root, self._address(with_), cursor, limit)

    def accept(self, who: str) -> None:
        """Take an agent, by address or name, as a contact: its messages come to the inbox."""
        self._set_contact(who, "accepted")

    def block(self, who: str) -> None:
        """Have nothing more of an agent."""
        self._set_contact(who, "blocked")

    def forget(self, who: str) -> None:
        """Make an agent a stranger again."""
        self._require_identity()
        self._link.call("DELETE", self.service.contacts(self._name(who)))

    def contacts(self, state: str | None = None) -> list[dict[str, Any]]:
        """All contacts, by name: ``{"name", "address", "state", …}``."""
        found: dict[str, dict[str, Any]] = {}
        cursor, progress = None, Paging()
        while True:
            page = self._link.call(
                "GET", self.service.contacts(), query={"state": state, "cursor": cursor, "limit": 100}
            )
            known = len(found)
            try:
                found |= {str(each["name"]): dict(each) for each in page["items"]}
                cursor = page["next_cursor"]
            except (KeyError, TypeError, ValueError):
                raise ClientError(
                    Code.RESPONSE_INVALID, "The service's answer is not a page of contacts."
                ) from None
            if not isinstance(cursor, str):
                return list(found.values())
            progress.made(cursor, is_new=len(found) > known)

    def agent(self, name: str) -> Record:
        """Another agent: its address, keys and status. Raises SiteError ``not_found``, ClientError ``key_changed``."""
        return self._directory.look_up(self._name(name))

    def events(self, *, follow: bool = False) -> Iterator[Event]:
        """What happened since the last time, each event once, oldest first.

        An event counts as done when the next one is asked for: only then is the cursor on the disk moved past it. Who
        stops in the middle gets the event again the next time. With ``follow`` it waits for more, for ever.
        """
        return self._events(lambda: self._require_identity().cursor).read(follow=follow)

    def events_after(self, cursor: str) -> Iterator[Event]:
        """The events after a cursor, without touching the one that is kept, and seen or not."""
        reader, progress = self._reader(), Paging()
        while True:
            page = self._link.call("GET", self.service.events, query={"after": cursor, "limit": 100})
            found = Events.look_at(page, reader)
            yield from found
            if page["has_more"] is not True:
                return
            cursor = page["cursor"]
            progress.made(cursor, is_new=bool(found))

    def cursor_now(self) -> str:
        """The cursor of this moment."""
        return Events.place(self._link.call("GET", self.service.events, query={"after": "now"}))

    def try_out(self, progress: Progress | None = None) -> Iterator[trial.Step]:
        """Go once through the protocol with a message to oneself: the steps, each when it has passed."""
        return trial.run(self, progress)

    def close(self) -> None:
        """Close the connections, unless the client was the caller's own."""
        self._transport.close()
        self._patient.close()

    def __enter__(self) -> Messenger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_identity(self) -> Identity:
        identity = self.identity
        if identity is None:
            raise ClientError(
                NOT_CONNECTED,
                f"This key is no agent of {self.authority} yet; connect first.",
                site=self.authority,
            )
        return identity

    def _reader(self) -> Reader:
        identity = self._require_identity()
        return Reader(self._directory, lambda: self.keystore.key, self.authority, identity.name)

    def _inbox(self) -> Inbox:
        return Inbox(self._link, self._reader())

    def _events(self, cursor: Callable[[], str]) -> Events:
        reader = self._reader()
        return Events(
            self._link, self.store, reader, Inbox(self._link, reader), cursor=cursor, sleep=self._sleep
        )

    def _set_contact(self, who: str, state: str) -> None:
        self._require_identity()
        self._link.call("PUT", self.service.contacts(self._name(who)), body={"state": state})

    def _name(self, who: str) -> str:
        try:
            address = parse_address(self._address(who))
        except ValueError as error:
            raise ClientError(Code.INVALID_ADDRESS, str(error)) from None
        self._require_here(address)
        return address.name

    def _require_local(self, to: str) -> None:
        """Raise for an address at another service; what is no address at all is said where the message is made."""
        with suppress(ValueError):
            recipient = parse_recipient(to)
            if isinstance(recipient, Address):
                self._require_here(recipient)

    def _require_here(self, address: Address) -> None:
        if address.authority != self.authority:
            raise ClientError(
                Code.REMOTE_AUTHORITY,
                f"{address} is at another messenger than {self.authority}, which has its own agents only. Connect to "
                f"{address.authority}.",
                site=self.authority,
            )

    def _address(self, who: str) -> str:
        return who if "@" in who else f"{who}@{self.authority}"

    def _key_of(self, to: str) -> str:
        """The key to which a message for ``to`` is sealed."""
        try:
            recipient = parse_recipient(to)
        except ValueError as error:
            raise ClientError(Code.INVALID_ADDRESS, str(error)) from None
        if not isinstance(recipient, Address):
            raise ClientError(Code.SEALED_NOT_ALLOWED, "Only a message to one agent can be sealed.")
        self._directory.forget(recipient.name)
        record = self._directory.look_up(recipient.name)
        if record.key is None:
            raise ClientError(Code.AGENT_DELETED, f"{record.address} is gone; nobody could open the message.")
        return record.key


def store_of(keystore: KeyStore) -> MessengerStore:
    """What messengers keep beside this key, for all services."""
    return MessengerStore(keystore.path.with_name(keystore.path.name + STORE_SUFFIX))
