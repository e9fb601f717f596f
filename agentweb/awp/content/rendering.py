"""A page as an anonymous visitor gets it: through Django's own handler, with every middleware, in this process.

Each question is a new request without cookies. A session that the site makes for the visitor is deleted again; what
else a view writes stays, as for any visitor: a transaction around it that is rolled back would change what the view
does.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urljoin, urlsplit

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import got_request_exception
from django.db import connections
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch
from django.utils import timezone, translation

from agentweb.awp.content.models import PATH_LENGTH
from agentweb.awp.content.outcomes import MAX_DETAIL, Failed, LeftOut, Reason
from agentweb.awp.content.timing import OutOfTime, at_most, telling_interrupts
from agentweb.awp.content.transactions import depths, leave_as_found
from agentweb.http.asking import environ_of, keeping_connections
from agentweb.http.page_urls import PATH_SAFE
from agentweb.wire.http_signature import authority_of
from agentweb.wire.visible import text_of, visible

USER_AGENT: Final = "agentweb-content"
MAX_BYTES: Final = 5_000_000
"""Largest page that is read; its content would be a book."""
PAGE_SECONDS: Final = 30.0
MAX_REDIRECTS: Final = 5

HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
TEXTS: Final = frozenset({"text/markdown", "text/x-markdown", "text/plain"})

LEFT_OPEN: Final = "it began a transaction and did not end it"
_ACCEPT: Final = "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.8"
_RAISED: Final = "agentweb.content_raised"
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_FOR_THE_MOMENT: Final = frozenset({302, 303, 307})
_LOGIN: Final = frozenset({401, 403, 407, 511})
_GONE: Final = frozenset({404, 410})
# What may be otherwise in a moment, or with other settings (400: the host is not in ALLOWED_HOSTS).
PASSING: Final = frozenset({400, 408, 421, 425, 429})


@dataclass(frozen=True, slots=True)
class Rendered:
    """``path`` is where the page is in the end, after redirects. ``charset`` is empty where the answer has none.
    ``is_detour`` is whether visitors are sent there for the moment only, instead of to what they asked for, or so that
    they come back."""

    path: str
    media_type: str
    charset: str
    body: bytes
    etag: str
    robots: str
    is_detour: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """``headers`` have lower-case names. ``body`` is None when it was not read: of the wrong type, or too large."""

    status: int
    headers: Mapping[str, str]
    body: bytes | None
    raised: str

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        for each in self.headers.get("content-type", "").split(";")[1:]:
            name, _, value = each.strip().partition("=")
            if name.lower() == "charset":
                return value.strip().strip('"').lower()
        return ""


Gate = Callable[[str], LeftOut | None]
"""Why the page at a path may not be read, whatever it would answer; None if it may."""


class Renderer:
    """``origin`` is the site's scheme and host; nothing beside it is asked."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._parts = urlsplit(origin)
        self._handler: WSGIHandler | None = None

    def page(
        self, path: str, language: str, may_read: Gate, tick: Callable[[], None] = lambda: None
    ) -> Rendered | LeftOut | Failed:
        """The page at ``path``, or where it redirects to within the site, in ``language`` if it has several. ``tick``
        is called before each question: each of them may take PAGE_SECONDS."""
        asked, is_detour = path, False
        for _ in range(MAX_REDIRECTS + 1):
            tick()
            closed = may_read(path)
            if closed is not None:
                return closed
            answer = self.ask(path, language)
            if isinstance(answer, Failed):
                return answer
            if answer.status not in _REDIRECTS:
                return _read(path, answer, is_detour=is_detour)
            following = self._target(path, answer.headers.get("location", ""))
            if isinstance(following, LeftOut):
                return following
            is_detour = is_detour or answer.status in _FOR_THE_MOMENT or _comes_back(following, asked)
            path = following
        return LeftOut(Reason.REDIRECTS)

    def beginning(self, path: str, language: str, most: int) -> Answer | Failed:
        """The answer at ``path``, or where that redirects to within the site, with at most so many bytes of its body,
        whatever its type is. After MAX_REDIRECTS, and where one leads elsewhere, the answer is the redirect."""
        for _ in range(MAX_REDIRECTS + 1):
            answer = self.ask(path, language, None, most)
            if isinstance(answer, Failed) or answer.status not in _REDIRECTS:
                return answer
            following = self.own_path(urljoin(self._origin + path, answer.headers.get("location", "")))
            if following is None:
                return answer
            path = following
        return answer

    def ask(
        self, path: str, language: str, types: frozenset[str] | None = HTML | TEXTS, most: int | None = None
    ) -> Answer | Failed:
        """The site's own answer to GET, whatever it is. The body is read when it is of one of these types (None: of
        any): its first bytes with ``most``, else all of it."""
        headers = {"Accept": _ACCEPT, "Accept-Language": language}
        environ = environ_of(self._parts, "GET", path, headers, user_agent=USER_AGENT)
        raised: list[str] = []
        environ[_RAISED] = raised
        # Whatever language and time zone this thread is in, the request begins as on a server, and leaves no trace.
        with translation.override(settings.LANGUAGE_CODE), timezone.override(None), _kept_in_transactions():
            before = depths()
            try:
                with at_most(PAGE_SECONDS), telling_interrupts() as is_interrupted:
                    answer = self._answer(environ, raised, types, most)
                return answer if leave_as_found(before) else Failed(Reason.RAISED, LEFT_OPEN)
            except OutOfTime:
                leave_as_found(before)
                return Failed(Reason.TIMEOUT, f"more than {PAGE_SECONDS:g} seconds")
            except BaseException as error:
                leave_as_found(before)
                if isinstance(error, KeyboardInterrupt) and is_interrupted():
                    raise
                # SystemExit too, and a KeyboardInterrupt of its own: a view that ends the program ends this page only.
                return Failed(Reason.RAISED, detail_of(error))

    def _answer(
        self, environ: dict[str, Any], raised: list[str], types: frozenset[str] | None, most: int | None
    ) -> Answer:
        started: dict[str, Any] = {}

        def start_response(status: str, pairs: list[tuple[str, str]], *_: Any) -> Callable[[bytes], None]:
            started.update(status=int(status.partition(" ")[0]), pairs=pairs)
            return lambda _text: None

        if self._handler is None:
            self._handler = WSGIHandler()
        parts = self._handler(environ, start_response)
        try:
            headers = {name.lower(): value for name, value in started["pairs"]}
            answer = Answer(started["status"], headers, None, raised[0] if raised else "")
            body = None
            if types is None:
                body = _body(parts, most) if 200 <= answer.status < 300 else None
            elif answer.status == 200 and answer.media_type in types and "content-encoding" not in headers:
                body = _body(parts, most)
        finally:
            parts.close()
            _forget_session(started.get("pairs", ()))
        return Answer(answer.status, headers, body, answer.raised)

    def _target(self, path: str, location: str) -> str | LeftOut:
        """Where a redirect leads within the site."""
        following = self.own_path(urljoin(self._origin + path, location))
        if following is None:
            return LeftOut(Reason.ELSEWHERE, visible(location)[:MAX_DETAIL])
        return LeftOut(Reason.LOGIN, following[:MAX_DETAIL]) if _is_login(following, path) else following

    def own_path(self, url: str) -> str | None:
        """The path and query of a URL of this site, percent-encoded, without fragment; None for another site's."""
        try:
            parts = urlsplit(url)
            if parts.netloc or parts.scheme:
                if parts.scheme not in {"http", "https"}:
                    return None
                # Of either scheme: behind a proxy that ends TLS, a site may name itself by the other one.
                is_ours = authority_of(f"{self._parts.scheme}://{parts.netloc}") == authority_of(self._origin)
                if not is_ours and authority_of(f"{parts.scheme}://{parts.netloc}") != authority_of(
                    self._origin
                ):
                    return None
        except ValueError:
            return None
        path = parts.path or "/"
        if not path.startswith("/") or path.startswith("//"):
            return None
        path = quote(unquote(path, errors="surrogateescape"), safe=PATH_SAFE, errors="surrogateescape")
        query = quote(parts.query, safe=PATH_SAFE + "?%~")
        whole = f"{path}?{query}" if query else path
        return whole if len(whole) <= PATH_LENGTH and "%00" not in whole else None


