"""The public documents of AWP, as ``export_manifests`` writes them and ``agentweb_doctor`` calls them.

In the site's own language and, of what comes in parts, the first one. The content of the pages themselves is not among
them: it is in the database, may be large, and comes anew with every run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from agentweb.awp import languages, protocol
from agentweb.awp.publishing import content_map, published
from agentweb.awp.publishing.published import Languages, Part
from agentweb.http.documents import Place, PublicDocument
from agentweb.http.headers import Document
from agentweb.http.site_urls import is_sites_own

_Build = Callable[[Place, Languages], Document]

_MADE: Final[dict[str, tuple[str, _Build]]] = {
    protocol.WELL_KNOWN: (protocol.JSON, published.well_known),
    protocol.MANIFEST: (protocol.JSON, published.manifest),
    protocol.STRUCTURE: (protocol.JSON, published.site_structure),
    protocol.FUNCTIONS: (protocol.JSON, published.site_functions),
    protocol.LLMS: (protocol.PLAIN, published.llms_txt),
}
_IN_PARTS: Final[dict[str, tuple[str, Callable[..., Part | None]]]] = {
    protocol.SUMMARY: (protocol.MARKDOWN, published.summary_text),
    protocol.INSTRUCTIONS: (protocol.MARKDOWN, published.instructions_text),
    protocol.LLMS_FULL: (protocol.PLAIN, published.all_texts),
}
_AT_THE_ROOT: Final = {protocol.WELL_KNOWN, protocol.LLMS, protocol.LLMS_FULL}
_MAY_BE_THE_SITES: Final = {protocol.LLMS, protocol.LLMS_FULL}


def documents() -> list[PublicDocument]:
    """What there is at the moment; an ``/llms.txt`` of the site's own is not ours to export."""
    return [
        PublicDocument(
            f"/{path}",
            media_type,
            content,
            is_well_known=path in _AT_THE_ROOT,
            quotes_pages=path == protocol.LLMS_FULL,
            is_same_for_all=True,
        )
        for path, media_type, content in _all()
        if path not in _MAY_BE_THE_SITES or not is_sites_own(path, is_well_known=True)
    ]


def _all() -> list[tuple[str, str, Callable[[Place], bytes]]]:
    found: list[tuple[str, str, Callable[[Place], bytes]]] = [
        (path, media_type, partial(_made, build)) for path, (media_type, build) in _MADE.items()
    ]
    found += [(path, media_type, partial(_first, build)) for path, (media_type, build) in _IN_PARTS.items()]
    found += [
        (protocol.section_path(section.id), protocol.JSON, partial(_section, section.id))
        for section in content_map.current(_languages()).sections
    ]
    return found


def _made(build: _Build, place: Place) -> bytes:
    return build(place, _languages()).content


def _first(build: Callable[..., Part | None], place: Place) -> bytes:
    found = build(place, _languages(), number=1)
    return b"" if found is None else found.document.content


def _section(ident: str, place: Place) -> bytes:
    found = published.section(ident, place, _languages(), number=1)
    return b"" if found is None else found.content


def _languages() -> Languages:
    return languages.readable("")
