"""Run a schema's patterns: ECMA-262 meaning, the ``regex`` engine, and a time limit.

A 26-character input costs Python's ``re`` 6 to 9 seconds on ``^(a+)+$``. Here every search that could take
long carries a limit in seconds; a search that reaches it raises TimeoutError, and the caller counts the
value as not matching.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import regex  # type: ignore[import-untyped]

from agentweb.wire.schema.regex import (
    Assertion,
    BackReference,
    Chars,
    Choice,
    Group,
    Node,
    PatternError,
    Range,
    Repeat,
    Sequence,
    parse,
)

PATTERN_SECONDS: Final = 0.25
"""What one search may take. Ordinary patterns take microseconds."""

MAX_UNFOLDED: Final = 20_000
"""The engine writes fixed counts out: ``((a{1000}){1000}){1000}`` would take all the memory there is."""

QUICK_TEXT: Final = 500
_WORD: Final = "[0-9A-Za-z_]"
_ASSERTIONS: Final = {
    "start": r"\A",
    "end": r"\Z",
    "boundary": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "not-boundary": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}


class Pattern:
    """A compiled pattern. ``quick`` means that no time limit is needed on a short text."""

    __slots__ = ("_search", "node", "quick", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.node = parse(text)
        if _unfolded(self.node) > MAX_UNFOLDED:
            raise PatternError(f"its counts multiply to more than {MAX_UNFOLDED} characters")
        try:
            self._search = regex.compile(translate(self.node)).search
        except (regex.error, RecursionError, OverflowError) as error:
            raise PatternError(f"the expression cannot be compiled: {str(error)[:100]}") from None
        self.quick = _variable_repeats(self.node) <= 1

    def matches(self, value: str, seconds: float = PATTERN_SECONDS) -> bool:
        """Whether some part of ``value`` fits. Raises TimeoutError after ``seconds``."""
        if self.quick and len(value) <= QUICK_TEXT:
            # One open repeat costs at most length squared; asking for a limit costs more than the search.
            return self._search(value) is not None
        if seconds <= 0:
            raise TimeoutError
        return self._search(value, timeout=seconds) is not None


@lru_cache(maxsize=4096)
def compile_pattern(text: str) -> Pattern:
    """The compiled pattern, made once for each text. Raises PatternError."""
    return Pattern(text)


def translate(node: Node) -> str:
    """The same expression in the language of the ``regex`` package."""
    match node:
        case Chars():
            return _char_set(node)
        case Assertion():
            return _ASSERTIONS[node.kind]
        case BackReference():
            # ECMA-262 22.2.2.9: a group that has not taken part matches the empty text; in Python it fails.
            return f"(?({node.number})\\{node.number})"
        case Repeat():
            most = "" if node.most is None else str(node.most)
            return f"(?:{translate(node.body)}){{{node.least},{most}}}" + ("?" if node.lazy else "")
        case Group():
            opening = {"capture": "(", "plain": "(?:"}.get(node.kind, node.kind)
            return f"{opening}{translate(node.body)})"
        case Sequence():
            return "".join([translate(each) for each in node.items])
        case Choice():
            return "(?:" + "|".join([translate(each) for each in node.options]) + ")"


def _char_set(chars: Chars) -> str:
    if not chars.ranges and not chars.properties:
        return "(?!)"  # ECMA-262's empty class matches nothing
    ranges = "".join([_range(each) for each in chars.ranges])
    properties = "".join([f"\\{each}" for each in chars.properties])
    return f"[{'^' if chars.negated else ''}{ranges}{properties}]"


@lru_cache(maxsize=512)
def _one_character(chars: Chars) -> regex.Pattern[str]:
    return regex.compile(_char_set(chars))


def is_one_of(chars: Chars, character: str) -> bool:
    """Whether the set ``chars`` has ``character``."""
    return _one_character(chars).fullmatch(character) is not None


def _range(codes: Range) -> str:
    first, last = codes
    return f"\\U{first:08x}" if first == last else f"\\U{first:08x}-\\U{last:08x}"


def _unfolded(node: Node) -> int:
    """The size of the expression with every fixed count written out."""
    match node:
        case Repeat():
            return 1 + _unfolded(node.body) * max(node.least, 1)
        case Group():
            return 1 + _unfolded(node.body)
        case Sequence():
            return 1 + sum(_unfolded(each) for each in node.items)
        case Choice():
            return 1 + sum(_unfolded(each) for each in node.options)
        case _:
            return 1


def _variable_repeats(node: Node) -> int:
    """How many choices a search has: open repeats and alternatives; one inside a repeat counts as many."""
    match node:
        case Repeat():
            inside = _variable_repeats(node.body)
            if node.least == node.most:
                return inside * min(node.least, 9)
            return 1 + inside * 9
        case Group():
            return _variable_repeats(node.body)
        case Sequence():
            return sum(_variable_repeats(each) for each in node.items)
        case Choice():
            return 1 + sum(_variable_repeats(each) for each in node.options)
        case BackReference():
            return 9
        case _:
            return 0
