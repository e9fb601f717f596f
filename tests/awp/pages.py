"""Content as a run leaves it."""

from __future__ import annotations

from datetime import datetime

from agentweb.awp.content.models import ContentPage, ContentPart, ContentRun
from agentweb.awp.content.published import Entry
from agentweb.awp.publishing import published
from agentweb.wire.clock import now_datetime
from tests.awp.search.pages import digest_of


def write_page(
    slug: str,
    *texts: str,
    title: str = "",
    description: str = "",
    language: str = "en-us",
    path: str = "",
    section: str = "pages",
    tokens: int = 10,
    at: datetime | None = None,
) -> ContentPage:
    """A page with these parts."""
    at = at or now_datetime()
    page = ContentPage.objects.create(
        slug=slug,
        language=language,
        path=path or f"/{slug}/",
        title=title or slug.replace("-", " ").title(),
        description=description,
        section=section,
        source="sitemap",
        source_digest="",
        digest=digest_of(texts),
        tokens=tokens,
        parts=len(texts),
        updated_at=at,
        confirmed_at=at,
        seen_in=1,
    )
    ContentPart.objects.bulk_create(
        ContentPart(page=page, number=number, text=text, tokens=5, digest=digest_of([text]))
        for number, text in enumerate(texts, 1)
    )
    return page


def end_run(at: datetime | None = None, *, is_complete: bool = True) -> None:
    """A run that ended, of which documents that are asked for now know."""
    at = at or now_datetime()
    ContentRun.objects.create(
        started_at=at,
        finished_at=at,
        leased_until=at,
        is_running=False,
        is_complete=is_complete,
        changes=ContentRun.objects.count(),
    )
    published.forget()


def entry(
    slug: str,
    *,
    section: str = "pages",
    tokens: int = 500,
    title: str = "",
    description: str = "",
    parts: int = 1,
) -> Entry:
    """An entry that is in no database."""
    return Entry(
        slug=slug,
        language="en-us",
        path=f"/{slug}/",
        title=title or slug.title(),
        description=description,
        section=section,
        tokens=tokens,
        parts=parts,
        updated_at=datetime.fromisoformat("2026-11-01T08:00:00+00:00"),
    )
