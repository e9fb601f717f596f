"""What came: pages of messages, and events that are handed out once they are due and committed once they are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, Final

from agentweb.client.errors import SiteError, UnreachableError
from agentweb.client.messenger.link import Link, Query
from agentweb.client.messenger.messages import Message, Reader
from agentweb.client.messenger.paging import Paging
from agentweb.client.messenger.store import MessengerStore
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.json_types import Json

WAIT_SECONDS: Final = 25
"""How long a service may let us wait for an event."""
PAGE: Final = 100
GAP: Final = "gap"
"""Type of an event that no service sends: events were lost to us, and what follows is what the inbox has."""

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_LONGEST_WAIT: Final = 3_600.0
"""Seconds after which a service is asked again, however much later it wants to be."""
_GAPS: Final = 3
"""How often in a row a service may say that its log has lost our place."""
_MESSAGES: Final = frozenset({"message", "request"})


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``message`` is there in those of the types ``message`` and ``request``, unless it is gone
    (``data["tombstone"]``) or is none (``data["problem"]``). ``recovered``: not from the log, which no longer has it,
    but from the inbox."""

    type: str
    cursor: str | None
    at: str | None
    scope: str | None
    message: Message | None = None
    data: Json = None
    recovered: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "cursor": self.cursor,
            "at": self.at,
            "scope": self.scope,
            "message": None if self.message is None else self.message.as_dict(),
            "data": self.data,
            "recovered": self.recovered,
        }


@dataclass(frozen=True, slots=True)
class Page:
    """Messages, the newest first, and where the next page begins; ``requests`` is how many strangers wait.

    ``tombstones`` are what the service says of messages of the page that are gone, and ``unreadable`` is how many of
    its entries are no messages.
    """

    messages: tuple[Message, ...]
    next_cursor: str | None
    requests: int | None = None
    tombstones: tuple[Json, ...] = ()
    unreadable: int = 0


