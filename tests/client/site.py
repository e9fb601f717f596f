"""A small site on 127.0.0.1 with scripted answers, for driving the client over real HTTP.

It has its own idea of idempotency (one act for each key), so that a test can count what really happened.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agentweb.wire.errors import AuthenticationError
from agentweb.wire.grants import decode_header
from agentweb.wire.http_signature import SignedRequest, parse_signature, verify_request

MANIFEST = "/.well-known/agent-actions.json"


@dataclass
class Seen:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def key(self) -> str | None:
        return self.headers.get("idempotency-key")

    @property
    def nonce(self) -> str:
        return self.headers["signature-input"].partition('nonce="')[2].partition('"')[0]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    """An answer. ``drop``: act, then close the connection without a word; ``pause``: seconds between bytes."""

    status: int = 200
    value: Any = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    pause: Callable[[], None] | None = None

    def content(self) -> bytes:
        return json.dumps(self.value).encode() if self.body is None else self.body


def error(status: int, code: str, **members: Any) -> Reply:
    headers = {"Retry-After": str(members["retry_after"])} if "retry_after" in members else {}
    return Reply(status, {"error": {"code": code, "message": f"It is {code}.", **members}}, headers=headers)


Answer = Reply | Callable[[Seen], Reply]


class Site:
    """``script(path, ...)`` queues answers for a path; without one, ``act`` answers for actions."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.acts: list[tuple[str, Any]] = []
        self.kept: dict[str, Reply] = {}
        self.scripts: dict[str, deque[Answer]] = {}
        self.manifest_headers: dict[str, str] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("content-length", 0))
                names = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, self.path, names, self.rfile.read(length))
                site.seen.append(seen)
                reply = site.reply(seen)
                if reply.drop:
                    self.close_connection = True
                    with suppress(OSError):
                        self.connection.shutdown(socket.SHUT_RDWR)
                    return
                content = reply.content()
                with suppress(OSError):
                    self.send_response(reply.status)
                    headers = {"Content-Type": "application/json", "Content-Length": str(len(content))}
                    for name, value in {**headers, **reply.headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    if reply.pause is None:
                        self.wfile.write(content)
                        return
                    for byte in content:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        reply.pause()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.authority = f"127.0.0.1:{self.server.server_address[1]}"
        self.url = f"http://{self.authority}"
        self.manifest: dict[str, Any] = {
            "version": "agent-actions/0.1",
            "site": self.authority,
            "auth": {"type": "agent-grant"},
            "actions": [],
            "flows": [],
        }

    def action(self, name: str, *, effect: str = "write", **members: Any) -> None:
        entry = {
            "name": name,
            "method": "POST",
            "path": f"/api/{name}",
            "effect": effect,
            "input": {},
            **members,
        }
        self.manifest["actions"].append(entry)

    def script(self, path: str, *answers: Answer) -> None:
        self.scripts.setdefault(path, deque()).extend(answers)

    def calls(self, path: str = "/api/") -> list[Seen]:
        return [seen for seen in self.seen if seen.path.startswith(path)]

    def reply(self, seen: Seen) -> Reply:
        queue = self.scripts.get(seen.path.partition("?")[0])
        if queue:
            answer = queue.popleft()
            return answer(seen) if callable(answer) else answer
        if seen.path == MANIFEST:
            return Reply(200, self.manifest, headers=self.manifest_headers)
        return self.act(seen)

    def act(self, seen: Seen) -> Reply:
        """Do it once for each idempotency key, and give the kept answer for a key seen before."""
        if seen.key is not None and seen.key in self.kept:
            kept = self.kept[seen.key]
            return Reply(kept.status, kept.value, headers={"Idempotent-Replayed": "true"})
        self.acts.append((seen.path, seen.json if seen.body else None))
        reply = Reply(200, {"done": len(self.acts)})
        if seen.key is not None:
            self.kept[seen.key] = reply
        return reply

    def act_and_drop(self, seen: Seen) -> Reply:
        self.act(seen)
        return Reply(drop=True)

    def signer_of(self, seen: Seen) -> str:
        """Verify the signature as a site does; the public key that signed."""
        path, question, query = seen.path.partition("?")
        request = SignedRequest(seen.method, self.authority, path, "?" + query, seen.headers, seen.body)
        assert question or not query
        if "agent-grant" in seen.headers:
            chain = decode_header(seen.headers["agent-grant"])
            assert isinstance(chain, list)
            public = chain[-1].subject
        else:
            public = seen.headers["agent-key"]
        verify_request(request, parse_signature(request), public)
        return public

    def is_unsigned(self, seen: Seen) -> bool:
        try:
            self.signer_of(seen)
        except (AuthenticationError, KeyError):
            return not {"agent-grant", "agent-key", "signature", "signature-input"} & seen.headers.keys()
        return False


@contextmanager
def running_site() -> Iterator[Site]:
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        site.server.server_close()
        thread.join()


class Time:
    """A clock that stands still until somebody sleeps; it notes every pause."""

    def __init__(self, start: float = 1_790_000_500.0) -> None:
        self.now = start
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
