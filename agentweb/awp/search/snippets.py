"""What is shown of a result: a bounded piece of plain text around what was asked for."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from typing import Final

from agentweb.awp.search.plain import plain
from agentweb.client.ranking_words import hits

LENGTH: Final = 240
"""Characters of a snippet, those of its ellipses among them."""

_WINDOW: Final = 180
"""Within how many characters hits are seen together."""
_ELLIPSIS: Final = "…"


def snippet(markdown: str, wanted: Collection[str], language: str, *, otherwise: str = "") -> str:
    """The piece with most of the terms, the first of such; of a text with none ``otherwise``, or its beginning."""
    text = plain(markdown)
    place = _best(text, wanted, language)
    if place is None:
        return _piece(plain(otherwise) or text, 0, 0)
    return _piece(text, *place)


def _best(text: str, wanted: Collection[str], language: str) -> tuple[int, int] | None:
    window: deque[tuple[int, int, str]] = deque()
    counts: Counter[str] = Counter()
    best: tuple[int, int] | None = None
    most = 0
    for begin, end, term in hits(text, wanted, language):
        window.append((begin, end, term))
        counts[term] += 1
        while len(window) > 1 and end - window[0][0] > _WINDOW:
            gone = window.popleft()[2]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
        if len(counts) > most:
            most, best = len(counts), (window[0][0], end)
    return best


def _piece(text: str, begin: int, end: int) -> str:
    """The text around a place, cut at blanks where there are any near."""
    if len(text) <= LENGTH:
        return text
    room = LENGTH - 2 * len(_ELLIPSIS)
    end = min(end, begin + room)
    start = max(0, min(begin - (room - (end - begin)) // 3, len(text) - room))
    stop = min(len(text), start + room)
    if start:
        blank = text.find(" ", start, min(start + 30, begin))
        start = start if blank < 0 else blank + 1
    if stop < len(text):
        blank = text.rfind(" ", max(end, stop - 30), stop)
        stop = stop if blank < 0 else blank
    return (_ELLIPSIS if start else "") + text[start:stop].strip() + (_ELLIPSIS if stop < len(text) else "")
