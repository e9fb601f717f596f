"""The site map for agents: every page with its title and the address of its manifest.

A page with parameters is listed once, with ``{name}`` for each of them, as in an RFC 6570 template.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentweb.access.callers import Caller
from agentweb.aip.addresses import JSON_FORM, Links, manifest_path
from agentweb.aip.manifest import PROTOCOL, VERSION
from agentweb.catalog import page_paths
from agentweb.catalog.pages import Page
from agentweb.catalog.registry import registry
from agentweb.http.page_urls import published_path


def site_map(pages: Iterable[Page], links: Links, origin: str) -> dict[str, Any]:
    """The document for a caller who may see ``pages``. Its rows are alike, so that TOON writes them as a table."""
    return {
        "protocol": PROTOCOL,
        "version": VERSION,
        "sitemap": links.site_map,
        "pages": [
            {
                "page": _template(published_path(each.path, links.prefix)),
                "title": each.title,
                "description": each.description,
                "manifest": origin + _template(manifest_path(each.path, JSON_FORM, links.prefix)),
            }
            for each in pages
        ],
    }


def listed_pages(caller: Caller) -> list[Page]:
    """The pages that this caller may know of, sorted by path.

    Of a guarded page with parameters nobody can say who may see it before its parameters are known: it is not
    listed, and found by what other pages say of it.
    """
    return [
        each
        for each in registry.pages()
        if each.permission is None or (not each.parameters and each.is_visible_to(caller.user, {}))
    ]


def _template(path: str) -> str:
    """``/orders/%3Cint:pk%3E`` as ``/orders/{pk}``."""
    return page_paths.as_template(path.replace("%3C", "<").replace("%3E", ">"))
