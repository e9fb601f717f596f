"""What to say of pages that a run could not confirm, wherever the age of the content is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

CORRECT: Final = (
    "Correct these pages, or leave them out: by noindex, by robots.txt, or out of the sitemap. The next run then "
    "confirms every page."
)
_SHOWN: Final = 5


def some(pages: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    rest = len(pages) - _SHOWN
    return ", ".join(pages[:_SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")