def detail_of(error: BaseException) -> str:
    """What an error says, for a report."""
    return f"{type(error).__name__}: {text_of(error)}"[:MAX_DETAIL]


def _note_exception(sender: Any, request: Any = None, **_: Any) -> None:
    raised = getattr(request, "environ", {}).get(_RAISED)
    error = sys.exc_info()[1]
    if isinstance(raised, list) and error is not None:
        raised.append(detail_of(error))


# Django answers a crash with a page of its own, and tells of the error only here.
got_request_exception.connect(_note_exception, dispatch_uid="agentweb.awp.content")


def _is_news(record: logging.LogRecord) -> bool:
    """Whether the log is to have it: not that a page is gone or forbidden, which the report of the run tells."""
    environ = getattr(getattr(record, "request", None), "environ", {})
    return record.levelno >= logging.ERROR or _RAISED not in environ


logging.getLogger("django.request").addFilter(_is_news)


def _read(path: str, answer: Answer, *, is_detour: bool) -> Rendered | LeftOut | Failed:
    status = answer.status
    if status >= 500 or status in PASSING:
        return Failed(
            Reason.RAISED if answer.raised else Reason.STATUS, answer.raised or f"it answers {status}"
        )
    if status in _LOGIN:
        return LeftOut(Reason.LOGIN, f"it answers {status}")
    if status in _GONE:
        return LeftOut(Reason.GONE, f"it answers {status}")
    if status != 200:
        return LeftOut(Reason.STATUS, f"it answers {status}")
    if answer.media_type not in HTML | TEXTS or "content-encoding" in answer.headers:
        return LeftOut(Reason.TYPE, visible(answer.media_type)[:MAX_DETAIL])
    if answer.body is None:
        return LeftOut(Reason.SIZE, f"more than {MAX_BYTES:,} bytes")
    return Rendered(
        path=path,
        media_type=answer.media_type,
        charset=answer.charset,
        body=answer.body,
        etag=answer.headers.get("etag", ""),
        robots=answer.headers.get("x-robots-tag", ""),
        is_detour=is_detour,
    )


