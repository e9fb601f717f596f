"""The content that is published, as everything that serves or lists it reads it: rows, never rendered on request.

A page is named by its slug (``slugs``), which may have slashes in it: ``products/red-shoe``. It may be there in several
languages; a reader gets the first of those that they can read, then the site's own, then any.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Case, Count, FilteredRelation, IntegerField, Q, Subquery, Sum, Value, When

from agentweb.awp.content.languages import default
from agentweb.awp.content.models import SLUG_LENGTH, ContentPage, ContentPart, ContentRun
from agentweb.awp.content.outcomes import IN_WORDS

_CHUNK: Final = 1_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A page as lists name it. ``path`` is that of its URL under the origin, ``tokens`` those of all its parts."""

    slug: str
    language: str
    path: str
    title: str
    description: str
    section: str
    tokens: int
    parts: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class PagePart:
    """One part of a page. ``text`` is None when the page has no part of this number. ``digest`` is the text's;
    ``before`` and ``after`` stand around it when it is served."""

    entry: Entry
    number: int
    text: str | None
    tokens: int
    digest: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Pages that belong together. ``id`` fits into a URL; ``pages`` counts those of all languages."""

    id: str
    title: str
    pages: int
    tokens: int


@dataclass(frozen=True, slots=True)
class State:
    """Equal ``revision``s mean equal content. ``updated_at`` is when the last run ended that confirmed every page."""

    revision: str
    updated_at: datetime | None


_ENTRY: Final = tuple(Entry.__slots__)


def page_part(slug: str, number: int, languages: Sequence[str] = ()) -> PagePart | None:
    """Part ``number`` of the page, in the first of ``languages`` in which it is there; None without such a page.

    One query, along the index of slugs.
    """
    if not 0 < len(slug) <= SLUG_LENGTH or "\0" in slug or not 0 < number < 2**31:
        return None
    found = (
        ContentPage.objects.filter(slug=slug)
        .annotate(part=FilteredRelation("content_parts", condition=Q(content_parts__number=number)))
        .order_by(_wanted(languages), "language")
        .values_list(*_ENTRY, "part__text", "part__tokens", "part__digest", "part__before", "part__after")
        .first()
    )
    if found is None:
        return None
    *entry, text, tokens, digest, before, after = found
    return PagePart(Entry(*entry), number, text, tokens or 0, digest or "", before or "", after or "")


def texts(entry: Entry) -> list[str]:
    """The texts of a page's parts, in order; none where it is gone. One query."""
    rows = ContentPart.objects.filter(page__slug=entry.slug, page__language=entry.language)
    return list(rows.order_by("number").values_list("text", flat=True))


def entries(*, section: str | None = None) -> Iterator[Entry]:
    """Every page in every language, by section and path, of one section if it is named. One query, read in steps."""
    rows = ContentPage.objects.all() if section is None else ContentPage.objects.filter(section=section)
    found = rows.order_by("section", "path", "language").values_list(*_ENTRY)
    return (Entry(*row) for row in found.iterator(chunk_size=_CHUNK))


def in_languages(found: Iterable[Entry], languages: Sequence[str] = ()) -> list[Entry]:
    """Each page once, in the language that ``page_part`` would choose; in the order of ``found``."""
    rank = preference(languages)
    best: dict[str, Entry] = {}
    for each in found:
        other = best.get(each.slug)
        if other is None or rank(each.language) < rank(other.language):
            best[each.slug] = each
    return list(best.values())


def preference(languages: Sequence[str] = ()) -> Callable[[str], tuple[int, str]]:
    """The order in which a reader of these languages gets the versions of a page, by their languages."""
    order = _order(languages)

    def rank(language: str) -> tuple[int, str]:
        return order.get(language, len(languages) + 1), language

    return rank


def sections() -> list[Section]:
    """What the pages are gathered in, by id. One query."""
    found = (
        ContentPage.objects.order_by("section")
        .values("section")
        .annotate(count=Count("pk"), all_tokens=Sum("tokens"))
        .values_list("section", "count", "all_tokens")
    )
    return [Section(name, section_title(name), count, tokens or 0) for name, count, tokens in found]


def section_title(ident: str) -> str:
    """``blog-posts`` as ``Blog posts``."""
    return ident.replace("-", " ").replace("_", " ").strip().capitalize() or ident


def languages_there() -> list[str]:
    """The languages in which there are pages. One query."""
    return list(ContentPage.objects.order_by("language").values_list("language", flat=True).distinct())


def pages_by_language() -> tuple[dict[str, int], int]:
    """How many pages there are in each language, and how many in all, each counted once. Two queries."""
    found = ContentPage.objects.order_by().values("language").annotate(count=Count("pk"))
    there = dict(found.values_list("language", "count"))
    return there, ContentPage.objects.aggregate(all=Count("slug", distinct=True))["all"]


def has_pages() -> bool:
    """Whether there is any content. One query."""
    return ContentPage.objects.exists()


def state() -> State:
    """What documents made of the content are kept by. One query."""
    complete = ContentRun.objects.filter(is_complete=True).order_by("-pk").values("finished_at")[:1]
    found = ContentRun.objects.order_by("-pk").values_list("pk", "changes", Subquery(complete)).first()
    if found is None:
        return State("0.0", None)
    key, changes, at = found
    return State(f"{key}.{changes}", at)


def failing() -> list[str]:
    """The pages that the last finished run could not confirm, each with the reason: ``/cart/ (it raised an error:
    …)``; none where it confirmed all, or there was none. One query."""
    runs = ContentRun.objects.filter(finished_at__isnull=False).order_by("-pk")
    told = runs.values_list("reports", flat=True).first()
    found: dict[str, str] = {}
    for each in json.loads(told or "[]"):
        if each["is_failure"]:
            detail = f": {each['detail']}" if each["detail"] else ""
            found.setdefault(each["path"], f"{each['path']} ({IN_WORDS[each['reason']]}{detail})")
    return list(found.values())


def _order(languages: Sequence[str]) -> dict[str, int]:
    """The place of each language; those that are not named come after ``len(languages)``."""
    wanted = [each.lower() for each in languages]
    return {each: at for at, each in reversed(list(enumerate([*wanted, default()])))}


def _wanted(languages: Sequence[str]) -> Any:
    order = _order(languages)
    return Case(
        *(When(language=language, then=Value(at)) for language, at in order.items()),
        default=Value(len(languages) + 1),
        output_field=IntegerField(),
    )
