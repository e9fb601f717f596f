"""Every address that is advertised is called, in both slash forms, as agents and browsers do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentweb import rooms
from agentweb.doctor import advertised
from agentweb.http import cors
from agentweb.http.documents import PublicDocument
from agentweb.http.probes import WITH_ANSWERS, Answer, Examined, Level, Look, Probe, Problem

_PAGE: Final = "https://agent.example"


def doors_answer(site: Examined) -> Iterator[Problem]:
    """A door may ask for a grant; it may not be missing, broken, or somebody else's."""
    for path in advertised.doors(site):
        answer = site.ask("GET", path)
        if advertised.is_dead(answer) and not answer.is_redirect:
            yield Problem(
                f"{path} is advertised and answers {answer.status}{advertised.said(answer)}.",
                advertised.cure(answer),
            )


def nothing_redirects(site: Examined) -> Iterator[Problem]:
    """Agents sign an address; a redirect sends them to another one."""
    for path in advertised.addresses(site):
        for form in (path, f"{path}/"):
            answer = site.ask("GET", form)
            if answer.is_redirect:
                yield Problem(
                    f"{form} answers {answer.status} and leads to {answer.headers.get('location', 'nowhere')}.",
                    "Look at SECURE_SSL_REDIRECT (with AGENTWEB['ORIGIN'] in http, or without "
                    "SECURE_PROXY_SSL_HEADER), at i18n_patterns, PREPEND_WWW, and at middleware that asks for a login.",
                )


def both_slash_forms_answer(site: Examined) -> Iterator[Problem]:
    for path in advertised.addresses(site):
        plain, slashed = site.ask("GET", path), site.ask("GET", f"{path}/")
        if slashed.status != plain.status and not slashed.is_redirect and not plain.is_redirect:
            yield Problem(
                f"{path} answers {plain.status}, and {path}/ answers {slashed.status}.",
                advertised.cure(slashed),
            )


def headers_are_ours(site: Examined) -> Iterator[Problem]:
    public = {document.path_at(site.place): document for document in rooms.documents()}
    for path in advertised.addresses(site):
        answer = site.ask("GET", path, {"Origin": _PAGE})
        if advertised.is_dead(answer):
            continue
        document = public.get(path) if answer.status == 200 else None
        wrong = list(_wrong_headers(answer, document))
        if wrong:
            yield Problem(f"{path}: {'; '.join(wrong)}.", advertised.MIDDLEWARE)


def preflights_work(site: Examined) -> Iterator[Problem]:
    asked = {
        "Origin": _PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "agent-grant,signature",
    }
    wrong: list[tuple[str, Answer]] = []
    for path in advertised.addresses(site):
        if advertised.is_dead(site.ask("GET", path)):
            continue
        answer = site.ask("OPTIONS", path, asked)
        allowed = answer.headers.get("access-control-allow-headers", "").lower()
        if (
            answer.status != 204
            or answer.headers.get("access-control-allow-origin") != "*"
            or "agent-grant" not in allowed
            or "signature" not in allowed
        ):
            wrong.append((path, answer))
    if wrong:
        path, answer = wrong[0]
        opened = answer.headers.get("access-control-allow-origin", "missing")
        others = f", and so do {len(wrong) - 1} other addresses" if len(wrong) > 1 else ""
        yield Problem(
            f"A browser's preflight of {path} gets {answer.status} with Access-Control-Allow-Origin {opened}{others}: "
            "no page can call them.",
            f"Put {cors.OWN_MIDDLEWARE} in place of {cors.MIDDLEWARE}, or keep that off agents' paths, "
            f"{cors.setting()}; and keep any other middleware that answers OPTIONS off them.",
        )


def no_cookies(site: Examined) -> Iterator[Problem]:
    for path in advertised.addresses(site):
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


def _wrong_headers(answer: Answer, document: PublicDocument | None) -> Iterator[str]:
    is_document = document is not None
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
    if document is not None and not document.is_same_for_all and not {"agent-grant", "agent-key"} <= vary:
        yield "Vary does not name Agent-Grant and Agent-Key"


def _probe(number: str, healthy: str, look: Look, level: Level = Level.ERROR) -> Probe:
    return Probe(number, level, healthy, look, after=WITH_ANSWERS)


PROBES: Final = (
    _probe("D051", "Every other address that is advertised answers.", doors_answer),
    _probe("D052", "Nothing redirects.", nothing_redirects),
    _probe("D053", "Addresses answer with and without a slash at the end.", both_slash_forms_answer),
    _probe("D056", "Answers carry their headers.", headers_are_ours),
    _probe("D059", "Browsers' preflights are answered.", preflights_work),
    _probe("D060", "No cookie is set or looked at.", no_cookies, Level.WARNING),
)
