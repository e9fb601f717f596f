"""The specification's checklist, each line as something that is measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentweb.awp.compliance import (
    measures_budgets,
    measures_headers,
    measures_manifest,
    measures_texts,
)
from agentweb.awp.compliance.counts import CountedDocuments
from agentweb.awp.compliance.items import Item, Line, measured_line

CHECKLIST: Final = (
    Item(
        "awp/manifest-json",
        True,
        "The well-known manifest is there and is JSON",
        measures_manifest.valid_json,
        "Agents read the discovery manifest first; without it they find nothing else of AWP.",
    ),
    Item(
        "awp/version",
        True,
        'The version is the text "1.0"',
        measures_manifest.version,
        "It tells agents which rules the site keeps. A number, or another text, is another version.",
    ),
    Item(
        "awp/members",
        True,
        "The required members are there, and the manifest keeps the schema",
        measures_manifest.members,
        "Name, description, capabilities and the address of the full manifest, in the form that the schema gives.",
    ),
    Item(
        "awp/budgets",
        True,
        "Nothing that is served is over its token budget",
        measures_budgets.budgets,
        "Agents plan with the budgets: a text that is longer may not fit where they read it.",
    ),
    Item(
        "awp/version-header",
        True,
        "Every AWP answer has X-AWP-Version: 1.0",
        measures_headers.version_header,
        "Also those that report an error, that nothing changed, or that a path is unknown.",
    ),
    Item(
        "awp/cors",
        True,
        "Every AWP answer may be read from any page",
        measures_headers.cors,
        "Agents that run in a browser can read only what allows every origin.",
    ),
    Item(
        "awp/summary",
        False,
        "There is a summary within its budget",
        measures_texts.summary,
        "The first text that an agent reads of what the site is about.",
    ),
    Item(
        "awp/structure",
        False,
        "There is a structure document",
        measures_texts.structure,
        "The site's navigation and sections, from which agents choose what to read.",
    ),
    Item(
        "awp/instructions",
        False,
        "There are instructions for agents",
        measures_texts.instructions,
        "What an agent must know before it uses the site.",
    ),
    Item(
        "awp/llms-txt",
        False,
        "There is llms.txt",
        measures_texts.llms,
        "Programs that know nothing of AWP look for it.",
    ),
    Item(
        "awp/content-endpoint",
        False,
        "The manifest names where the content is listed",
        measures_manifest.content_endpoint,
        "With endpoints.content agents find the pages without reading the full manifest.",
    ),
    Item(
        "awp/updated-at",
        False,
        "The content was looked through in the last 30 days",
        measures_manifest.updated_at,
        "From updated_at agents see whether what they read before may still hold.",
    ),
    Item(
        "awp/authentication",
        False,
        "It is said whether agents need authentication",
        measures_manifest.authentication,
        "Declared also where none is needed, so that agents need not try.",
    ),
    Item(
        "awp/rate-limits",
        False,
        "It is said how often agents may ask",
        measures_manifest.rate_limits,
        "Agents that know the limits keep them.",
    ),
)
"""In the specification's order."""


def measure(documents: CountedDocuments) -> Iterator[Line]:
    """The lines, each as soon as it is measured. Raises NotReachedError when the site answers nothing at all."""
    for item in CHECKLIST:
        yield measured_line(item, documents)
