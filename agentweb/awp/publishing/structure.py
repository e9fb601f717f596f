"""``/awp/content/structure.json``: the site's navigation and its sections; and the list of one section.

The navigation is a tree by path of the pages that the site registers and of those of its content that are at most one
step below its root. Pages with parameters have no one address and stand in no tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentweb.awp import protocol
from agentweb.awp.content.published import Entry
from agentweb.awp.publishing.content_map import LISTED, Section
from agentweb.awp.publishing.facts import Facts

MOST_NODES: Final = 100
"""Pages of the content in the navigation, beside those that the site registers."""


def document(facts: Facts) -> dict[str, Any]:
    """Beside what AWP.md names, a section has ``count``, all of its pages, and the ``url`` of their list: where fewer
    are listed in ``pages``, the others stand there."""
    return {
        "version": protocol.VERSION,
        "navigation": _tree(_nodes(facts), front=facts.place.prefix or "/"),
        "sections": [
            {**heading(section, facts), "pages": [page(entry, facts) for entry in section.entries]}
            for section in facts.content.sections
        ],
    }


def parts_of(pages: int) -> int:
    """In how many parts the list of a section with so many pages comes."""
    return -(-pages // LISTED)


def section_document(
    facts: Facts, section: Section, entries: Sequence[Entry], *, part: int
) -> dict[str, Any]:
    """Part ``part`` of the list of a section, all of whose pages are ``entries``."""
    parts = parts_of(section.pages)
    above = heading(section, facts)
    return {
        "version": protocol.VERSION,
        **above,
        "part": part,
        "parts": parts,
        "pages": [page(entry, facts) for entry in entries[(part - 1) * LISTED : part * LISTED]],
        "next": facts.url(protocol.section_path(section.id), part=part + 1) if part < parts else None,
    }


def heading(section: Section, facts: Facts) -> dict[str, Any]:
    """What is said of a section wherever it is named."""
    return {
        "id": section.id,
        "title": section.title,
        "count": section.pages,
        "tokens": section.tokens,
        "url": facts.url(protocol.section_path(section.id)),
    }


def page(entry: Entry, facts: Facts) -> dict[str, Any]:
    """One page of a section."""
    return {
        "path": entry.path,
        "url": facts.entry_url(entry),
        "title": entry.title,
        "tokens": entry.tokens,
    }


@dataclass(frozen=True, slots=True)
class _Node:
    title: str
    path: str
    url: str


def _nodes(facts: Facts) -> list[_Node]:
    """By path, each once."""
    found = {
        _bare(path): _Node(each.title, path, facts.page_url(each))
        for each in facts.pages
        for path in [facts.page_path(each)]
    }
    near = [
        entry
        for section in facts.content.sections
        for entry in section.entries
        if "?" not in entry.path and _bare(entry.path).removeprefix(facts.place.prefix).count("/") <= 1
    ]
    for entry in near[:MOST_NODES]:
        found.setdefault(_bare(entry.path), _Node(entry.title, entry.path, facts.entry_url(entry)))
    return [found[path] for path in sorted(found, key=lambda path: path.split("/"))]


def _tree(nodes: list[_Node], *, front: str) -> list[dict[str, Any]]:
    """Each page below the nearest that its path goes on from. The front page is beside the others, not above all."""
    roots: list[dict[str, Any]] = []
    above: list[tuple[str, dict[str, Any]]] = []
    for node in nodes:
        made: dict[str, Any] = {"title": node.title, "path": node.path, "url": node.url, "children": []}
        path = _bare(node.path)
        while above and not path.startswith(f"{above[-1][0]}/"):
            above.pop()
        (above[-1][1]["children"] if above else roots).append(made)
        if path != front:
            above.append((path, made))
    return roots


def _bare(path: str) -> str:
    return path.rstrip("/") or "/"