def _body(parts: Any, most: int | None) -> bytes | None:
    """The first bytes of an answer, at most ``most``; without that all of them, None when there are too many. Raises
    OutOfTime when they take too long to come."""
    read: list[bytes] = []
    size, deadline = 0, time.monotonic() + PAGE_SECONDS
    for part in parts:
        size += len(part)
        if most is not None and size >= most:
            return b"".join([*read, part])[:most]
        if size > MAX_BYTES:
            return None
        if time.monotonic() > deadline:
            raise OutOfTime
        read.append(part)
    return b"".join(read)


def _is_login(target: str, asked: str) -> bool:
    """Whether a redirect asks for a login: it leads to LOGIN_URL, or says where to come back to."""
    parts = urlsplit(target)
    come_back = parse_qs(parts.query).get(REDIRECT_FIELD_NAME, [])
    if any(unquote(urlsplit(each).path) == unquote(asked.partition("?")[0]) for each in come_back):
        return True
    try:
        login = urlsplit(resolve_url(settings.LOGIN_URL)).path
    except NoReverseMatch:
        return False
    return parts.path.rstrip("/") == login.rstrip("/")


def _comes_back(target: str, asked: str) -> bool:
    """Whether the query of a redirect has where it comes from, by any name."""
    wanted = unquote(asked.partition("?")[0])
    values = (value for _name, value in parse_qsl(urlsplit(target).query))
    return any(unquote(value.partition("?")[0]).endswith(wanted) for value in values)


def _kept_in_transactions() -> AbstractContextManager[None]:
    """Where the caller is in a transaction, as in a test, its connection outlives the request."""
    is_within = any(each.in_atomic_block for each in connections.all(initialized_only=True))
    return keeping_connections() if is_within else nullcontext()


def _forget_session(pairs: Any) -> None:
    """Delete the session that was made for the visitor."""
    for name, written in pairs:
        # Django 5.2 writes a blank before it.
        value = written.strip()
        if name.lower() != "set-cookie" or not value.startswith(f"{settings.SESSION_COOKIE_NAME}="):
            continue
        try:
            key = SimpleCookie(value)[settings.SESSION_COOKIE_NAME].value
        except (CookieError, KeyError):
            continue
        if key:
            import_module(settings.SESSION_ENGINE).SessionStore(key).delete()
