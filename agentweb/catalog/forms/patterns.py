"""Python's regular expressions as ECMA-262 patterns, where both mean the same."""

from __future__ import annotations

import re
from typing import Final

from agentweb.wire.schema.patterns import compile_pattern
from agentweb.wire.schema.regex import PatternError

_FLAGS: Final = re.UNICODE | re.ASCII
_PIECE: Final = re.compile(r"\\.|\[\^?\]?|\]|\(\?P<|.", re.DOTALL)
_IN_CLASS: Final = {r"\w": r"\p{L}\p{N}_", r"\d": r"\p{Nd}"}
_ALONE: Final = {r"\w": r"[\p{L}\p{N}_]", r"\d": r"\p{Nd}", r"\A": "^", r"\Z": "$"}
_ASCII: Final = {r"\A": "^", r"\Z": "$"}
_OTHERWISE: Final = frozenset({r"\W", r"\D", r"\b", r"\B"})
"""What is about other letters in Python, where a text is Unicode, than in ECMA-262."""


def ecma_pattern(compiled: re.Pattern[str]) -> str | None:
    """The pattern that finds in a text what ``compiled.search`` finds, or None when none is known to."""
    if compiled.flags & ~_FLAGS:
        return None
    is_ascii = bool(compiled.flags & re.ASCII)
    if not is_ascii and any(piece in _OTHERWISE for piece in _PIECE.findall(compiled.pattern)):
        return None
    pattern = _rewritten(compiled.pattern, is_ascii)
    try:
        compile_pattern(pattern)
    except PatternError:
        return None
    return pattern


def _rewritten(text: str, is_ascii: bool) -> str:
    alone, within = (_ASCII, {}) if is_ascii else (_ALONE, _IN_CLASS)
    parts: list[str] = []
    is_in_class = False
    for piece in _PIECE.findall(text):
        if is_in_class:
            parts.append(r"\[" if piece.startswith("[") else within.get(piece, piece))
            is_in_class = piece != "]"
        elif piece.startswith("["):
            # A bracket that comes first is a character of the class in Python, and its end in ECMA-262.
            parts.append(piece[:-1] + r"\]" if piece.endswith("]") else piece)
            is_in_class = True
        else:
            parts.append("(?<" if piece == "(?P<" else alone.get(piece, piece))
    return "".join(parts)
