"""Server-sent events: open answers that bring what happens, for the browser bridge and every stream of a room.

One tail reader for each source and process asks the database on a thread of its own, whatever the number of streams,
and hands what it finds to asyncio queues. A stream itself never touches the database: one that did would hold a
connection and a thread for as long as it is open, and a few dozen would stop the site (RELIABILITY section 3).

=================== ================================================================================================
under ASGI          the stream goes on for MAX_AGE_SECONDS; ``agentweb.asgi.streams`` lets Django end its request
                    first, so an idle stream costs neither a thread nor a connection
under WSGI          a thread waits, for WSGI_SECONDS at most and in at most STREAM_THREADS streams of a process; the
                    others are answered at once with what there is, and told to come again
=================== ================================================================================================

Either way the client comes back by itself, and with ``Last-Event-ID`` where events have one.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from agentweb import conf
from agentweb.http.waiting import threads
from agentweb.wire.errors import Code, RequestError, ServerError

logger = logging.getLogger("agentweb.http")

MEDIA_TYPE: Final = "text/event-stream"
HANDED_OVER: Final = "agentweb.stream"
"""Key of the ASGI scope under which ``agentweb.asgi.streams`` waits for a stream to serve in Django's place."""

POLL_SECONDS: Final = 0.25
FAILED_SECONDS: Final = 2.0
HEARTBEAT_SECONDS: Final = 15.0
MAX_AGE_SECONDS: Final = 600.0
WSGI_SECONDS: Final = 25.0
WSGI_HEARTBEAT_SECONDS: Final = 5.0
"""Only a failing write tells a WSGI server that its client has gone."""

RETRY_MS: Final = 500
SHORT_RETRY_MS: Final = 1_000
MAX_QUEUED: Final = 256
UNWRAPPED_STREAMS: Final = 50
"""Streams of a process in which Django keeps a thread for each, because asgi.py lacks ``streams``."""

HEARTBEAT: Final = b":\n\n"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Event:
    """``ident`` is what the client sends back as Last-Event-ID; it and ``name`` are one line."""

    data: str
    name: str = ""
    ident: str = ""

    def frame(self) -> bytes:
        """The event on the wire (HTML, server-sent events, 9.2.5)."""
        lines = [f"data: {line}" for line in _LINE_END.split(self.data)]
        if self.name:
            lines.insert(0, f"event: {self.name}")
        if self.ident:
            lines.insert(0, f"id: {self.ident}")
        return ("\n".join(lines) + "\n\n").encode()


def opening(retry_ms: int) -> bytes:
    """The first bytes: they make proxies pass on the head at once, and say when to come again."""
    return f"retry: {retry_ms}\n:\n\n".encode()


def last_event_id(request: HttpRequest) -> str:
    """What the client saw last, "" when it is new. At most 200 characters of a text that anybody may send."""
    return str(request.META.get("HTTP_LAST_EVENT_ID", ""))[:200]


class Stream:
    """One open stream. ``topic`` is what it is about, for its source; ``holder`` who has it, for the limits.

    ``is_new`` until its source has read for it once; ``memo`` is the source's own.
    """

    __slots__ = ("_queue", "_release", "ends_at", "holder", "is_new", "last_event_id", "memo", "topic")

    def __init__(self, topic: Any, holder: str, last_event_id: str, release: Callable[[], None]) -> None:
        self.topic = topic
        self.holder = holder
        self.last_event_id = last_event_id
        self.is_new = True
        self.memo: Any = None
        # Not all at once, or those that a restart opened together come back together for ever.
        self.ends_at = time.monotonic() + MAX_AGE_SECONDS * random.uniform(0.8, 1.0)  # noqa: S311 - not a secret
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._release: Callable[[], None] | None = release

    def put(self, chunk: bytes | None) -> None:
        """Send this; None ends the stream. A client that does not keep up is sent away, and comes again."""
        self._queue.put_nowait(chunk if self._queue.qsize() < MAX_QUEUED else None)

    def is_idle(self) -> bool:
        return self._queue.empty()

    async def chunks(self) -> AsyncIterator[bytes]:
        while (chunk := await self._queue.get()) is not None:
            yield chunk

    def release(self) -> None:
        """Give its place back; once, however often it is asked."""
        release, self._release = self._release, None
        if release is not None:
            release()


