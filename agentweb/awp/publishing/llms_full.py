"""``/llms-full.txt``: the text of every page, one after another, in parts that a program can hold.

A part ends between two pages, once it has about PART_TOKENS tokens. A small site has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from agentweb.awp.content.models import ContentPart
from agentweb.awp.content.published import Entry
from agentweb.awp.publishing import description
from agentweb.awp.publishing.facts import Facts
from agentweb.awp.publishing.wording import one_line

PART_TOKENS: Final = 200_000
"""About 800 KB of English."""
_AT_ONCE: Final = 200
"""Pages that are read by one query."""


def text(facts: Facts, entries: Sequence[Entry], *, part: int, parts: int, next_url: str) -> str:
    """Part ``part`` of ``parts``, which has these pages. ``next_url`` is that of the next one."""
    blocks = [f"# {description.name(facts)}"] if part == 1 else []
    for entry, content in _contents(entries):
        head = "" if content.startswith("# ") else f"# {one_line(entry.title)}\n\n"
        blocks.append(f"{head}Source: {facts.place.origin}{entry.path}\n\n{content.strip()}")
    if part < parts:
        blocks.append(f"Part {part} of {parts}. The next one: <{next_url}>")
    return "\n\n---\n\n".join(blocks) + "\n"


def _contents(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str]]:
    """Each page with its whole text; a page that is gone since is left out."""
    for start in range(0, len(entries), _AT_ONCE):
        some = entries[start : start + _AT_ONCE]
        rows = (
            ContentPart.objects.filter(page__slug__in=[entry.slug for entry in some])
            .order_by("page__slug", "page__language", "number")
            .values_list("page__slug", "page__language", "text")
        )
        texts = {
            key: "".join(text for _slug, _language, text in group)
            for key, group in groupby(rows, key=lambda row: (row[0], row[1]))
        }
        for entry in some:
            found = texts.get((entry.slug, entry.language))
            if found is not None:
                yield entry, found
