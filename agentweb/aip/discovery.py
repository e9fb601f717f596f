"""From a page of the site to its manifest: what the ``Link`` header and ``<link>`` of a page say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.http.request import MediaType

from agentweb.aip.addresses import FORMS, JSON_FORM, TOON_FORM, Form, manifest_path
from agentweb.catalog.pages import Page, page_at
from agentweb.http.mount import mount_prefix
from agentweb.http.page_urls import below_mount

_HTML: Final = ("text", "html")
_MOST_TYPES: Final = 50


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """A page, and the path (decoded, as pages are declared) at which somebody looks at it."""

    page: Page
    path: str
    kwargs: dict[str, Any]


def linked_page(path_info: str) -> LinkedPage | None:
    """The page at a request's path, None where agents may read none."""
    path = below_mount(path_info)
    found = None if path is None else page_at(path)
    return None if found is None or path is None else LinkedPage(found[0], path, found[1])


def alternates(page: LinkedPage) -> list[tuple[str, str]]:
    """(path of the manifest's URL, media type) for each form."""
    prefix = mount_prefix()
    return [(manifest_path(page.path, form, prefix), form.media_type) for form in FORMS]


def links_of(page: LinkedPage) -> list[str]:
    """The values of a ``Link`` header (RFC 8288)."""
    return [f'<{path}>; rel="alternate"; type="{media_type}"' for path, media_type in alternates(page)]


def preferred_form(accept: str) -> Form | None:
    """The form that an Accept header prefers to HTML; None for HTML, also for who takes anything (RFC 9110 12.5.1)."""
    if not accept or not any(form.media_type.partition("/")[2] in accept.lower() for form in FORMS):
        return None
    asked = [MediaType(token) for token in accept.split(",")[:_MOST_TYPES] if token.strip()]
    named = {form: _quality(asked, *form.media_type.split("/")) for form in (JSON_FORM, TOON_FORM)}
    best = max(named, key=lambda form: named[form])
    return best if named[best] > _quality(asked, *_HTML, by_range=True) else None


def _quality(asked: list[MediaType], main: str, sub: str, *, by_range: bool = False) -> float:
    """How welcome a media type is; by name alone, or also by a range such as ``*/*``."""
    exact = [_weight(each) for each in asked if (each.main_type, each.sub_type) == (main, sub)]
    if exact or not by_range:
        return max(exact, default=0.0)
    ranges = ((main, "*"), ("*", "*"))
    for kind in ranges:
        found = [_weight(each) for each in asked if (each.main_type, each.sub_type) == kind]
        if found:
            return max(found)
    return 0.0


def _weight(asked: MediaType) -> float:
    try:
        return min(max(float(asked.params.get("q", 1)), 0.0), 1.0)
    except (TypeError, ValueError):
        return 0.0
