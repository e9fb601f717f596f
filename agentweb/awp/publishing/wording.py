"""Texts in one line, for lists and links in Markdown."""

from __future__ import annotations

import re
from typing import Final

from django.utils.text import Truncator

LONGEST_NOTE: Final = 300
"""Characters of a page's description in a list."""

_SPECIAL: Final = re.compile(r"([\\\[\]])")


def one_line(text: str) -> str:
    return " ".join(text.split())


def note(text: str) -> str:
    """A description as lists have it."""
    return Truncator(one_line(text)).chars(LONGEST_NOTE)


def link(title: str, url: str, about: str = "") -> str:
    """A line of a list: ``- [Cart](https://…): What is in the cart.``"""
    shown = _SPECIAL.sub(r"\\\1", one_line(title)) or url
    # Parentheses would end it (CommonMark 6.3).
    target = url.replace("(", "%28").replace(")", "%29")
    return f"- [{shown}]({target})" + (f": {note(about)}" if about.strip() else "")


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph, as far as a full stop tells."""
    paragraph = one_line(text.strip().partition("\n\n")[0])
    return re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0]


def counted(number: int, one: str, many: str) -> str:
    """``1 page``, ``10,000 pages``."""
    return f"{number:,} {one if number == 1 else many}"
