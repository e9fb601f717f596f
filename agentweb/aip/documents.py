"""The public documents of AIP: the site map, and the manifest of every page that has one address for all."""

from __future__ import annotations

from functools import partial

from agentweb.access import callers
from agentweb.aip import published
from agentweb.aip.addresses import FORMS, Form, manifest_path
from agentweb.aip.sitemap import listed_pages
from agentweb.catalog.pages import Page
from agentweb.http.documents import Place, PublicDocument


def documents() -> list[PublicDocument]:
    """What ``export_manifests`` writes and ``agentweb_doctor`` calls. Pages with parameters have no one address."""
    pages = [page for page in listed_pages(callers.anonymous("")) if not page.parameters]
    if not pages:
        return []
    return [PublicDocument(form.site_map, form.media_type, partial(_site_map, form)) for form in FORMS] + [
        PublicDocument(manifest_path(page.path, form, ""), form.media_type, partial(_manifest, page, form))
        for page in pages
        for form in FORMS
    ]


def _site_map(form: Form, place: Place) -> bytes:
    return published.map_document(callers.anonymous(""), form=form, place=place).content


def _manifest(page: Page, form: Form, place: Place) -> bytes:
    return published.page_document(page, page.path, callers.anonymous(""), form=form, place=place).content
