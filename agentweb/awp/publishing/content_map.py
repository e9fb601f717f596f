"""What content there is, as every document that lists it sees it: whole for a small site, by sections for a large one.

A site of any size has lists of a size that a reader can take in. Up to LISTED pages each list names every page. Beyond
that each section names its first ones, says how many it has, and where all of them are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

from agentweb.awp import titles
from agentweb.awp.content import published
from agentweb.awp.content.published import Entry, State
from agentweb.awp.content.slugs import FRONT_PAGE, slug_of
from agentweb.awp.protocol import REST
from agentweb.catalog.pages import Page
from agentweb.catalog.registry import registry
from agentweb.http.kept import Kept
from agentweb.http.page_urls import published_path
from agentweb.wire.clock import now

LISTED: Final = 500
"""Pages that one list names."""
MOST_SECTIONS: Final = 100
"""Sections of one list; the smallest of a site that has more are one, ``REST``."""
STALE_SECONDS: Final = 5
"""For how long a process goes on with the content as it was, before it looks whether a run changed it."""


@dataclass(frozen=True, slots=True)
class Section:
    """``pages`` and ``tokens`` count all of its pages, ``entries`` are those that are listed."""

    id: str
    title: str
    pages: int
    tokens: int
    entries: tuple[Entry, ...]

    @property
    def is_whole(self) -> bool:
        return len(self.entries) == self.pages


@dataclass(frozen=True, slots=True)
class ContentMap:
    """``updated_at`` is when a run last confirmed every page, None before it did. ``registered`` are the pages that
    the site declares, by slug, whether they are listed or not. ``name`` is what the pages call the site, empty where
    they do not; ``ending`` is the site's name where titles had it at their end, which is taken off."""

    sections: tuple[Section, ...]
    updated_at: datetime | None
    registered: Mapping[str, Entry] = field(default_factory=dict)
    name: str = ""
    ending: str = ""

    @property
    def pages(self) -> int:
        return sum(section.pages for section in self.sections)

    @property
    def is_whole(self) -> bool:
        return all(section.is_whole for section in self.sections)


EMPTY: Final = ContentMap((), None)


def content_map(
    found: Iterable[Entry], updated_at: datetime | None, registered: Collection[str] = ()
) -> ContentMap:
    """The map of these pages, each of which is there once, by section and path. ``registered`` are slugs."""
    gathered: dict[str, list[Entry]] = {}
    known = {}
    found = list(found)
    # A declared title is the page's own.
    ending = titles.common_ending(entry.title for entry in found if entry.slug not in registered)
    front = next((entry.title for entry in found if entry.slug == FRONT_PAGE), "")
    for entry in _titled(found, ending):
        gathered.setdefault(entry.section, []).append(entry)
        if entry.slug in registered:
            known[entry.slug] = entry
    named = set(gathered)
    if len(gathered) > MOST_SECTIONS:
        by_size = sorted(gathered, key=lambda name: (-len(gathered[name]), name))
        named = set(by_size[: MOST_SECTIONS - 1]) - {REST}
    rest = [entry for name, entries in gathered.items() if name not in named for entry in entries]
    groups = {name: entries for name, entries in gathered.items() if name in named}
    if rest:
        groups[REST] = rest
    quota = _quota([len(entries) for entries in groups.values()])
    return ContentMap(
        tuple(
            Section(
                name,
                published.section_title(name),
                len(entries),
                sum(entry.tokens for entry in entries),
                tuple(entries[:quota]),
            )
            for name, entries in groups.items()
        ),
        updated_at,
        known,
        ending or ("" if titles.is_generic(front) else front),
        ending,
    )


def _titled(entries: Iterable[Entry], ending: str) -> list[Entry]:
    return [replace(each, title=titles.without(each.title, ending)) if ending else each for each in entries]


def _quota(sizes: list[int]) -> int:
    """How many pages each section may list, so that together they are at most LISTED: small ones list all of theirs."""
    left, quota = LISTED, 0
    for position, size in enumerate(sorted(sizes)):
        quota = left // (len(sizes) - position)
        if size > quota:
            return quota
        left -= size
    return LISTED


class _Seen(NamedTuple):
    """The state of the content as it was read at ``at`` (Unix seconds)."""

    at: float
    state: State


_seen: _Seen | None = None
_maps: Final[Kept[ContentMap]] = Kept(limit=16)
_divisions: Final[Kept[list[int]]] = Kept(limit=16)
_languages: Final[Kept[tuple[dict[str, int], int]]] = Kept(limit=2)


def state() -> State:
    """The state of the content, as it was at most STALE_SECONDS ago. Nobody waits for a run to be told anew."""
    global _seen  # noqa: PLW0603 - one for the process is the point
    at = now()
    seen = _seen
    if seen is None or not seen.at <= at < seen.at + STALE_SECONDS:
        seen = _seen = _Seen(at, published.state())
    return seen.state


def choosing(languages: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a reader's languages that decide in which one they get a page: readers who agree in them get the same.

    One without pages decides nothing, and nothing that comes after one in which every page is. So in whatever order the
    others of their languages are, readers are of few kinds.
    """
    there, pages = _languages.get(state(), published.pages_by_language)
    found: list[str] = []
    for language in languages:
        if language in there:
            found.append(language)
            if there[language] == pages:
                break
    return tuple(found)


def current(languages: tuple[str, ...]) -> ContentMap:
    """The content as readers of these languages get it."""
    seen, version = state(), registry.version
    languages = choosing(languages)

    def build() -> ContentMap:
        return content_map(
            _all(languages), seen.updated_at, {registered_slug(page) for page in registry.pages()}
        )

    return _maps.get((seen, languages, version), build)


def registered_slug(page: Page) -> str:
    """The slug that the content of a registered page has."""
    return slug_of(published_path(page.path, ""))


def divided(languages: tuple[str, ...], tokens: int) -> list[int]:
    """All pages in runs of about so many tokens: how many pages stand before the end of each run. At least one run."""
    languages = choosing(languages)
    return _divisions.get((state(), languages, tokens), lambda: _divided(_all(languages), tokens))


def divided_pages(languages: tuple[str, ...], ends: list[int], number: int) -> list[Entry]:
    """The pages of run ``number``, from 1 on."""
    found = _all(languages)[ends[number - 2] if number > 1 else 0 : ends[number - 1]]
    return _titled(found, current(languages).ending)


def _divided(entries: list[Entry], tokens: int) -> list[int]:
    ends, held = [0], 0
    for entry in entries:
        if held and held + entry.tokens > tokens:
            ends.append(ends[-1])
            held = 0
        ends[-1] += 1
        held += entry.tokens
    return ends


def _all(languages: tuple[str, ...]) -> list[Entry]:
    return published.in_languages(published.entries(), languages)


def pages_of(section: str, languages: tuple[str, ...]) -> list[Entry]:
    """Every page of a section, by path."""
    content = current(languages)
    listed = {each.id for each in content.sections}
    if section != REST:
        found = published.in_languages(published.entries(section=section), languages)
    else:
        found = [entry for entry in _all(languages) if entry.section == REST or entry.section not in listed]
    return _titled(found, content.ending)


def forget() -> None:
    """Look anew: for tests, and after a run in this process."""
    global _seen  # noqa: PLW0603
    _seen = None
    _maps.forget()
    _divisions.forget()
    _languages.forget()
