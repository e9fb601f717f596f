"""``/awp/manifest.json``: the discovery manifest, and what there is in detail.

``content`` names every page of a site with at most 500; of a larger one each of the ``sections`` names its first ones
there, says how many it has, and where all of them are.
"""

from __future__ import annotations

from typing import Any

from agentweb.awp import protocol
from agentweb.awp.content.published import Entry
from agentweb.awp.publishing import discovery, structure
from agentweb.awp.publishing.facts import ACTIONS_DOOR, Facts
from agentweb.awp.publishing.wording import note


def document(facts: Facts) -> dict[str, Any]:
    """The document. Raises ``manifest_invalid`` as the discovery manifest does, whose members it has."""
    found = discovery.checked(discovery.manifest(facts))
    found["content"] = [
        _page(entry, facts) for section in facts.content.sections for entry in section.entries
    ]
    found["content_pages"] = facts.content.pages
    found["sections"] = [structure.heading(section, facts) for section in facts.content.sections]
    if facts.actions:
        found["functions"] = facts.url(protocol.FUNCTIONS)
    for member, door in (
        ("pages", "pages"),
        ("actions", ACTIONS_DOOR),
        ("aim", "aim"),
        ("search", "awp_search"),
    ):
        if door in facts.doors:
            found[member] = facts.place.origin + facts.doors[door]
    return found


def _page(entry: Entry, facts: Facts) -> dict[str, Any]:
    return {
        "path": entry.path,
        "url": facts.entry_url(entry),
        "title": entry.title,
        "description": note(entry.description),
        "parts": entry.parts,
        "tokens": entry.tokens,
        "updated_at": discovery.moment(entry.updated_at),
    }
