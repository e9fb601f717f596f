"""The line of a document where something is wrong, short, with a mark below the place."""

from __future__ import annotations

from typing import Final

from agentweb.awp.compliance.reading import Spot, Text
from agentweb.wire.visible import visible

MOST: Final = 100
"""Characters of the line that are shown."""
BEFORE: Final = 60
"""Characters of it that may stand before the place."""

_CUT: Final = "…"


def excerpt(text: Text, spot: Spot) -> list[str]:
    """The line and the mark; nothing for an empty line."""
    line = text.line(spot.line)
    if not line.strip():
        return []
    at = spot.column - 1
    start = max(0, at - BEFORE)
    if not line[:at].strip():
        start = at  # only indentation
    before = _plain(line[start:at])
    if start and line[:start].strip():
        before = _CUT + before
    after = _plain(line[at : start + MOST])
    ending = _CUT if len(line) > start + MOST else ""
    return [before + after + ending, " " * len(before) + "^"]


def _plain(text: str) -> str:
    return visible(text.replace("\t", " "))
