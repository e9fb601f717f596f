"""``streams(application)``: open streams without a thread or a database connection for each of them.

In the site's ``asgi.py``::

    from agentweb.asgi import streams

    application = streams(get_asgi_application())

Django answers as ever: its middleware runs, the view decides who may see what. When the answer is a stream, Django
ends its request there, and this wrapper goes on alone. Everything else passes through untouched.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import aclosing, suppress
from typing import Any, Final

from agentweb.http.streams import HANDED_OVER, MEDIA_TYPE, Handover, Stream, stop_all

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

SEND_SECONDS: Final = 20.0
"""How long a client may take nothing of what it is sent."""

# Of an answer that had no content, or that say what the client's next request is to be compared with.
_DROPPED: Final = frozenset({b"content-length", b"etag", b"last-modified"})


def streams(application: Application) -> Application:
    """Wrap the site's ASGI application; as the outermost, for what wraps this sees streams as they are."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await application(scope, receive, send)
            return
        handover = Handover()
        head: list[Message] = []

        async def passing(message: Message) -> None:
            if not head and handover.stream is not None and _begins_stream(message):
                head.append(message)
            elif not head:
                await send(message)

        try:
            await application({**scope, HANDED_OVER: handover}, receive, passing)
            if head:
                await _serve(handover, head[0], receive, send)
        finally:
            if handover.stream is not None:
                handover.stream.release()

    return wrapped


def _begins_stream(message: Message) -> bool:
    """Whether this is the stream's own head, and not what a middleware answers in its place."""
    if message["type"] != "http.response.start" or message["status"] != 200:
        return False
    return any(
        name.lower() == b"content-type" and value.startswith(MEDIA_TYPE.encode())
        for name, value in message.get("headers", [])
    )


async def _serve(handover: Handover, head: Message, receive: Receive, send: Send) -> None:
    stream, reader = handover.stream, handover.reader
    if stream is None or reader is None:
        return
    _end_streams_at_sigterm()
    headers = [(name, value) for name, value in head.get("headers", []) if name.lower() not in _DROPPED]
    watching = asyncio.ensure_future(_until_gone(receive, stream))
    try:
        # OSError: the client has gone; TimeoutError: it might as well.
        with suppress(OSError, TimeoutError):
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async with aclosing(reader.serve(stream)) as chunks:  # type: ignore[type-var]
                async for chunk in chunks:
                    async with asyncio.timeout(SEND_SECONDS):
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        watching.cancel()


async def _until_gone(receive: Receive, stream: Stream) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.put(None)


_handled: Final[list[bool]] = []


def _end_streams_at_sigterm() -> None:
    """Let SIGTERM end the streams before the server's own handler runs: some servers wait for them without end."""
    if _handled or threading.current_thread() is not threading.main_thread():
        return
    _handled.append(True)
    previous = signal.getsignal(signal.SIGTERM)
    if not callable(previous):
        return  # the server does not stop gracefully at all, or in a way of its own
    loop = asyncio.get_running_loop()

    def handle(signum: int, frame: Any) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop_all)
        previous(signum, frame)

    signal.signal(signal.SIGTERM, handle)
