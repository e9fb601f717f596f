"""The public documents: each is called with every method that counts, and its links are followed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agentweb.doctor import advertised
from agentweb.http import links
from agentweb.http.probes import WITH_ANSWERS, Examined, Level, Look, Probe, Problem

_MAX_LINKS: Final = 200
_STRONG_ETAG: Final = re.compile(r'"[!#-~]+"')


def documents_answer(site: Examined) -> Iterator[Problem]:
    for path, _document, answer in advertised.documents(site):
        if answer.status != 200 and not answer.is_redirect:
            yield Problem(
                f"{path} answers {answer.status}{advertised.said(answer)}.", advertised.cure(answer)
            )
        elif answer.status == 200 and not answer.is_ours:
            yield Problem(
                f"{path} answers 200 by another view, as {answer.media_type or 'nothing'}.", advertised.MOUNT
            )


def media_types_hold(site: Examined) -> Iterator[Problem]:
    for path, document, answer in advertised.sound_documents(site):
        given = answer.headers.get("content-type", "")
        is_text = document.media_type.startswith("text/") or document.media_type.endswith("json")
        if answer.media_type != document.media_type:
            yield Problem(
                f"{path} is advertised as {document.media_type} and answers as {given or 'nothing'}.",
                advertised.MIDDLEWARE,
            )
        elif is_text and "charset=utf-8" not in given.lower().replace('"', "").replace(" ", ""):
            yield Problem(f"{path} answers as {given}, without its charset utf-8.", advertised.MIDDLEWARE)


def bytes_are_ours(site: Examined) -> Iterator[Problem]:
    for path, document, answer in advertised.sound_documents(site):
        if answer.body != document.content(site.place):
            yield Problem(
                f"{path} answers with other bytes than agentweb wrote.",
                "Keep middleware that rewrites answers off it; another process with other settings may be at work.",
            )


def revalidation_works(site: Examined) -> Iterator[Problem]:
    for path, _document, answer in advertised.sound_documents(site):
        tag = answer.headers.get("etag", "")
        if not _STRONG_ETAG.fullmatch(tag):
            yield Problem(
                f"{path} has {'no ETag' if not tag else f'the ETag {tag}, which is weak'}.",
                advertised.MIDDLEWARE,
            )
            continue
        again = site.ask("GET", path, {"If-None-Match": tag})
        if again.status != 304 or again.body:
            yield Problem(
                f"{path} answers {again.status} to If-None-Match with its own ETag, and not an empty 304.",
                advertised.MIDDLEWARE,
            )


def head_and_options_work(site: Examined) -> Iterator[Problem]:
    for path, _document, answer in advertised.sound_documents(site):
        head = site.ask("HEAD", path)
        if head.status != 200 or head.body or head.headers.get("content-length") != str(len(answer.body)):
            yield Problem(
                f"HEAD {path} answers {head.status}, and not like GET without its content.",
                advertised.MIDDLEWARE,
            )
        options = site.ask("OPTIONS", path)
        if options.status != 204 or "GET" not in options.headers.get("allow", ""):
            yield Problem(
                f"OPTIONS {path} answers {options.status}, and not 204 with Allow: GET, …",
                advertised.MIDDLEWARE,
            )


def wrong_methods_are_refused(site: Examined) -> Iterator[Problem]:
    """By POST, which also shows whether CSRF protection stands in the way of signed calls."""
    for path, _document, _there in advertised.sound_documents(site):
        answer = site.ask("POST", path, body=b"{}")
        if answer.status != 405 or advertised.error_code(answer) != "method_not_allowed":
            yield Problem(
                f"POST {path} answers {answer.status}{advertised.said(answer)}, and not 405 with an error in JSON.",
                advertised.MIDDLEWARE,
            )


def links_answer(site: Examined) -> Iterator[Problem]:
    """A link may ask for a login or a grant; it may not be dead. Links of quoted pages are their room's."""
    seen: set[str] = set()
    for path, document, answer in advertised.sound_documents(site):
        if document.quotes_pages:
            continue
        for link in links.of(answer.body, document.media_type, site.place.origin):
            if link in seen or len(seen) >= _MAX_LINKS:
                continue
            seen.add(link)
            there = site.ask("GET", link)
            if there.status in {404, 410} or there.status >= 500:
                yield Problem(
                    f"{path} links to {link}, which answers {there.status}{advertised.said(there)}.",
                    advertised.cure(there),
                )


def _probe(number: str, healthy: str, look: Look, level: Level = Level.ERROR) -> Probe:
    return Probe(number, level, healthy, look, after=WITH_ANSWERS)


PROBES: Final = (
    _probe("D050", "Every public document answers.", documents_answer),
    _probe("D054", "Documents have their media type and charset.", media_types_hold),
    _probe("D055", "Documents arrive as they were written.", bytes_are_ours),
    _probe("D057", "Who has a document already gets 304.", revalidation_works, Level.WARNING),
    _probe("D058", "HEAD and OPTIONS are answered.", head_and_options_work, Level.WARNING),
    _probe("D061", "A wrong method is refused in JSON.", wrong_methods_are_refused),
    _probe("D062", "Every link in a document leads somewhere.", links_answer),
)
