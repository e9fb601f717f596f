"""Which pages the site has: those that are registered, and those of its Django sitemaps.

A registered page with parameters has as many URLs as there are rows, so it comes by sitemaps only.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from django.contrib.sitemaps import Sitemap
from django.db.models import QuerySet
from django.utils import translation

from agentweb import conf
from agentweb.awp.content.languages import Languages
from agentweb.awp.content.models import ContentPage
from agentweb.awp.content.outcomes import MAX_DETAIL, Failed, LeftOut, Reason, Report
from agentweb.awp.content.rendering import Renderer, detail_of
from agentweb.awp.content.runs import Superseded
from agentweb.awp.content.slugs import section_id, slug_of
from agentweb.catalog.registry import registry
from agentweb.http.mount import mount_prefix
from agentweb.http.page_urls import published_path
from agentweb.wire.visible import visible

REGISTERED: Final = "pages"
"""The section of registered pages."""
_CHUNK: Final = 1_000
_OWN_WAYS: Final = ("get_urls", "_urls", "_items", "paginator")
"""Methods of a sitemap by which it decides more than what its items are and where."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A URL of the site by its ``path`` (percent-encoded, with its query), and in which languages to look at it."""

    path: str
    languages: tuple[str, ...]
    section: str
    source: str


@dataclass(slots=True)
class Found:
    """``candidates`` are all pages, each once. ``reports`` tell of what could not be one, and of site maps that could
    not be read: then there may be pages that nobody saw, and ``is_whole`` is False."""

    candidates: list[Candidate]
    reports: list[Report]
    is_whole: bool = True


def find(
    renderer: Renderer, languages: Languages, origin: str, tick: Callable[[], None] = lambda: None
) -> Found:
    """All pages of the site, those that are registered first. Of each URL only its path is kept, so that the memory
    this takes is that of the paths. ``tick`` is called between pages."""
    found = Found([], [])
    with translation.override(languages.default):
        _find(found, renderer, languages, origin, tick)
    return found


def _find(
    found: Found, renderer: Renderer, languages: Languages, origin: str, tick: Callable[[], None]
) -> None:
    seen: set[tuple[str, tuple[str, ...]]] = set()

    def note(candidate: Candidate) -> None:
        key = slug_of(languages.below(candidate.path)), candidate.languages
        if key not in seen:
            seen.add(key)
            found.candidates.append(candidate)

    for candidate in _registered(languages):
        note(candidate)
    for name, given in _sitemaps(found):
        try:
            for location in _locations(_made(given), origin):
                tick()
                path = renderer.own_path(location)
                wanted = () if path is None else languages.of(path)
                if path is None:
                    shown = visible(location)[:MAX_DETAIL]
                    found.reports.append(Report(shown, "", LeftOut(Reason.ADDRESS, name)))
                elif not wanted:
                    found.reports.append(Report(path, "", LeftOut(Reason.LANGUAGE)))
                else:
                    note(Candidate(path, wanted, section_id(name), ContentPage.Source.SITE_MAP.value))
        except Superseded:
            raise
        except Exception as error:
            _note_unread(found, name, detail_of(error))


def _registered(languages: Languages) -> Iterator[Candidate]:
    for page in registry.pages():
        if page.parameters:
            continue
        paths: dict[str, list[str]] = {}
        for language in languages.kept:
            path = published_path(page.path, mount_prefix(language))
            if language in languages.of(path):
                paths.setdefault(path, []).append(language)
        source = ContentPage.Source.VIEW if page.markdown is None else ContentPage.Source.DECLARED
        for path, wanted in paths.items():
            yield Candidate(path, tuple(wanted), REGISTERED, source.value)


def sitemaps() -> list[tuple[str, Any]]:
    """What SITEMAPS has, by name; none where it is unset. Raises what importing it does, and TypeError for no dict."""
    given = conf.get_in("AWP", "SITEMAPS")
    if not given:
        return []
    found = _imported(given) if isinstance(given, str) else given
    if not isinstance(found, Mapping):
        raise TypeError(f"a {type(found).__name__} is no dict of sitemaps")
    return [(str(name), each) for name, each in found.items()]


def _sitemaps(found: Found) -> list[tuple[str, Any]]:
    """The site's sitemaps by name, classes or instances, as Django's view takes them."""
    try:
        return sitemaps()
    except Exception as error:
        _note_unread(found, str(conf.get_in("AWP", "SITEMAPS")), detail_of(error))
        return []


def _imported(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _made(given: Any) -> Any:
    return given() if callable(given) else given


def _locations(sitemap: Any, origin: str) -> Iterator[str]:
    """The URLs or paths of a sitemap, one after the other, whatever its size.

    Rows are read in steps, and not again for each page of it as Django's paginator would; a sitemap with ways of its
    own is asked page by page, as Django's view does.
    """
    if isinstance(sitemap, Sitemap) and not _has_own_ways(type(sitemap)):
        yield from _of_items(sitemap)
        return
    scheme, _, domain = origin.partition("://")
    site, number = SimpleNamespace(domain=domain, name=domain), 1
    while True:
        for each in sitemap.get_urls(page=number, site=site, protocol=scheme):
            yield str(each["location"])
        if number >= sitemap.paginator.num_pages:
            return
        number += 1


def _of_items(sitemap: Any) -> Iterator[str]:
    given = sitemap.items()
    items = given.iterator(chunk_size=_CHUNK) if isinstance(given, QuerySet) else given
    for item in items:
        if not sitemap.i18n:
            yield str(sitemap._location(item))
            continue
        for code in sitemap.get_languages_for_item(item):
            yield str(sitemap._location((item, code)))


def _has_own_ways(kind: type) -> bool:
    return any(getattr(kind, name) is not getattr(Sitemap, name) for name in _OWN_WAYS)


def _note_unread(found: Found, name: str, why: str) -> None:
    found.is_whole = False
    found.reports.append(Report(name, "", Failed(Reason.SITE_MAP, why)))
