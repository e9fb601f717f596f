"""The documents as bytes, kept in the process: a warm one costs no query, and is at most STALE_SECONDS behind a run.

Each is kept under what it is made of: the catalog, the place, the readers' languages, what is hidden from everybody,
the state of the content, and the counts by which it is fitted. A setting that changes empties everything; that happens
in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.core.signals import setting_changed
from django.dispatch import receiver

from agentweb.awp import protocol
from agentweb.awp.budgets import INSTRUCTIONS, SUMMARY, Budget
from agentweb.awp.content import parts, published
from agentweb.awp.languages import address as in_language
from agentweb.awp.publishing import (
    content_map,
    counted,
    discovery,
    full_manifest,
    functions,
    instructions,
    llms,
    llms_full,
    structure,
    summary,
)
from agentweb.awp.publishing.facts import Facts, facts_of, hidden
from agentweb.catalog.registry import registry
from agentweb.http.documents import Place
from agentweb.http.headers import Document
from agentweb.http.kept import Kept, KeptDocuments
from agentweb.wire.json_writing import dumps

MARKDOWN: Final = f"{protocol.MARKDOWN}; charset=utf-8"
PLAIN: Final = f"{protocol.PLAIN}; charset=utf-8"

Languages = tuple[str, ...]
_Value = TypeVar("_Value")

_documents: Final = KeptDocuments(limit=256)
_texts: Final[Kept[list[str]]] = Kept(limit=32)
_large: Final = KeptDocuments(limit=8)
"""Parts of the text of all pages, about a megabyte each."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the ``parts`` of a text, whose first one is at ``path``; ``language`` is the text's."""

    document: Document
    number: int
    parts: int
    path: str
    language: str

    @property
    def links(self) -> str:
        """The value of a Link header (RFC 8288), empty for a text in one part."""
        found = []
        if self.number > 1:
            found.append(f'<{part_address(self.path, self.language, self.number - 1)}>; rel="prev"')
        if self.number < self.parts:
            found.append(f'<{part_address(self.path, self.language, self.number + 1)}>; rel="next"')
        return ", ".join(found)


def part_address(path: str, language: str, number: int) -> str:
    """Where a part of the text at ``path`` is, in the language of the text."""
    return in_language(path, language, **({} if number == 1 else {"part": number}))


def well_known(place: Place, languages: Languages) -> Document:
    """Raises 500 ``manifest_invalid``, as ``manifest`` does."""
    return _json("well-known", place, languages, lambda facts: discovery.checked(discovery.manifest(facts)))


def manifest(place: Place, languages: Languages) -> Document:
    return _json("manifest", place, languages, full_manifest.document)


def site_structure(place: Place, languages: Languages) -> Document:
    return _json("structure", place, languages, structure.document)


def site_functions(place: Place, languages: Languages) -> Document:
    return _json("functions", place, languages, functions.document)


def llms_txt(place: Place, languages: Languages) -> Document:
    return _kept(
        _documents, "llms", place, languages, lambda facts: Document(llms.text(facts).encode(), PLAIN)
    )


def section(ident: str, place: Place, languages: Languages, *, number: int) -> Document | None:
    """A part of the list of a section; None where there is none."""
    listed = next((each for each in content_map.current(languages).sections if each.id == ident), None)
    if listed is None or not 1 <= number <= structure.parts_of(listed.pages):
        return None

    def build(facts: Facts) -> dict[str, Any]:
        entries = content_map.pages_of(ident, languages)
        return structure.section_document(facts, listed, entries, part=number)

    return _json(("section", ident, number), place, languages, build)


def parts_of_section(ident: str, languages: Languages) -> int:
    """In how many parts the list of a section comes; 0 where there is no such section."""
    listed = next((each for each in content_map.current(languages).sections if each.id == ident), None)
    return 0 if listed is None else structure.parts_of(listed.pages)


def summary_text(place: Place, languages: Languages, *, number: int) -> Part | None:
    """A part of the summary; None where there is none."""
    return _text(protocol.SUMMARY, SUMMARY, summary.source, place, languages, number)


def instructions_text(place: Place, languages: Languages, *, number: int) -> Part | None:
    return _text(protocol.INSTRUCTIONS, INSTRUCTIONS, instructions.source, place, languages, number)


def all_texts(place: Place, languages: Languages, *, number: int) -> Part | None:
    """A part of the text of all pages; None where there is none."""
    divided = content_map.divided(languages, llms_full.PART_TOKENS)
    if not 1 <= number <= len(divided):
        return None
    path = f"/{protocol.LLMS_FULL}"

    def build(facts: Facts) -> Document:
        text = llms_full.text(
            facts,
            content_map.divided_pages(languages, divided, number),
            part=number,
            parts=len(divided),
            next_url=part_address(path, languages[0], number + 1),
        )
        return Document(text.encode(), PLAIN)

    document = _kept(_large, ("all", number), place, languages, build)
    return Part(document, number, len(divided), path, languages[0])


def page(slug: str, place: Place, languages: Languages, *, number: int) -> Part | None:
    """A part of a page as it is served; None where there is none. One query, and none of it is kept."""
    found = published.page_part(slug, number, languages)
    if found is None or found.text is None:
        return None
    path = f"{place.prefix}/{protocol.content_path(slug)}"
    next_url = part_address(path, found.entry.language, number + 1)
    text = parts.as_served(
        found.text,
        number=number,
        parts=found.entry.parts,
        next_url=next_url,
        before=found.before,
        after=found.after,
    )
    return Part(Document(text.encode(), MARKDOWN), number, found.entry.parts, path, found.entry.language)


def forget() -> None:
    """Empty the caches: for tests, and after a run in this process."""
    for kept in (_documents, _texts, _large):
        kept.forget()
    content_map.forget()
    counted.forget()


@receiver(setting_changed, dispatch_uid="agentweb.awp.publishing")
def _forget(**kwargs: Any) -> None:
    forget()


def _json(
    kind: Hashable, place: Place, languages: Languages, build: Callable[[Facts], dict[str, Any]]
) -> Document:
    return _kept(_documents, kind, place, languages, lambda facts: Document(dumps(build(facts))))


def _text(
    below: str,
    budget: Budget,
    source: Callable[[Facts], str],
    place: Place,
    languages: Languages,
    number: int,
) -> Part | None:
    path = f"{place.prefix}/{below}"

    def build(facts: Facts) -> list[str]:
        found = parts.split(source(facts), budget.tokens, facts.measure)
        return [
            parts.as_served(
                each.text,
                number=each.number,
                parts=len(found),
                next_url=part_address(path, languages[0], each.number + 1),
                before=each.before,
                after=each.after,
            )
            for each in found
        ]

    texts = _kept(_texts, below, place, languages, build)
    if not 1 <= number <= len(texts):
        return None
    return Part(Document(texts[number - 1].encode(), MARKDOWN), number, len(texts), path, languages[0])


def _kept(
    kept: Kept[_Value],
    kind: Hashable,
    place: Place,
    languages: Languages,
    build: Callable[[Facts], _Value],
) -> _Value:
    counts = counted.current()
    state = content_map.state()
    # The site's own words are in the first of them.
    wanted = languages[0], content_map.choosing(languages)
    key = (kind, registry.version, place, wanted, hidden(), state, counts)

    def make() -> _Value:
        return build(facts_of(place, languages[0], content_map.current(languages), counts.measure))

    return kept.get(key, make)
