"""Posting in one process: the whole request, what accepts a message, and the bare sum of what cannot be left out."""

from __future__ import annotations

import hashlib
import io
import itertools
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import rfc8785
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import connection, transaction
from django.urls import resolve
from nacl.signing import VerifyKey

from agentweb.aim.accept import accept
from agentweb.aim.models import Agent
from agentweb.wire.aim import authorization
from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url_decode
from benchmarks.messenger.letters import AUTHORITY, Signed, Writer
from benchmarks.site.models import BareMessage

REQUEST: Final = "request, the view"
APPLICATION: Final = "request, application"
ACCEPT: Final = "accept() alone"
BARE: Final = "bare sum"
BARE_RFC8785: Final = "bare sum, rfc8785"

Work = Callable[[], object]


@dataclass(slots=True)
class Timed:
    """What one contestant took for one message, in microseconds, a value for each round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {
            "wall_us": statistics.median(self.wall),
            "least_us": min(self.wall),
            "cpu_us": statistics.median(self.cpu),
            "rounds": self.wall,
        }


def alternated(
    prepare: dict[str, Callable[[int], list[Work]]], *, rounds: int, each: int
) -> dict[str, dict[str, Any]]:
    """Run ``each`` pieces of work of every contestant in every round, in turn; a first round is not counted."""
    timed = {name: Timed() for name in prepare}
    for at in range(rounds + 1):
        for name, prepared in prepare.items():
            work = prepared(each)
            wall, cpu = time.perf_counter(), time.process_time()
            for one in work:
                one()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            if at:
                timed[name].wall.append(wall / each * 1e6)
                timed[name].cpu.append(cpu / each * 1e6)
    return {name: found.as_dict() for name, found in timed.items()}


def contestants(letters: Callable[[int], Iterable[Signed]]) -> dict[str, Callable[[int], list[Work]]]:
    """``letters`` makes so many new requests with one message each."""
    agents = {agent.name: agent for agent in Agent.objects.filter(name__startswith="bench-")}
    verifiers = {name: VerifyKey(b64url_decode(_writer(name).public)) for name in agents}
    return {
        BARE: lambda many: [_bare(one, verifiers, canonicalize) for one in letters(many)],
        BARE_RFC8785: lambda many: [_bare(one, verifiers, rfc8785.dumps) for one in letters(many)],
        ACCEPT: lambda many: [_accepted(one, agents) for one in letters(many)],
        REQUEST: lambda many: [viewed(one, 202) for one in letters(many)],
        APPLICATION: lambda many: [_served(one) for one in letters(many)],
    }


def statements(work: Work) -> list[str]:
    """The statements of a piece of work, commits and savepoints not among them."""
    found: list[str] = []

    def note(execute: Any, sql: str, params: Any, is_many: bool, context: Any) -> Any:
        found.append(sql)
        return execute(sql, params, is_many, context)

    with connection.execute_wrapper(note):
        work()
    return found


def viewed(request: Signed, status: int) -> Work:
    """The request through its view, with everything that the view does: signature, limits, nonce, answer."""
    environ = _environ(request)
    view = resolve(environ["PATH_INFO"])

    def work() -> bytes:
        response = view.func(WSGIRequest(environ), *view.args, **view.kwargs)
        content: bytes = response.content
        if response.status_code != status:
            raise SystemExit(f"{request.method} {request.target}: {response.status_code} {content[:500]!r}")
        return content

    return work


_numbers: Final = itertools.count()
_application: list[WSGIHandler] = []


def _served(request: Signed) -> Work:
    """The request through the site's application: URLs, startproject's middleware, the view."""
    if not _application:
        _application.append(WSGIHandler())
    environ = _environ(request)
    statuses: list[str] = []

    def work() -> None:
        response = _application[0](environ, lambda status, headers: statuses.append(status))
        content = b"".join(response)
        response.close()
        if not statuses[0].startswith("202"):
            raise SystemExit(f"{request.target}: {statuses[0]} {content[:500]!r}")

    return work


def _accepted(request: Signed, agents: dict[str, Agent]) -> Work:
    def work() -> None:
        results = accept(
            agents[request.writer.name],
            request.envelopes,
            key=request.writer.public,
            authority=AUTHORITY,
        )
        for result in results:
            if result.error is not None:
                raise SystemExit(f"refused: {result.error}")

    return work


def _bare(request: Signed, verifiers: dict[str, VerifyKey], canonical: Callable[[Any], bytes]) -> Work:
    """Two signatures verified, the canonical form, its hash, a row inserted and committed: nothing checked."""
    verifier = verifiers[request.writer.name]
    credentials = authorization.parse_header(request.header)
    signed = authorization.signing_string(
        request.method,
        request.target,
        AUTHORITY,
        authorization.body_digest(request.body),
        credentials.ts,
        credentials.nonce,
    )
    [document] = request.envelopes
    unsigned = {name: value for name, value in document.items() if name != "sig"}
    sig = b64url_decode(str(document["sig"]))
    table = connection.ops.quote_name(BareMessage._meta.db_table)
    insert = f"INSERT INTO {table} (author, message_id, digest, envelope) VALUES (%s, %s, %s, %s)"  # noqa: S608

    def work() -> None:
        verifier.verify(signed, credentials.sig)
        text = canonical(unsigned)
        digest = hashlib.sha256(text)
        verifier.verify(digest.digest(), sig)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                insert, [request.writer.name, document["id"], digest.hexdigest(), text.decode("utf-8")]
            )

    return work


def _environ(request: Signed) -> dict[str, Any]:
    path, _, query = request.target.partition("?")
    return {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "RAW_URI": request.target,
        "QUERY_STRING": query,
        "SERVER_NAME": AUTHORITY,
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_SOFTWARE": "benchmarks",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": AUTHORITY,
        "HTTP_AUTHORIZATION": request.header,
        "CONTENT_TYPE": "application/json" if request.body else "",
        "CONTENT_LENGTH": str(len(request.body)) if request.body else "",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": io.StringIO(),
        "wsgi.version": (1, 0),
        "wsgi.multithread": False,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }


def _writer(name: str) -> Writer:
    return Writer(int(name.rpartition("-")[2]))
