"""What content there is, as every document that lists it sees it: whole for a small site, by sections for a large one.

A site of any size has lists of a size that a reader can take in. Up to LISTED pages each list names every page. Beyond
that each section names its first ones, says how many it has, and where all of them are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from agentweb.awp.content import published
from agentweb.awp.content.published import Entry, State
from agentweb.awp.protocol import REST
from agentweb.http.kept import Kept
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
    """``updated_at`` is when a run last confirmed every page, None before it did."""

    sections: tuple[Section, ...]
    updated_at: datetime | None

    @property
    def pages(self) -> int:
        return sum(section.pages for section in self.sections)

    @property
    def is_whole(self) -> bool:
        return all(section.is_whole for section in self.sections)

    def entry_at(self, path: str) -> Entry | None:
        """The listed page with this path."""
        for section in self.sections:
            for entry in section.entries:
                if entry.path == path:
                    return entry
        return None


EMPTY: Final = ContentMap((), None)


def content_map(found: Iterable[Entry], updated_at: datetime | None) -> ContentMap:
    """The map of these pages, each of which is there once, by section and path."""
    gathered: dict[str, list[Entry]] = {}
    for entry in found:
        gathered.setdefault(entry.section, []).append(entry)
    named = gathered.keys()
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
    )


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


def state() -> State:
    """The state of the content, as it was at most STALE_SECONDS ago. Nobody waits for a run to be told anew."""
    global _seen  # noqa: PLW0603 - one for the process is the point
    at = now()
    seen = _seen
    if seen is None or not seen.at <= at < seen.at + STALE_SECONDS:
        seen = _seen = _Seen(at, published.state())
    return seen.state


def current(languages: tuple[str, ...]) -> ContentMap:
    """The content as readers of these languages get it."""
    seen = state()
    return _maps.get(
        (seen, languages),
        lambda: content_map(published.in_languages(published.entries(), languages), seen.updated_at),
    )


def pages_of(section: str, languages: tuple[str, ...]) -> list[Entry] | None:
    """Every page of a section, by path; None where there is no such section."""
    listed = {each.id for each in current(languages).sections}
    if section not in listed:
        return None
    if section != REST:
        return published.in_languages(published.entries(section=section), languages)
    found = published.in_languages(published.entries(), languages)
    return [entry for entry in found if entry.section == REST or entry.section not in listed]


def forget() -> None:
    """Look anew: for tests, and after a run in this process."""
    global _seen  # noqa: PLW0603
    _seen = None
    _maps.forget()
