"""Everything that is advertised is called: documents and doors, in both slash forms, with every method that counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from agentweb import rooms
from agentweb.doctor import links
from agentweb.http.documents import PublicDocument
from agentweb.http.doors import all_doors
from agentweb.http.probes import WITH_ANSWERS, Answer, Examined, Level, Look, Probe, Problem
from agentweb.wire.strict_json import loads

_LOG: Final = "See the log of agentweb.http for the request, and the traceback there."
_MIDDLEWARE: Final = (
    "Find the middleware or the view that answers in agentweb's place, and keep it off its paths."
)
_PAGE: Final = "https://agent.example"
_MAX_LINKS: Final = 200
_LARGEST: Final = 50_000_000
_STRONG_ETAG: Final = re.compile(r'"[!#-~]+"')


def documents_answer(site: Examined) -> Iterator[Problem]:
    for path, _document, answer in _documents(site):
        if answer.status != 200 and not answer.is_redirect:
            yield Problem(f"{path} answers {answer.status}{_said(answer)}.", _cure(answer))


def doors_answer(site: Examined) -> Iterator[Problem]:
    """A door may ask for a grant; it may not be missing, broken, or somebody else's."""
    for path in _doors(site):
        answer = site.ask("GET", path)
        if _is_dead(answer) and not answer.is_redirect:
            yield Problem(f"{path} is advertised and answers {answer.status}{_said(answer)}.", _cure(answer))


def nothing_redirects(site: Examined) -> Iterator[Problem]:
    """Agents sign an address; a redirect sends them to another one."""
    for path in _advertised(site):
        for form in (path, f"{path}/"):
            answer = site.ask("GET", form)
            if answer.is_redirect:
                yield Problem(
                    f"{form} answers {answer.status} and leads to {answer.headers.get('location', 'nowhere')}.",
                    "Look at SECURE_SSL_REDIRECT (with AGENTWEB['ORIGIN'] in http, or without "
                    "SECURE_PROXY_SSL_HEADER), at i18n_patterns, PREPEND_WWW, and at middleware that asks for a login.",
                )


def both_slash_forms_answer(site: Examined) -> Iterator[Problem]:
    for path in _advertised(site):
        plain, slashed = site.ask("GET", path), site.ask("GET", f"{path}/")
        if slashed.status != plain.status and not slashed.is_redirect and not plain.is_redirect:
            yield Problem(
                f"{path} answers {plain.status}, and {path}/ answers {slashed.status}.", _cure(slashed)
            )


def media_types_hold(site: Examined) -> Iterator[Problem]:
    for path, document, answer in _documents(site):
        if answer.status != 200:
            continue
        given = answer.headers.get("content-type", "")
        is_text = document.media_type.startswith("text/") or document.media_type.endswith("json")
        if answer.media_type != document.media_type:
            yield Problem(
                f"{path} is advertised as {document.media_type} and answers as {given or 'nothing'}.",
                _MIDDLEWARE,
            )
        elif is_text and "charset=utf-8" not in given.lower().replace('"', "").replace(" ", ""):
            yield Problem(f"{path} answers as {given}, without its charset utf-8.", _MIDDLEWARE)


def bytes_are_ours(site: Examined) -> Iterator[Problem]:
    for path, document, answer in _documents(site):
        if answer.status == 200 and answer.body != document.content(site.place):
            yield Problem(
                f"{path} answers with other bytes than agentweb wrote.",
                "Keep middleware that rewrites answers off it; another process with other settings may be at work.",
            )


def headers_are_ours(site: Examined) -> Iterator[Problem]:
    public = {document.path_at(site.place) for document in rooms.documents()}
    for path in _advertised(site):
        answer = site.ask("GET", path, {"Origin": _PAGE})
        if _is_dead(answer):
            continue
        wrong = list(_wrong_headers(answer, is_document=path in public and answer.status == 200))
        if wrong:
            yield Problem(f"{path}: {'; '.join(wrong)}.", _MIDDLEWARE)


