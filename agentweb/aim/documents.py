"""The messenger's public documents. ``/v2/policy`` is none of them: it tells the time, and so is new each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agentweb.aim import discovery, mount
from agentweb.aim.guides import authentication, envelopes
from agentweb.http.bodies import MEDIA_TYPE
from agentweb.http.documents import Place, PublicDocument
from agentweb.http.headers import JSON, Document
from agentweb.http.kept import KeptDocuments
from agentweb.wire.aim.vector import signing_vector
from agentweb.wire.json_writing import dumps

MARKDOWN: Final = "text/markdown"

Build = Callable[[Place], Document]

_kept: Final = KeptDocuments()


def manifest(place: Place) -> Document:
    return Document(dumps(discovery.document(place)))


def authentication_guide(place: Place) -> Document:
    return _text(authentication(place))


def envelopes_guide(place: Place) -> Document:
    return _text(envelopes(place))


def vector(place: Place) -> Document:
    return _kept.get("vector", lambda: Document(dumps(signing_vector())))


def openapi(place: Place) -> Document:
    return _kept.get(("openapi", place), lambda: _openapi(place))


def _openapi(place: Place) -> Document:
    # It shows the views to drf-spectacular: neither is needed to say where the document is.
    from agentweb.aim import openapi  # noqa: PLC0415

    return Document(dumps(openapi.document(place)), JSON)


def _text(content: str) -> Document:
    return Document(content.encode(), f"{MARKDOWN}; charset=utf-8")


DOCUMENTS: Final[dict[str, tuple[str, Build]]] = {
    mount.MANIFEST: (MEDIA_TYPE, manifest),
    mount.OPENAPI: (MEDIA_TYPE, openapi),
    mount.AUTHENTICATION_GUIDE: (MARKDOWN, authentication_guide),
    mount.ENVELOPES_GUIDE: (MARKDOWN, envelopes_guide),
    mount.SIGNING_VECTOR: (MEDIA_TYPE, vector),
}
"""By path: the media type, and what builds it for a place."""


def documents() -> list[PublicDocument]:
    """What ``export_manifests`` writes and ``agentweb_doctor`` calls."""
    return [
        PublicDocument(f"/{path}", media_type, _content(build), is_well_known=path == mount.MANIFEST)
        for path, (media_type, build) in DOCUMENTS.items()
    ]


def _content(build: Build) -> Callable[[Place], bytes]:
    return lambda place: build(place).content
