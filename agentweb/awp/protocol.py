"""The version, the header and the addresses of AWP, paths as under the site's prefix.

Those that are ``well_known`` in ``urls`` are at the root of the host wherever the site itself is mounted.
"""

from __future__ import annotations

from typing import Final

VERSION: Final = "1.0"
HEADER: Final = "X-AWP-Version"
MAX_AGE: Final = 3_600
"""Seconds for which public documents may be cached: a part of the endpoint contracts, and so no setting."""

METHODS: Final = "GET, HEAD, OPTIONS"
"""Of every address but the validator's page, which has a form."""

MARKDOWN: Final = "text/markdown"
PLAIN: Final = "text/plain"
JSON: Final = "application/json"

WELL_KNOWN: Final = ".well-known/agentic-web-protocol.json"
LLMS: Final = "llms.txt"
LLMS_FULL: Final = "llms-full.txt"

ROOT: Final = "awp"
MANIFEST: Final = f"{ROOT}/manifest.json"
INSTRUCTIONS: Final = f"{ROOT}/instructions.md"
CONTENT: Final = f"{ROOT}/content"
SUMMARY: Final = f"{CONTENT}/summary.md"
STRUCTURE: Final = f"{CONTENT}/structure.json"
SECTIONS: Final = f"{CONTENT}/sections"
FUNCTIONS: Final = f"{ROOT}/api/tools/functions.json"
SEARCH: Final = f"{ROOT}/search"
ANALYTICS: Final = f"{ROOT}/analytics.json"
VALIDATE: Final = f"{ROOT}/validate"

RESERVED_SLUGS: Final = frozenset({"summary"})
"""Slugs that no page may have: another document is at their address."""

REST: Final = "rest"
"""The section of what is in none that is large enough to be named."""


def content_path(slug: str) -> str:
    """Where the text of a page is, without its site's prefix."""
    return f"{CONTENT}/{slug}.md"


def section_path(ident: str) -> str:
    """Where all pages of a section are listed, without the site's prefix."""
    return f"{SECTIONS}/{ident}.json"
