"""Content for the tests of search: rows as a content run writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import agentweb.urls  # noqa: F401 - the rooms advertise their doors
from agentweb.access.callers import anonymous
from agentweb.awp.content.models import ContentPage, ContentPart
from agentweb.awp.search.finding import search
from agentweb.awp.search.indexing import index_page
from agentweb.http.documents import Place
from agentweb.wire.clock import now_datetime

PLACE = Place("https://shop.example", "shop.example")


def write_page(
    slug: str,
    *texts: str,
    title: str = "",
    description: str = "",
    language: str = "en",
    path: str = "",
    is_indexed: bool = True,
) -> ContentPage:
    """A page with these parts, written anew if it is there."""
    at = now_datetime()
    page, _made = ContentPage.objects.update_or_create(
        slug=slug,
        language=language,
        defaults={
            "path": path or f"/{slug}/",
            "title": title or slug.replace("-", " ").title(),
            "description": description,
            "section": "pages",
            "source": "declared",
            "source_digest": digest_of(texts),
            "digest": digest_of([title, description, *texts]),
            "tokens": 1,
            "parts": len(texts),
            "updated_at": at,
            "confirmed_at": at,
            "seen_in": 1,
        },
    )
    page.content_parts.all().delete()
    ContentPart.objects.bulk_create(
        ContentPart(page=page, number=number, text=text, tokens=1, digest=digest_of([text]))
        for number, text in enumerate(texts, 1)
    )
    if is_indexed:
        index_page(page, texts)
    return page


def digest_of(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def found(text: str, **options: Any) -> list[dict[str, Any]]:
    """The results of an anonymous search."""
    results: list[dict[str, Any]] = search(text, anonymous("127.0.0.1"), PLACE, **options)["results"]
    return results


def paths(text: str, **options: Any) -> list[str]:
    return [each["path"] for each in found(text, **options)]