class Source(Protocol):
    """Where events come from. Called on the reader's one thread, outside any event loop; it may ask the database."""

    def read(
        self, streams: Sequence[Stream], ended: Sequence[Stream]
    ) -> Iterable[tuple[Stream, bytes | None]]:
        """What is new for these streams, oldest stream first: (stream, frame), or (stream, None) to end it.

        ``ended`` are those that closed since. Asks for all at once, and not for each.
        """
        ...


class Reader:
    """The tail reader of one source in this process. It runs while a stream is open, and not without."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._streams: dict[Stream, None] = {}
        self._ended: list[Stream] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._has_failed = False
        _readers.append(self)

    def wake(self) -> None:
        """Look at once instead of at the next turn; from any thread. A hint, which may be lost."""
        loop = self._loop
        if loop is not None and self._streams and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self._woken.set)
            except RuntimeError:  # closed in between
                return

    def stop(self) -> None:
        """End every stream; on the loop's thread."""
        for stream in self._streams:
            stream.put(None)

    async def serve(self, stream: Stream, *, retry_ms: int = RETRY_MS) -> AsyncIterator[bytes]:
        """The bytes of a stream. The caller closes the iterator, whatever happens."""
        self._open(stream)
        try:
            yield opening(retry_ms)
            async for chunk in stream.chunks():
                yield chunk
        finally:
            self._streams.pop(stream, None)
            self._ended.append(stream)
            stream.release()
            self._woken.set()

    def _open(self, stream: Stream) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Another loop than before: tests have one each, servers one for good.
            self._loop, self._task, self._woken = loop, None, asyncio.Event()
            self._streams, self._ended = {}, []
        self._streams[stream] = None
        self._woken.set()
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        beat_at = time.monotonic() + HEARTBEAT_SECONDS
        while self._streams or self._ended:
            while self._streams or self._ended:
                self._woken.clear()
                streams, ended = list(self._streams), self._ended
                self._ended = []
                found = await loop.run_in_executor(_executor(), self._read, streams, ended)
                for stream, chunk in found or ():
                    stream.put(chunk)
                now = time.monotonic()
                if now >= beat_at:
                    beat_at = now + HEARTBEAT_SECONDS
                    self._beat(now)
                await self._until_next(POLL_SECONDS if found is not None else FAILED_SECONDS)
            await loop.run_in_executor(_executor(), connections.close_all)

    def _beat(self, now: float) -> None:
        for stream in self._streams:
            if now >= stream.ends_at:
                stream.put(None)
            elif stream.is_idle():
                stream.put(HEARTBEAT)

    async def _until_next(self, seconds: float) -> None:
        timer = asyncio.get_running_loop().call_later(seconds, self._woken.set)
        try:
            await self._woken.wait()
        finally:
            timer.cancel()

    def _read(
        self, streams: Sequence[Stream], ended: Sequence[Stream]
    ) -> list[tuple[Stream, bytes | None]] | None:
        """One turn; None when it failed. The streams stay open, for the next one may succeed."""
        found = None
        try:
            found = list(self.source.read(streams, ended))
        except Exception:
            if not self._has_failed:
                logger.exception("A stream's source failed; it is asked again until it answers")
            # The one connection of all turns is kept, whatever CONN_MAX_AGE says, until it fails.
            connections.close_all()
        else:
            for stream in streams:
                stream.is_new = False
        self._has_failed = found is None
        return found


_readers: Final[list[Reader]] = []
_pool: Final[list[ThreadPoolExecutor]] = []
_open_streams: Final[Counter[str]] = Counter()
_lock: Final = threading.Lock()


def _executor() -> ThreadPoolExecutor:
    """One thread for all readers of the process, so one connection; made after the server has forked."""
    if not _pool:
        _pool.append(ThreadPoolExecutor(1, thread_name_prefix="agentweb-streams"))
    return _pool[0]


def stop_all() -> None:
    """End every stream of this process; on the loop's thread."""
    for reader in _readers:
        reader.stop()


def open_count() -> int:
    """Streams that are open in this process."""
    return _open_streams.total()


