"""A Markdown text in parts that each fit into the budget of a page, with nothing lost between them.

The texts of all parts, joined, are the whole text exactly. So nothing is repeated or added where a text is cut: a
table that goes on in the next part does not begin with its head again there, and a code block that is longer than a
part is closed only in the last one. A cut is made between blocks (paragraphs, lists, tables, code) where it can be;
within a block that is larger than a part, between sentences, list items, table rows or lines of code; within one of
those that is larger than a part by itself, between lines, then words, then characters. A heading stays with what
follows it.

When a part is served, ``with_closing`` adds a line that says where the next one is. ``CLOSING_TOKENS`` are kept free
for it in every part, where there are several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import regex  # type: ignore[import-untyped]

from agentweb.awp.budgets import PAGE, Measure, at_most, count, fits
from agentweb.awp.content.blocks import Kind, blocks
from agentweb.awp.sentences import sentences

CLOSING_TOKENS: Final = 100
"""What the line that names the next part may take; where it may be longer, it has the address without its path
(``?part=2``)."""
GAP: Final = "\n\n---\n\n"
"""Between a part and its closing line. It is counted with the part, for it may change what the last token is; the line
that follows it begins with a letter, and so it cannot."""

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_WORD: Final = re.compile(r"\s*\S+|\s+")
# A letter with its accents, an emoji with its joiners.
_CHARACTER: Final = regex.compile(r"\X")
_LONGEST_CHARACTER: Final = 32


@dataclass(frozen=True, slots=True)
class Part:
    """``number`` counts from 1; ``tokens`` are those of ``text`` as they were measured, without a closing line."""

    number: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is not cut unless it does not fit into a part by itself."""

    text: str
    tokens: int
    is_heading: bool


def split(markdown: str, budget: int = PAGE.tokens, measure: Measure = count) -> list[Part]:
    """The text in parts, none for an empty one. What ``with_closing`` makes of a part is within the budget.

    Takes time in proportion to the text's length. Raises ValueError for a budget with less room than a closing line
    and as much again.
    """
    if budget < 2 * CLOSING_TOKENS:
        raise ValueError(f"A part has at least {2 * CLOSING_TOKENS} tokens.")
    if not markdown:
        return []
    if fits(markdown, budget, measure):
        return [Part(1, markdown, measure(markdown))]
    texts = _Room(budget - CLOSING_TOKENS, measure).texts(markdown)
    return [Part(number, text, measure(text)) for number, text in enumerate(texts, 1)]


def with_closing(text: str, *, number: int, parts: int, next_url: str) -> str:
    """The text of a part as it is served: unless it is the last, a line at its end says where the next one is.

    ``next_url`` is the next part's; its query has to be all that differs from this part's, for where the address is
    long its query stands alone, relative to the address of this part.
    """
    if number >= parts:
        return text
    line = _closing(number, parts, next_url)
    # A request writes it, and counts nothing.
    if not fits(line, CLOSING_TOKENS, at_most):
        line = _closing(number, parts, f"?{next_url.partition('?')[2]}")
    return f"{text}{GAP}{line}"


def _closing(number: int, parts: int, address: str) -> str:
    return f"Part {number} of {parts}. The text goes on in part {number + 1}: <{address}>\n"


def _joined(atoms: Iterable[_Atom]) -> str:
    return "".join(atom.text for atom in atoms)


_Cutter = Callable[[str], Iterable[str]]


@dataclass(frozen=True, slots=True)
class _Room:
    """What a part has room for: so many ``tokens`` by this measure."""

    tokens: int
    measure: Measure

    def texts(self, markdown: str) -> Iterator[str]:
        """The texts of parts, each of as many whole atoms as there is room for."""
        held: list[_Atom] = []
        tokens = 0
        for atom in self._atoms(markdown):
            while held and tokens + atom.tokens > self.tokens:
                kept = self._kept(held, atom)
                yield _joined(held[:kept])
                held = held[kept:]
                tokens = sum(each.tokens for each in held)
            held.append(atom)
            tokens += atom.tokens
        while held:
            kept = self._kept(held, None)
            yield _joined(held[:kept])
            held = held[kept:]

    def _kept(self, held: list[_Atom], following: _Atom | None) -> int:
        """How many of the atoms make the next part: at least one, without headings at its end."""
        kept = self._most(held)
        after = held[kept] if kept < len(held) else following
        if after is None:
            return kept
        tokens = after.tokens
        for count_before in range(kept - 1, 0, -1):
            atom = held[count_before]
            tokens += atom.tokens
            if not atom.is_heading or tokens > self.tokens:
                return count_before + 1
        return kept

    def _most(self, held: list[_Atom]) -> int:
        """The most atoms that fit when they are joined, which may take a token more than they do each by itself."""
        low, high = 1, len(held)
        while low < high:
            # Nearly always all of them fit, so that is tried first.
            middle = high if low == 1 and high == len(held) else (low + high + 1) // 2
            if self._fits(_joined(held[:middle])):
                low = middle
            else:
                high = middle - 1
        return low

    def _fits(self, text: str) -> bool:
        return fits(text + GAP, self.tokens, self.measure)

    def _atoms(self, markdown: str) -> Iterator[_Atom]:
        by_line: tuple[_Cutter, ...] = (_by_lines, _by_words, self._in_characters)
        for block in blocks(markdown):
            if block.kind in {Kind.CODE, Kind.TABLE}:
                yield from self._pieces(block.text, by_line, heads=2 if block.kind is Kind.TABLE else 0)
            else:
                heads = 1 if block.kind is Kind.HEADING else 0
                yield from self._pieces(block.text, (sentences, *by_line), heads=heads)

    def _pieces(self, text: str, cutters: tuple[_Cutter, ...], heads: int = 0) -> Iterator[_Atom]:
        """The text where it fits, else what the first cutter makes of it, and so on; the last one's pieces always
        fit."""
        if self._fits(text):
            yield _Atom(text, self._size(text), heads == 1)
            return
        first, *others = cutters
        for at, piece in enumerate(first(text)):
            yield from self._pieces(piece, tuple(others), heads=1 if at < heads else 0)

    def _size(self, text: str) -> int:
        """What an atom takes among others: the space at its end becomes a part of the next word's first token."""
        return self.measure(text[:-1] if text[-1:] == " " and not text[-2:-1].isspace() else text)

    def _in_characters(self, text: str) -> Iterator[str]:
        # A character has four bytes at most, and a text never more tokens than bytes.
        return _by_characters(text, (self.tokens - len(GAP)) // 4)


def _by_lines(text: str) -> list[str]:
    return _LINE.findall(text)


def _by_words(text: str) -> list[str]:
    return _WORD.findall(text)


def _by_characters(text: str, length: int) -> Iterator[str]:
    """Pieces of so many code points at most, which end where a character does unless it is longer than a piece."""
    start = 0
    while len(text) - start > length:
        window = text[start : start + length + _LONGEST_CHARACTER]
        ends = [match.end() for match in _CHARACTER.finditer(window) if match.end() <= length]
        yield text[start : start + (ends[-1] if ends else length)]
        start += ends[-1] if ends else length
    yield text[start:]
