"""What the doctor looks at in this room: whether content was ever looked at, and lately; and its pages themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from agentweb import conf
from agentweb.awp import languages, protocol
from agentweb.awp.content import published
from agentweb.awp.content.failing import CORRECT, some
from agentweb.awp.content.published import Entry
from agentweb.awp.publishing import content_map
from agentweb.awp.publishing.facts import public_pages
from agentweb.http import links
from agentweb.http.probes import WITH_ANSWERS, Examined, Level, Look, Probe, Problem
from agentweb.wire.clock import now_datetime

OLDEST: Final = timedelta(days=30)
"""Older content is no sign of a site that is cared for, says the protocol's checklist."""
_SAMPLES: Final = 20
_MOST_LINKS: Final = 200
_RUN: Final = "Run `manage.py agentweb_content`, and let cron or Celery run it each day."


def content_is_fresh(site: Examined) -> Iterable[Problem] | None:
    if not public_pages() and not conf.get_in("AWP", "SITEMAPS"):
        return None
    return _age(published.state().updated_at, published.failing())


def _age(at: datetime | None, failing: list[str]) -> Iterator[Problem]:
    # The run itself is not what fails.
    why = f" The last one failed at {some(failing)}." if failing else ""
    fix = CORRECT if failing else _RUN
    if at is None:
        yield Problem(
            f"No run has confirmed every page yet, so the manifest does not say how old it is.{why}", fix
        )
    elif now_datetime() - at > OLDEST:
        yield Problem(f"The last run that confirmed every page ended on {at:%Y-%m-%d}.{why}", fix)


def pages_answer(site: Examined) -> Iterator[Problem]:
    """Some of all pages, for there may be very many."""
    for entry in _sampled():
        path = f"{site.place.prefix}/{protocol.content_path(entry.slug)}"
        answer = site.ask("GET", path)
        if answer.status != 200 or answer.media_type != protocol.MARKDOWN:
            yield Problem(
                f"{path}, the content of {entry.path}, answers {answer.status} as {answer.media_type or 'nothing'}.",
                "Look for a view or a middleware of the site that answers there, with `manage.py check`.",
            )


def _sampled() -> Iterator[Entry]:
    """Some _SAMPLES of all that are listed, evenly."""
    sections = content_map.current(languages.readable("")).sections
    entries = [entry for section in sections for entry in section.entries]
    return islice(entries, 0, None, max(1, len(entries) // _SAMPLES))


def links_answer(site: Examined) -> Iterator[Problem]:
    """The links that stand on pages, of some of all. Files, which a server before Django may serve, are not asked."""
    seen: set[str] = set()
    for entry in _sampled():
        text = "".join(published.texts(entry))
        for link in links.of(text.encode(), protocol.MARKDOWN, site.place.origin):
            if link in seen or len(seen) >= _MOST_LINKS or _is_file(link):
                continue
            seen.add(link)
            there = site.ask("GET", link)
            if there.status in {404, 410} or there.status >= 500:
                yield Problem(
                    f"A dead link on the page {entry.path}: {link} answers {there.status}.",
                    "Correct the link on the page, or what should be there, and run `manage.py agentweb_content`.",
                )


def _is_file(link: str) -> bool:
    starts = (urlsplit(str(url or "")).path for url in (settings.STATIC_URL, settings.MEDIA_URL))
    return any(start.strip("/") and link.startswith(start) for start in starts)


def _probe(number: str, healthy: str, look: Look, level: Level = Level.ERROR) -> Probe:
    return Probe(number, level, healthy, look, after=WITH_ANSWERS)


PROBES: Final = (
    _probe("D120", "Content was looked through in the last 30 days.", content_is_fresh, Level.WARNING),
    _probe("D121", "Pages of content answer as Markdown.", pages_answer),
    replace(
        _probe("D122", "Links on pages lead somewhere.", links_answer, Level.WARNING),
        # What it asks for is pages of the site, which know no address but their own.
        looks_inside=True,
    ),
)
