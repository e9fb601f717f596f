"""Texts of strangers for a person's eyes: nothing hidden, nothing that turns the line around.

A name or a note that an agent chose may hold characters that print nothing, erase the line or reverse what stands
beside them (bidirectional controls). ``visible`` writes them as their code points.
"""

from __future__ import annotations

import unicodedata
from typing import Final

# Control, format (bidi, zero width, soft hyphen), surrogate, private use, unassigned; line and paragraph separators.
_ODD: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Joiners stand in emoji and are letters' business in Persian and Hindi; they hide nothing and turn nothing around.
_JOINERS: Final = frozenset({"\u200c", "\u200d"})


def visible(text: str, *, lines: bool = False) -> str:
    """The text with each odd character written as ``[U+202E]``; ``lines`` leaves line feeds and tabs as they are."""
    if text.isascii() and text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(
        char if char in kept or char in _JOINERS or unicodedata.category(char) not in _ODD else _code(char)
        for char in text
    )


def text_of(error: BaseException) -> str:
    """What an exception of somebody else's code says; its type where it says nothing, or cannot."""
    try:
        return visible(str(error)) or type(error).__name__
    except Exception:
        return type(error).__name__


def _code(char: str) -> str:
    return f"[U+{ord(char):04X}]"
