"""Streams: what is on the wire, who may open one, and what an open one costs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpResponse, StreamingHttpResponse
from django.test import AsyncRequestFactory, RequestFactory

from agentweb.asgi import streams as wrapped
from agentweb.http import streams
from agentweb.http.streams import Event, Reader, Stream
from agentweb.http.waiting import Place, Threads, threads
from agentweb.wire.errors import AgentError


@pytest.mark.parametrize(
    ("event", "frame"),
    [
        (Event("tea"), b"data: tea\n\n"),
        (Event("tea", name="call", ident="7"), b"id: 7\nevent: call\ndata: tea\n\n"),
        (Event("a\nb\r\nc\rd"), b"data: a\ndata: b\ndata: c\ndata: d\n\n"),
        (Event(""), b"data: \n\n"),
        # Other line ends of Unicode are none here, and a client would not see them as such.
        (Event("a\u2028b\x0bc"), "data: a\u2028b\x0bc\n\n".encode()),
    ],
)
def test_an_event_is_framed(event: Event, frame: bytes) -> None:
    assert event.frame() == frame


class Said:
    """A source that says what it is told to, and remembers who asked on which thread."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Any, bytes | None]] = []
        self.ended: list[Any] = []
        self.names: set[str] = set()
        self.turns = 0
        self.fails = 0

    def read(
        self, streams: Sequence[Stream], ended: Sequence[Stream]
    ) -> Iterable[tuple[Stream, bytes | None]]:
        self.turns += 1
        self.names.add(threading.current_thread().name)
        self.ended += [stream.topic for stream in ended]
        if self.fails:
            self.fails -= 1
            raise RuntimeError("the database is away")
        told, self.waiting = self.waiting, []
        return [(stream, chunk) for topic, chunk in told for stream in streams if stream.topic == topic]


@pytest.fixture
def source() -> Said:
    return Said()