def revalidation_works(site: Examined) -> Iterator[Problem]:
    for path, _document, answer in _documents(site):
        if answer.status != 200:
            continue
        tag = answer.headers.get("etag", "")
        if not _STRONG_ETAG.fullmatch(tag):
            yield Problem(
                f"{path} has {'no ETag' if not tag else f'the ETag {tag}, which is weak'}.", _MIDDLEWARE
            )
            continue
        again = site.ask("GET", path, {"If-None-Match": tag})
        if again.status != 304 or again.body:
            yield Problem(
                f"{path} answers {again.status} to If-None-Match with its own ETag, and not an empty 304.",
                _MIDDLEWARE,
            )


def head_and_options_work(site: Examined) -> Iterator[Problem]:
    for path, _document, answer in _documents(site):
        if answer.status != 200:
            continue
        head = site.ask("HEAD", path)
        if head.status != 200 or head.body or head.headers.get("content-length") != str(len(answer.body)):
            yield Problem(
                f"HEAD {path} answers {head.status}, and not like GET without its content.", _MIDDLEWARE
            )
        options = site.ask("OPTIONS", path)
        if options.status != 204 or "GET" not in options.headers.get("allow", ""):
            yield Problem(
                f"OPTIONS {path} answers {options.status}, and not 204 with Allow: GET, …", _MIDDLEWARE
            )


def preflights_work(site: Examined) -> Iterator[Problem]:
    asked = {
        "Origin": _PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "agent-grant,signature",
    }
    for path in _advertised(site):
        if _is_dead(site.ask("GET", path)):
            continue
        answer = site.ask("OPTIONS", path, asked)
        allowed = answer.headers.get("access-control-allow-headers", "").lower()
        opened = answer.headers.get("access-control-allow-origin")
        if (
            answer.status != 204
            or opened != "*"
            or "agent-grant" not in allowed
            or "signature" not in allowed
        ):
            yield Problem(
                f"A browser's preflight of {path} gets {answer.status} with Access-Control-Allow-Origin "
                f"{opened or 'missing'}: no page can call it.",
                "Keep django-cors-headers off agents' paths by CORS_URLS_REGEX (agentweb.W042 prints it), and any "
                "other middleware that answers OPTIONS.",
            )


def no_cookies(site: Examined) -> Iterator[Problem]:
    for path in _advertised(site):
        answer = site.ask("GET", path)
        names = ", ".join(sorted(cookie.partition("=")[0] for cookie in answer.cookies))
        if names:
            yield Problem(
                f"{path} sets cookies ({names}): agents keep none, and shared caches keep the answer out.",
                "Find the middleware that sets them, and let it leave out agents' paths.",
            )
        elif "cookie" in answer.headers.get("vary", "").lower():
            yield Problem(
                f"{path} varies by Cookie: a middleware looked into the session or the login.",
                "Find the middleware that does, and let it leave out agents' paths.",
            )


def wrong_methods_are_refused(site: Examined) -> Iterator[Problem]:
    """By POST, which also shows whether CSRF protection stands in the way of signed calls."""
    for path, _document, there in _documents(site):
        if there.status != 200:
            continue
        answer = site.ask("POST", path, body=b"{}")
        if answer.status != 405 or error_code(answer) != "method_not_allowed":
            yield Problem(
                f"POST {path} answers {answer.status}{_said(answer)}, and not 405 with an error in JSON.",
                _MIDDLEWARE,
            )


def links_answer(site: Examined) -> Iterator[Problem]:
    """A link may ask for a login or a grant; it may not be dead."""
    seen: set[str] = set()
    for path, document, answer in _documents(site):
        if answer.status != 200:
            continue
        for link in links.of(answer.body, document.media_type, site.place.origin):
            if link in seen or len(seen) >= _MAX_LINKS:
                continue
            seen.add(link)
            there = site.ask("GET", link)
            if there.status in {404, 410} or there.status >= 500:
                yield Problem(
                    f"{path} links to {link}, which answers {there.status}{_said(there)}.", _cure(there)
                )


