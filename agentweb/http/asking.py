"""Questions to the site in process: through Django's own WSGI handler, with every middleware, as over the network.

Whatever a question writes to a database is rolled back, such as the bucket of the caller's address. What is logged
meanwhile is kept with the answer and goes nowhere else: a probe must not mail the site's admins.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import Error as DatabaseFailure
from django.db import close_old_connections, connections, transaction
from django.urls import get_script_prefix

from agentweb import conf
from agentweb.http.documents import Place
from agentweb.http.mount import mount_prefix
from agentweb.http.probes import Answer
from agentweb.wire.http_signature import authority_of

ADDRESS: Final = "127.0.0.1"

UNDER_DEBUG: Final = "http://127.0.0.1:8000"
"""The origin of a site that has set none, as its owner sees it on runserver."""

_LOGGERS: Final = ("agentweb", "django")
_WRITES: Final = re.compile(
    r"\s*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|REPLACE\s+INTO|UPDATE|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE(?:\s+TABLE)?)"
    r"\s+[\"`\[]?([\w.]+)",
    re.IGNORECASE,
)
_OWN_TABLES: Final = "agentweb_"


def own_place() -> Place:
    """Where this site is, without a request. Raises ValueError when AGENTWEB["ORIGIN"] is no origin."""
    origin = str(conf.get("ORIGIN") or UNDER_DEBUG).rstrip("/")
    return Place(origin, authority_of(origin), mount_prefix())


class Asking:
    """``origin`` is the site's scheme and host, which every question names; ``user_agent`` says who asks."""

    def __init__(self, origin: str, *, user_agent: str) -> None:
        self._parts = urlsplit(origin)
        self._user_agent = user_agent
        self._handler: WSGIHandler | None = None

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """See ``Examined.ask``."""
        log: list[str] = []
        written: list[str] = []
        answered: dict[str, Any] = {}

        def start_response(status: str, pairs: list[tuple[str, str]], *_: Any) -> Callable[[bytes], None]:
            answered.update(status=int(status.partition(" ")[0]), pairs=pairs)
            return lambda _text: None

        environ = environ_of(self._parts, method, path, headers, user_agent=self._user_agent, body=body)
        with _overhearing(log), _undoing(written):
            if self._handler is None:
                self._handler = WSGIHandler()
            parts = self._handler(environ, start_response)
            try:
                content = b"".join(parts)
            finally:
                parts.close()
        pairs = [(name.lower(), value) for name, value in answered["pairs"]]
        return Answer(
            status=answered["status"],
            headers={name: value for name, value in pairs if name != "set-cookie"},
            body=content,
            cookies=tuple(value.strip() for name, value in pairs if name == "set-cookie"),
            log=tuple(log),
            written=tuple(sorted(set(written))),
        )


MEASURING: Final = frozenset({"agentweb-doctor", "agentweb-analyze"})
"""What our own tools call themselves that measure a site, over the network too: no agents."""

OWN: Final = "agentweb.own"
"""In the environment of a request with which the site asks itself: no agent's."""


def environ_of(
    origin: SplitResult,
    method: str,
    path: str,
    headers: Mapping[str, str],
    *,
    user_agent: str,
    body: bytes = b"",
) -> dict[str, Any]:
    """A request as a server hands it over, from one who shows nothing beside ``headers``. ``path`` is that of a URL of
    the site, with its query if any."""
    scheme, host = origin.scheme, origin.hostname or ""
    path, _, query = path.partition("?")
    script = get_script_prefix().rstrip("/")
    if script and path.startswith(f"{script}/"):
        path = path.removeprefix(script)
    environ: dict[str, Any] = {
        OWN: True,
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": script,
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": host,
        "SERVER_PORT": str(origin.port or (443 if scheme == "https" else 80)),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": ADDRESS,
        "HTTP_HOST": origin.netloc,
        "HTTP_USER_AGENT": user_agent,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    if body:
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["CONTENT_TYPE"] = "application/json"
    for name, value in headers.items():
        environ[f"HTTP_{name.upper().replace('-', '_')}"] = value
    return environ


@contextmanager
def _undoing(written: list[str]) -> Iterator[None]:
    """Roll back whatever is written inside, in every database that answers, and note the tables of the site's own."""

    def watching(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        found = _WRITES.match(sql)
        if found is not None and not found[1].startswith(_OWN_TABLES):
            written.append(found[1])
        return execute(sql, params, many, context)

    with ExitStack() as stack:
        stack.enter_context(keeping_connections())
        for alias in connections:
            try:
                connections[alias].ensure_connection()
            except DatabaseFailure:
                continue
            stack.enter_context(_rolled_back(alias))
            stack.enter_context(connections[alias].execute_wrapper(watching))
        yield


@contextmanager
def keeping_connections() -> Iterator[None]:
    """Django closes a connection in a transaction when a request begins or ends: nobody's, in a server."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in signals:
            signal.connect(close_old_connections)


@contextmanager
def _rolled_back(alias: str) -> Iterator[None]:
    outermost = transaction.atomic(using=alias)
    # As in Django's own TestCase: a handler's atomic(durable=True) inside is not to know of this one.
    outermost._from_testcase = True  # type: ignore[attr-defined]
    with outermost:
        try:
            yield
        finally:
            transaction.set_rollback(True, using=alias)


class _Collector(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line += f": {type(error).__name__}: {error}"
        self.lines.append(line)


@contextmanager
def _overhearing(lines: list[str]) -> Iterator[None]:
    """Collect what the loggers of agentweb and Django say, and keep it from every handler of the site."""
    collector = _Collector(lines)
    names = [name for name in logging.Logger.manager.loggerDict if name.partition(".")[0] in _LOGGERS]
    before: list[tuple[logging.Logger, list[logging.Handler], bool]] = []
    for name in {*names, *_LOGGERS}:
        logger = logging.getLogger(name)
        before.append((logger, logger.handlers, logger.propagate))
        is_top = name in _LOGGERS
        logger.handlers = [collector] if is_top else []
        logger.propagate = not is_top
    try:
        yield
    finally:
        for logger, handlers, propagates in before:
            logger.handlers = handlers
            logger.propagate = propagates