@pytest.fixture
def reader(source: Said, monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr(streams, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(streams, "FAILED_SECONDS", 0.01)
    return Reader(source)


def answering(reader: Reader, **more: Any) -> Any:
    """An ASGI application that answers every GET with a stream about its query."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        request = AsyncRequestFactory().get("/")
        request.scope = scope
        holder = more.get("holder", "user:1")
        response = streams.respond(request, reader, topic=scope["query_string"].decode(), holder=holder)
        assert isinstance(response, HttpResponse)
        status = more.get("status", 200)
        headers = [(name.encode(), value.encode()) for name, value in response.items()]
        headers += [(b"content-length", b"0"), (b"x-of-a-middleware", b"stays")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    return wrapped(application)


class Client:
    """One request to an ASGI application; ``sent`` is what it got so far."""

    def __init__(self, application: Any, topic: str) -> None:
        self.gone = asyncio.Event()
        self.sent: list[Any] = []
        self.came = asyncio.Event()
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": topic.encode(), "headers": []}
        self.task = asyncio.ensure_future(application(scope, self.receive, self.send))

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        self.came.set()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    async def until(self, text: bytes) -> None:
        async with asyncio.timeout(10):
            while text not in self.body:
                self.came.clear()
                await self.came.wait()

    async def leave(self) -> None:
        self.gone.set()
        async with asyncio.timeout(10):
            await self.task


def test_a_stream_brings_what_its_source_says_and_ends_with_its_client(reader: Reader, source: Said) -> None:
    async def scenario() -> None:
        client, other = Client(answering(reader), "tea"), Client(answering(reader), "milk")
        await client.until(b"retry: 500\n:\n\n")
        source.waiting = [("tea", Event("hot").frame())]
        reader.wake()
        await client.until(b"data: hot\n\n")
        assert b"hot" not in other.body
        await client.leave()
        await other.leave()
        while sorted(source.ended) != ["milk", "tea"]:
            await asyncio.sleep(0)
        start = client.sent[0]
        assert dict(start["headers"]) == {
            b"Content-Type": b"text/event-stream",
            b"Cache-Control": b"no-cache, no-transform",
            b"X-Accel-Buffering": b"no",
            b"Content-Encoding": b"identity",
            b"x-of-a-middleware": b"stays",
        }
        # Nothing is asked once nobody listens.
        assert reader._task is not None
        await reader._task

    asyncio.run(scenario())
    assert streams.open_count() == 0
    assert {name.rpartition("_")[0] for name in source.names} == {"agentweb-streams"}
    assert len(source.names) == 1


def test_a_source_that_fails_once_ends_no_stream(reader: Reader, source: Said) -> None:
    async def scenario() -> None:
        source.fails = 3
        client = Client(answering(reader), "tea")
        await client.until(b"retry")
        source.waiting = [("tea", Event("hot").frame())]
        await client.until(b"hot")
        await client.leave()

    asyncio.run(scenario())


def test_heartbeats_and_the_end_of_age(reader: Reader, source: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr(streams, "MAX_AGE_SECONDS", 0.3)

    async def scenario() -> None:
        client = Client(answering(reader), "tea")
        await client.until(b"\n\n:\n\n:\n\n")
        async with asyncio.timeout(10):
            await client.task
        assert client.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}

    asyncio.run(scenario())


def test_all_streams_end_at_once_when_the_server_stops(reader: Reader) -> None:
    async def scenario() -> None:
        clients = [Client(answering(reader), str(number)) for number in range(20)]
        for client in clients:
            await client.until(b"retry")
        streams.stop_all()
        async with asyncio.timeout(5):
            await asyncio.gather(*(client.task for client in clients))

    asyncio.run(scenario())


def test_a_client_that_does_not_keep_up_is_sent_away(reader: Reader) -> None:
    stream = Stream("tea", "user:1", "", lambda: None)
    for _ in range(streams.MAX_QUEUED + 1):
        stream.put(b"x")

    async def chunks() -> list[bytes]:
        return [chunk async for chunk in stream.chunks()]

    assert len(asyncio.run(chunks())) == streams.MAX_QUEUED


def test_one_holder_has_so_many_streams_and_no_more(reader: Reader, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "STREAMS_PER_CALLER": 2}

    async def scenario() -> None:
        clients = [Client(answering(reader), str(number)) for number in range(2)]
        for client in clients:
            await client.until(b"retry")
        with pytest.raises(AgentError) as refused:
            await Client(answering(reader), "3").task
        assert (refused.value.code, refused.value.status) == ("rate_limited", 429)
        other = Client(answering(reader, holder="user:2"), "4")
        await other.until(b"retry")
        await clients[0].leave()
        again = Client(answering(reader), "5")
        await again.until(b"retry")
        for client in (clients[1], other, again):
            await client.leave()

    asyncio.run(scenario())
    assert streams.open_count() == 0


def test_one_process_has_so_many_streams_and_no_more(reader: Reader, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "STREAMS_PER_PROCESS": 1}

    async def scenario() -> None:
        client = Client(answering(reader), "1")
        await client.until(b"retry")
        with pytest.raises(AgentError) as refused:
            await Client(answering(reader, holder="user:2"), "2").task
        assert (refused.value.code, refused.value.status) == ("unavailable", 503)
        await client.leave()

    asyncio.run(scenario())


def test_what_a_middleware_answers_in_place_of_the_stream_is_sent(reader: Reader) -> None:
    async def scenario() -> None:
        client = Client(answering(reader, status=500), "tea")
        await client.task
        assert [message["type"] for message in client.sent] == ["http.response.start", "http.response.body"]
        assert client.sent[0]["status"] == 500

    asyncio.run(scenario())
    assert streams.open_count() == 0


def test_everything_else_passes_through_untouched() -> None:
    seen: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    async def scenario() -> None:
        for scope in ({"type": "lifespan"}, {"type": "websocket"}, {"type": "http", "method": "POST"}):
            await wrapped(application)(scope, None, None)  # type: ignore[arg-type]

    asyncio.run(scenario())
    assert seen == ["lifespan", "websocket", "http"]


@pytest.mark.django_db(transaction=True)
def test_without_the_wrapper_django_streams_itself(reader: Reader, source: Said) -> None:
    async def scenario() -> None:
        request = AsyncRequestFactory().get("/")
        response = await sync_to_async(streams.respond)(request, reader, topic="tea", holder="user:1")
        assert isinstance(response, StreamingHttpResponse)
        chunks = aiter(response)
        assert await anext(chunks) == b"retry: 500\n:\n\n"
        source.waiting = [("tea", b"data: hot\n\n")]
        assert await anext(chunks) == b"data: hot\n\n"
        await chunks.aclose()  # type: ignore[attr-defined]
        await sync_to_async(response.close)()  # as Django's ASGI handler does

    asyncio.run(scenario())
    assert streams.open_count() == 0


# -- WSGI


def stream_of(reader: Reader, **environ: Any) -> list[bytes]:
    request = RequestFactory().get("/", **{"wsgi.multithread": True, **environ})
    response = streams.respond(request, reader, topic="tea", holder="user:1")
    assert isinstance(response, StreamingHttpResponse)
    chunks = list(response)
    response.close()
    return chunks  # type: ignore[return-value]


@pytest.mark.django_db
def test_under_wsgi_a_stream_is_bounded(
    reader: Reader, source: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "WSGI_SECONDS", 0.1)
    monkeypatch.setattr(streams, "WSGI_HEARTBEAT_SECONDS", 0.03)
    source.waiting = [("tea", b"data: hot\n\n")]
    chunks = stream_of(reader)
    assert chunks[:2] == [b"retry: 500\n:\n\n", b"data: hot\n\n"]
    assert b":\n\n" in chunks[2:]
    assert source.turns > 3
    assert source.ended == ["tea"]


@pytest.mark.django_db
@pytest.mark.parametrize("environ", [{"wsgi.multithread": False}, {}])
def test_where_no_thread_is_to_spare_it_is_answered_at_once(
    reader: Reader, source: Said, environ: dict[str, Any], settings: Any
) -> None:
    if not environ:
        settings.AGENTWEB = {**settings.AGENTWEB, "STREAM_THREADS": 0}
    source.waiting = [("tea", b"data: hot\n\n")]
    assert stream_of(reader, **environ) == [b"retry: 1000\n:\n\n", b"data: hot\n\n"]


@pytest.mark.django_db
def test_streams_make_room_for_a_call_that_waits(reader: Reader, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "STREAM_THREADS": 1}
    began = threading.Event()

    class Told(Said):
        def read(self, streams: Sequence[Stream], ended: Sequence[Stream]) -> Any:
            began.set()
            return super().read(streams, ended)

    reader.source = Told()
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(stream_of(reader)))
    thread.start()
    assert began.wait(10)
    with threads.take_call(is_threaded=True):
        thread.join(10)
        assert done
        with pytest.raises(AgentError) as refused:
            threads.take_call(is_threaded=True)
        assert refused.value.code == "unavailable"


@pytest.mark.django_db
@pytest.mark.parametrize("environ", [{}, {"wsgi.multithread": False}])
def test_under_wsgi_too_one_holder_has_so_many_streams_and_no_more(
    reader: Reader, settings: Any, environ: dict[str, Any]
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "STREAMS_PER_CALLER": 1}
    request = RequestFactory().get("/", **{"wsgi.multithread": True, **environ})
    first = streams.respond(request, reader, topic="tea", holder="user:1")
    with pytest.raises(AgentError) as refused:
        streams.respond(request, reader, topic="tea", holder="user:1")
    assert (refused.value.code, refused.value.status) == ("rate_limited", 429)
    streams.respond(request, reader, topic="tea", holder="user:2").close()
    first.close()
    # Also when its bytes were taken: it is given back once.
    assert stream_of(reader, **{"wsgi.multithread": False})
    streams.respond(request, reader, topic="tea", holder="user:1").close()
    assert streams.open_count() == 0


@pytest.mark.parametrize("is_threaded", [True, False])
def test_of_calls_that_come_at_once_as_many_wait_as_may(settings: Any, is_threaded: bool) -> None:
    names = ("STREAM_THREADS", "BRIDGE_CALLS_PER_PROCESS")
    settings.AGENTWEB = {**settings.AGENTWEB, **dict.fromkeys(names, 3)}
    found = Threads()
    together = threading.Barrier(12)

    def take(number: int) -> Place | None:
        together.wait(20)
        try:
            return found.take_call(is_threaded=is_threaded)
        except AgentError:
            return None

    for _ in range(20):
        with ThreadPoolExecutor(12) as pool:
            places = [place for place in pool.map(take, range(12)) if place is not None]
        assert len(places) == 3
        for place in places:
            with place:
                pass


def test_one_call_may_always_wait(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "STREAM_THREADS": 0}
    with Threads().take_call(is_threaded=True):
        pass


@pytest.mark.django_db(transaction=True)
def test_an_open_stream_holds_no_connection_of_its_view(reader: Reader) -> None:
    connection.ensure_connection()
    response = streams.respond(AsyncRequestFactory().get("/"), reader, topic="tea", holder="user:1")
    assert connection.connection is None or connection.is_in_memory_db()  # type: ignore[attr-defined]
    response.close()