def error_code(answer: Answer) -> str | None:
    """The code of an error of ours, None when the answer is none."""
    if not answer.is_ours:
        return None
    try:
        body: Any = loads(answer.body, max_bytes=_LARGEST)
        return str(body["error"]["code"])
    except Exception:
        return None


def _wrong_headers(answer: Answer, *, is_document: bool) -> Iterator[str]:
    headers = answer.headers
    if not headers.get("x-request-id", "").startswith("rq_"):
        yield f"X-Request-Id is {headers.get('x-request-id', 'missing')} and not the one of agentweb's log"
    if headers.get("access-control-allow-origin") != "*":
        yield f"Access-Control-Allow-Origin is {headers.get('access-control-allow-origin', 'missing')} and not *"
    if "access-control-allow-credentials" in headers:
        yield "Access-Control-Allow-Credentials is there"
    cached = headers.get("cache-control", "")
    if is_document and not cached.startswith("public, max-age="):
        yield f"Cache-Control is {cached or 'missing'} and not public, max-age=…"
    if not is_document and "no-store" not in cached:
        yield f"Cache-Control is {cached or 'missing'} and not no-store"
    vary = {name.strip().lower() for name in headers.get("vary", "").split(",")}
    if is_document and not {"agent-grant", "agent-key"} <= vary:
        yield "Vary does not name Agent-Grant and Agent-Key"


def _is_dead(answer: Answer) -> bool:
    """Whether nothing of ours is there; D050, D051 or D052 says so."""
    return answer.is_redirect or answer.status in {404, 410} or answer.status >= 500 or not answer.is_ours


def _documents(site: Examined) -> Iterator[tuple[str, PublicDocument, Answer]]:
    for document in rooms.documents():
        path = document.path_at(site.place)
        yield path, document, site.ask("GET", path)


def _doors(site: Examined) -> list[str]:
    return [door.path_at(site.place) for door in all_doors()]


def _advertised(site: Examined) -> list[str]:
    """Paths of all documents and doors, each once."""
    return sorted({*(document.path_at(site.place) for document in rooms.documents()), *_doors(site)})


def _said(answer: Answer) -> str:
    """What was logged, else the code of the error."""
    code = error_code(answer)
    if answer.log and answer.status >= 500:
        return f" ({answer.log[0]})"
    return f" ({code})" if code else ""


def _cure(answer: Answer) -> str:
    if answer.status == 400 and not answer.is_ours:
        return "Django itself refused it: look at ALLOWED_HOSTS and AGENTWEB['ORIGIN']."
    if answer.status == 404:
        return (
            'Include agentweb.urls in the root URLconf, above what catches all: path("", include("agentweb.urls")); '
            "under a path add *agentweb.urls.well_known."
        )
    return _LOG if answer.status >= 500 else _MIDDLEWARE


def _probe(number: str, healthy: str, look: Look, level: Level = Level.ERROR) -> Probe:
    return Probe(number, level, healthy, look, after=WITH_ANSWERS)


PROBES: Final = (
    _probe("D050", "Every public document answers.", documents_answer),
    _probe("D051", "Every other address that is advertised answers.", doors_answer),
    _probe("D052", "Nothing redirects.", nothing_redirects),
    _probe("D053", "Addresses answer with and without a slash at the end.", both_slash_forms_answer),
    _probe("D054", "Documents have their media type and charset.", media_types_hold),
    _probe("D055", "Documents arrive as they were written.", bytes_are_ours),
    _probe("D056", "Answers carry their headers.", headers_are_ours),
    _probe("D057", "Who has a document already gets 304.", revalidation_works, Level.WARNING),
    _probe("D058", "HEAD and OPTIONS are answered.", head_and_options_work, Level.WARNING),
    _probe("D059", "Browsers' preflights are answered.", preflights_work),
    _probe("D060", "No cookie is set or looked at.", no_cookies, Level.WARNING),
    _probe("D061", "A wrong method is refused in JSON.", wrong_methods_are_refused),
    _probe("D062", "Every link in a document leads somewhere.", links_answer),
)