@dataclass(slots=True)
class Handover:
    """How a stream goes from Django's view to ``agentweb.asgi.streams``."""

    stream: Stream | None = None
    reader: Reader | None = None


def respond(request: HttpRequest, reader: Reader, *, topic: Any, holder: str) -> HttpResponseBase:
    """Answer with a stream about ``topic``; the caller has been allowed to see it.

    ``holder`` names the person or agent whose streams are counted together. Raises rate_limited when they have too
    many, unavailable when the process has.
    """
    scope = getattr(request, "scope", None)
    if scope is None:
        return _bounded_response(request, reader, topic, holder)
    handover: Handover | None = scope.get(HANDED_OVER)
    most: int = conf.get("STREAMS_PER_PROCESS")
    if handover is None:
        most = min(most, UNWRAPPED_STREAMS)
    release = _admit(
        holder,
        most,
        debug=f"{most} streams are open in this process"
        + ("" if handover is not None else "; asgi.py has no agentweb.asgi.streams(application)"),
    )
    stream = Stream(topic, holder, last_event_id(request), release)
    response: HttpResponseBase
    if handover is not None:
        handover.stream, handover.reader = stream, reader
        response = HttpResponse()
    else:
        # What the view's thread has open would stay so for as long as the stream.
        if not any(each.in_atomic_block for each in connections.all(initialized_only=True)):
            connections.close_all()
        response = StreamingHttpResponse(reader.serve(stream))
        response._resource_closers.append(stream.release)  # type: ignore[attr-defined]
    return _with_headers(response)


def _admit(holder: str, most: int | None, *, debug: str = "") -> Callable[[], None]:
    """Take a place for a stream of this holder, in one step; what gives it back. ``most`` are all of the process's."""
    with _lock:
        if _open_streams[holder] >= conf.get("STREAMS_PER_CALLER"):
            raise RequestError(
                Code.RATE_LIMITED,
                "Too many streams are open; close one, or wait until one has ended.",
                retry_after=HEARTBEAT_SECONDS,
            )
        if most is not None and _open_streams.total() >= most:
            raise ServerError(
                Code.UNAVAILABLE,
                "The site cannot keep more streams open at the moment; come again.",
                retry_after=HEARTBEAT_SECONDS,
                debug=debug,
            )
        _open_streams[holder] += 1
    return partial(_leave, holder)


def _leave(holder: str) -> None:
    with _lock:
        _open_streams[holder] -= 1
        if _open_streams[holder] <= 0:
            del _open_streams[holder]


def _with_headers(response: HttpResponseBase) -> HttpResponseBase:
    response["Content-Type"] = MEDIA_TYPE
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"  # nginx
    response["Content-Encoding"] = "identity"  # or GZipMiddleware holds events back
    return response


# -- WSGI


def _bounded_response(request: HttpRequest, reader: Reader, topic: Any, holder: str) -> HttpResponseBase:
    # The threads of the process bound how many there are in all.
    leave = _admit(holder, None)
    # Where a process has one thread, nobody else would be answered meanwhile.
    waits = bool(request.META.get("wsgi.multithread")) and threads.enter_stream()

    def release() -> None:
        leave()
        if waits:
            threads.leave_stream()

    stream = Stream(topic, holder, last_event_id(request), release)
    response = StreamingHttpResponse(_bounded(reader.source, stream, waits=waits))
    response._resource_closers.append(stream.release)  # type: ignore[attr-defined]
    return _with_headers(response)


def _bounded(source: Source, stream: Stream, *, waits: bool) -> Iterator[bytes]:
    try:
        yield opening(RETRY_MS if waits else SHORT_RETRY_MS)
        now = time.monotonic()
        ends_at, beat_at = now + WSGI_SECONDS, now + WSGI_HEARTBEAT_SECONDS
        while True:
            for _, chunk in source.read([stream], []):
                if chunk is None:
                    return
                yield chunk
            stream.is_new = False
            now = time.monotonic()
            if not waits or now >= ends_at or threads.are_short():
                return
            if now >= beat_at:
                beat_at = now + WSGI_HEARTBEAT_SECONDS
                yield HEARTBEAT
            time.sleep(POLL_SECONDS)
    finally:
        source.read([], [stream])
        stream.release()
