"""A Markdown text in parts that each fit into the budget of a page, with nothing lost between them.

The texts of all parts, joined, are the whole text exactly: nothing is repeated or added where it is cut. A cut is made
between blocks (paragraphs, lists, tables, code) where it can be; within a block that is larger than a part, between
sentences, list items, table rows or lines of code; within one of those that is larger than a part by itself, between
lines, then words, then characters. A heading stays with what follows it.

When a part is served, ``as_served`` adds what it needs to be read by itself: a line that says where the next one is,
for which ``CLOSING_TOKENS`` are kept free; and where code or a table was cut, its end in the one part and its beginning
in the next one, for which there is room too, unless that would take too much of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import regex  # type: ignore[import-untyped]

from agentweb.awp.budgets import PAGE, Measure, at_most, count, fits
from agentweb.awp.content.blocks import Block, Kind, blocks, mends
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
    """``number`` counts from 1; ``tokens`` are those of ``text`` as they were measured, without what is added.

    ``before`` and ``after`` stand around it when it is served: of code that was cut its first line, with a line feed,
    and its last, after one; of a table its head.
    """

    number: int
    text: str
    tokens: int
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is not cut unless it does not fit into a part by itself."""

    text: str
    tokens: int
    is_heading: bool
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A block that is cut: how its pieces are mended, and the room that leaves. ``end`` is for its last one."""

    room: int
    before: str = ""
    after: str = ""
    end: str = ""


def split(markdown: str, budget: int = PAGE.tokens, measure: Measure = count) -> list[Part]:
    """The text in parts, none for an empty one. What ``as_served`` makes of a part is within the budget.

    Takes time in proportion to the text's length. Raises ValueError for a budget with less room than a closing line
    and as much again.
    """
    if budget < 2 * CLOSING_TOKENS:
        raise ValueError(f"A part has at least {2 * CLOSING_TOKENS} tokens.")
    if not markdown:
        return []
    if fits(markdown, budget, measure):
        return [Part(1, markdown, measure(markdown))]
    found = _Room(budget - CLOSING_TOKENS, measure).parts(markdown)
    return [
        Part(number, text, measure(text), atoms[0].before, atoms[-1].after)
        for number, atoms in enumerate(found, 1)
        for text in [_joined(atoms)]
    ]


def as_served(text: str, *, number: int, parts: int, next_url: str, before: str = "", after: str = "") -> str:
    """The text of a part as it is served: unless it is the last, a line at its end says where the next one is. With
    ``before`` it begins with a line that says that something goes on.

    ``next_url`` is the next part's; its query has to be all that differs from this part's, for where the address is
    long its query stands alone, relative to the address of this part.
    """
    text = f"{_opening(number, parts, before)}{text}{after}"
    if number >= parts:
        return text
    line = _closing(number, parts, next_url)
    # A request writes it, and counts nothing.
    if not fits(line, CLOSING_TOKENS, at_most):
        line = _closing(number, parts, f"?{next_url.partition('?')[2]}")
    return f"{text}{GAP}{line}"


def _closing(number: int, parts: int, address: str) -> str:
    return f"Part {number} of {parts}. The text goes on in part {number + 1}: <{address}>\n"


def _opening(number: int | str, parts: int | str, before: str) -> str:
    if not before:
        return ""
    what = "a table" if before.count("\n") > 1 else "a block of code"
    return f"Part {number} of {parts} goes on in {what}:\n\n{before}"


def _joined(atoms: Iterable[_Atom]) -> str:
    return "".join(atom.text for atom in atoms)


_Cutter = Callable[[str], Iterable[str]]


@dataclass(frozen=True, slots=True)
class _Room:
    """What a part has room for: so many ``tokens`` by this measure."""

    tokens: int
    measure: Measure

    def parts(self, markdown: str) -> Iterator[list[_Atom]]:
        """The atoms of each part, as many whole ones as there is room for."""
        held: list[_Atom] = []
        tokens = 0
        for atom in self._atoms(markdown):
            while held and tokens + atom.tokens > self.tokens:
                kept = self._kept(held, atom)
                yield held[:kept]
                held = held[kept:]
                tokens = sum(each.tokens for each in held)
            held.append(atom)
            tokens += atom.tokens
        while held:
            kept = self._kept(held, None)
            yield held[:kept]
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
            if self._fits(_mended(held[:middle]), self.tokens):
                low = middle
            else:
                high = middle - 1
        return low

    def _fits(self, text: str, room: int) -> bool:
        return fits(text + GAP, room, self.measure)

    def _atoms(self, markdown: str) -> Iterator[_Atom]:
        for block in blocks(markdown):
            if self._fits(block.text, self.tokens):
                yield _Atom(block.text, self._size(block.text), block.kind is Kind.HEADING)
                continue
            cut = self._cut(block)
            by_line: tuple[_Cutter, ...] = (_by_lines, _by_words, _in_characters(cut.room))
            if block.kind is Kind.TEXT or block.kind is Kind.HEADING:
                heads = 1 if block.kind is Kind.HEADING else 0
                yield from self._pieces(block.text, (sentences, *by_line), cut, heads)
            else:
                # Neither the head of a table nor the line that opens code is left at the end of a part.
                heads = 2 if block.kind is Kind.TABLE else 1
                yield from self._pieces(block.text, by_line, cut, heads, skipped=cut.before.count("\n"))

    def _cut(self, block: Block) -> _Cut:
        before, after = mends(block)
        # Numbers of so many digits are more than any part has.
        taken = self.measure(_opening("9" * 6, "9" * 6, before)) + self.measure(after + GAP)
        if not before or taken > self.tokens // 4:
            return _Cut(self.tokens)
        return _Cut(self.tokens - taken, before, after)

    def _pieces(
        self, text: str, cutters: tuple[_Cutter, ...], cut: _Cut, heads: int = 0, skipped: int = 0
    ) -> Iterator[_Atom]:
        """What the first cutter makes of the text, each piece where it fits, else what the next one makes of it, and
        so on; the last one's pieces always fit. The first ``skipped`` ones are what ``cut.before`` says."""
        first, *others = cutters
        pieces = list(first(text))
        for at, piece in enumerate(pieces):
            own = replace(
                cut,
                before=cut.before if at >= skipped else "",
                end=cut.after if at + 1 < len(pieces) else cut.end,
            )
            if self._fits(piece, cut.room):
                yield _Atom(piece, self._size(piece), at < heads, own.before, own.end)
            else:
                yield from self._pieces(piece, tuple(others), own, heads=1 if at < heads else 0)

    def _size(self, text: str) -> int:
        """What an atom takes among others: the space at its end becomes a part of the next word's first token."""
        return self.measure(text[:-1] if text[-1:] == " " and not text[-2:-1].isspace() else text)


def _mended(atoms: list[_Atom]) -> str:
    """As ``as_served`` has it, with numbers as long as any."""
    return _opening("9" * 6, "9" * 6, atoms[0].before) + _joined(atoms) + atoms[-1].after


def _in_characters(room: int) -> _Cutter:
    # A character has four bytes at most, and a text never more tokens than bytes.
    return lambda text: _by_characters(text, (room - len(GAP)) // 4)


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
