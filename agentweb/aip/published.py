"""Public manifests and site maps as bytes, kept in the process: a warm one costs no query, and neither does a cold."""

from __future__ import annotations

from typing import Any, Final

from agentweb.access.callers import Caller
from agentweb.aip.addresses import JSON_FORM, Form, links
from agentweb.aip.manifest import public_manifest
from agentweb.aip.offers import offers
from agentweb.aip.sitemap import listed_pages, site_map
from agentweb.catalog.pages import Page
from agentweb.catalog.registry import registry
from agentweb.http.documents import Place
from agentweb.http.headers import Document
from agentweb.http.kept import KeptDocuments
from agentweb.wire import toon
from agentweb.wire.json_writing import dumps

documents: Final = KeptDocuments(limit=512)
"""One for each page, form and set of actions that some caller may see; a page with parameters has one for each URL."""


def page_document(page: Page, path: str, caller: Caller, *, form: Form, place: Place) -> Document:
    """The public manifest of the page at ``path`` for a caller without a grant."""
    version = registry.version
    listed = list(offers(page, caller))
    names = tuple(offer.action.name for offer in listed)
    urls = links(place.origin, place.prefix)
    return documents.get(
        ("page", version, path, form.suffix, urls, names),
        lambda: Document(written(public_manifest(path, listed, urls), form), form.content_type),
    )


def map_document(caller: Caller, *, form: Form, place: Place) -> Document:
    """The site map for this caller."""
    version = registry.version
    pages = listed_pages(caller)
    urls = links(place.origin, place.prefix)
    return documents.get(
        ("map", version, form.suffix, urls, place.origin, tuple(each.path for each in pages)),
        lambda: Document(written(site_map(pages, urls, place.origin), form), form.content_type),
    )


def written(document: dict[str, Any], form: Form) -> bytes:
    """The document in one of its forms."""
    return dumps(document) if form is JSON_FORM else toon.dumps(document)