class Inbox:
    """Pages of the lanes, of a conversation and of a thread."""

    def __init__(self, link: Link, reader: Reader) -> None:
        self._link = link
        self._reader = reader

    def page(
        self,
        *,
        lane: str | None = None,
        with_: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page:
        query = {"lane": lane, "with": with_, "cursor": cursor, "limit": limit}
        answer = self._link.call("GET", self._link.service.inbox, query=query)
        return self._read(answer)

    def thread(self, root: str, with_: str, cursor: str | None = None, limit: int | None = None) -> Page:
        query = {"in": with_, "cursor": cursor, "limit": limit}
        return self._read(self._link.call("GET", self._link.service.thread(root), query=query))

    def pages(self, *, lane: str) -> Iterator[Page]:
        """Every page of a lane, until there are no more messages."""
        cursor, progress, known = None, Paging(), set[tuple[str, str]]()
        while True:
            page = self.page(lane=lane, cursor=cursor, limit=PAGE)
            yield page
            if page.next_cursor is None:
                return
            found = {(message.sender, message.id) for message in page.messages}
            progress.made(page.next_cursor, is_new=not found <= known)
            known |= found
            cursor = page.next_cursor

    def _read(self, answer: Any) -> Page:
        try:
            entries, following = answer["items"], answer["next_cursor"]
            waiting = answer["counts"]["requests"] if "counts" in answer else None
        except (KeyError, TypeError):
            raise _invalid("a page of messages") from None
        if not isinstance(entries, list):
            raise _invalid("a page of messages")
        messages: list[Message] = []
        tombstones: list[Json] = []
        unreadable = 0
        for item in (item for entry in entries for item in _items(entry)):
            if isinstance(item, dict) and "tombstone" in item:
                tombstones.append(item["tombstone"])
                continue
            try:
                messages.append(self._reader.message(item))
            except ClientError as error:
                if error.code != Code.RESPONSE_INVALID:
                    raise
                # One of them is not to keep all others from being read.
                unreadable += 1
        return Page(
            tuple(messages),
            following if isinstance(following, str) else None,
            waiting if isinstance(waiting, int) else None,
            tuple(tombstones),
            unreadable,
        )


def _items(entry: Any) -> list[Any]:
    """The items of an entry: requests come as groups of one sender."""
    grouped = entry.get("messages") if isinstance(entry, dict) else None
    return grouped if isinstance(grouped, list) else [entry]


class Events:
    """The events of one agent after its cursor. Not to be read by two at a time."""

    def __init__(
        self,
        link: Link,
        store: MessengerStore,
        reader: Reader,
        inbox: Inbox,
        *,
        cursor: Callable[[], str],
        sleep: Callable[[float], None],
    ) -> None:
        self._link = link
        self._store = store
        self._reader = reader
        self._inbox = inbox
        self._cursor = cursor
        self._sleep = sleep

    def read(self, *, follow: bool) -> Iterator[Event]:
        """Each event once. It counts as done, and the cursor moves past it, when the next one is asked for.

        With ``follow`` it goes on for ever, through outages of the service; without, it ends with what is there.
        """
        pause, gaps, progress = _FIRST_PAUSE, 0, Paging()
        while True:
            begun = time.monotonic()
            try:
                answer = self._ask(follow=follow)
            except SiteError as error:
                if error.code in {Code.CURSOR_EXPIRED, Code.CURSOR_FUTURE} and gaps < _GAPS:
                    gaps += 1
                    yield from self._recover(error)
                    continue
                if not follow or error.retry_after is None:
                    raise
                self._sleep(min(error.retry_after, _LONGEST_WAIT))
                continue
            except UnreachableError:
                if not follow:
                    raise
                self._sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            pause, gaps = _FIRST_PAUSE, 0
            page = _EventPage.read(answer)
            count = yield from self._hand_out(page)
            if page.has_more:
                progress.made(page.cursor, is_new=count > 0)
                continue
            if not follow:
                return
            progress = Paging()
            if not count and time.monotonic() - begun < _FIRST_PAUSE:
                # The service could not let us wait.
                self._sleep(page.retry_after or _FIRST_PAUSE)

    def _ask(self, *, follow: bool) -> Any:
        query: Query = {"after": self._cursor(), "limit": PAGE, "wait": WAIT_SECONDS if follow else None}
        return self._link.call("GET", self._link.service.events, query=query, wait=follow)

    def _hand_out(self, page: _EventPage) -> Generator[Event, None, int]:
        """The events of the page that were not seen before; how many."""
        authority, count = self._link.authority, 0
        for entry in page.events:
            event = _event(entry, self._reader)
            key = None if event.message is None else (event.message.sender, event.message.id)
            if key is None or not self._store.is_seen(authority, *key):
                count += 1
                yield event
            self._store.commit(authority, event.cursor, key)
        self._store.commit(authority, page.cursor)
        return count

    @staticmethod
    def look_at(answer: Any, reader: Reader) -> list[Event]:
        """The events of a page, without committing to anything."""
        return [_event(entry, reader) for entry in _EventPage.read(answer).events]

    @staticmethod
    def place(answer: Any) -> str:
        """The cursor of a page."""
        return _EventPage.read(answer).cursor

    def _recover(self, error: AgentError) -> Iterator[Event]:
        """The log no longer has what comes after our cursor: take what the inbox has, then go on where it begins."""
        details = error.extra.get("details")
        oldest = details.get("oldest_cursor") if isinstance(details, dict) else None
        if not isinstance(oldest, str) or oldest == self._cursor():
            raise error
        authority = self._link.authority
        yield Event(GAP, None, None, None, data={"code": error.code, "details": details})
        for lane in ("primary", "requests"):
            kind = "request" if lane == "requests" else "message"
            for page in self._inbox.pages(lane=lane):
                for message in page.messages:
                    key = (message.sender, message.id)
                    if not self._store.is_seen(authority, *key):
                        yield Event(kind, None, message.received_at, None, message, recovered=True)
                        self._store.commit(authority, seen=key)
                if page.unreadable:
                    problem = f"{page.unreadable} of the inbox are no messages."
                    yield Event(kind, None, None, None, data={"problem": problem}, recovered=True)
        self._store.commit(authority, oldest)


def _event(entry: Any, reader: Reader) -> Event:
    try:
        kind, cursor = entry["type"], entry["cursor"]
        if not isinstance(kind, str) or not isinstance(cursor, str):
            raise TypeError(kind)
        data = entry.get("data")
        at, scope = (value if isinstance(value, str) else None for value in map(entry.get, ("at", "scope")))
    except (KeyError, TypeError, AttributeError):
        raise _invalid("an event") from None
    message = None
    if kind in _MESSAGES and "message" in entry:
        try:
            message = reader.message(entry, "message")
        except ClientError as error:
            if error.code != Code.RESPONSE_INVALID:
                raise
            # Whatever the service gives, it must not hold up what comes after it.
            data = {"problem": error.message}
    return Event(kind, cursor, at, scope, message, data)


@dataclass(frozen=True, slots=True)
class _EventPage:
    events: list[Any]
    cursor: str
    has_more: bool
    retry_after: float | None

    @classmethod
    def read(cls, answer: Any) -> _EventPage:
        try:
            events, cursor, has_more = answer["events"], answer["cursor"], answer["has_more"]
            asked = answer.get("retry_after")
        except (KeyError, TypeError, AttributeError):
            raise _invalid("a page of events") from None
        if not isinstance(events, list) or not isinstance(cursor, str):
            raise _invalid("a page of events")
        is_number = isinstance(asked, (int, float)) and not isinstance(asked, bool) and 0 < asked <= 3_600
        return cls(events, cursor, has_more is True, float(asked) if is_number else None)


def _invalid(what: str) -> ClientError:
    return ClientError(Code.RESPONSE_INVALID, f"The service's answer is not {what}.")
