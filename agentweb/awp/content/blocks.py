"""The blocks of a Markdown text: what is not cut where it can be helped.

A scan by lines, not a whole parser: it has to know where code and tables begin and end, in lists and quotations too,
and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import Final


class Kind(Enum):
    """What a block is, as far as it matters for cutting it."""

    TEXT = auto()
    HEADING = auto()
    TABLE = auto()
    CODE = auto()


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of a block and the blank lines after it."""

    text: str
    kind: Kind


_MARK: Final = r"(?:[-*+]|\d{1,9}[.)])[ \t]+"
_FENCE: Final = re.compile(rf"[ \t>]*(?:{_MARK})*(`{{3,}}(?=[^`]*$)|~{{3,}})")
_FENCE_END: Final = re.compile(r"[ \t>]*(`{3,}|~{3,})\s*$")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_ROW: Final = re.compile(r"[ \t>]*\|")
_TABLE_RULE_CELL: Final = re.compile(r":?-+:?")
_INDENTED: Final = re.compile(r"(?: {4}| {0,3}\t)")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_NO_INDENT: Final = re.compile(r"[^\s>]")
_ITEM: Final = re.compile(rf" {{0,3}}{_MARK}")


def blocks(markdown: str) -> Iterator[Block]:
    """The blocks in order; joined, their texts are the whole text."""
    scan = _Scan()
    for line, following in pairwise([*_LINE.findall(markdown), ""]):
        finished = scan.take(line, following)
        if finished is not None:
            yield finished
    if scan.lines:
        yield scan.block()


def mends(block: Block) -> tuple[str, str]:
    """What stands before a piece of this block, and after one, so that each can be read by itself: of code between
    fences the first line, and a line feed with the last one; of a table its head. Empty for what needs none."""
    lines = _LINE.findall(block.text)
    if block.kind is Kind.TABLE and len(lines) > 1 and _is_table_rule(lines[1]):
        return "".join(lines[:2]), ""
    fence = _FENCE.match(lines[0]) if block.kind is Kind.CODE else None
    if fence is None or not lines[0].endswith("\n"):
        return "", ""
    # Within a list or a quotation it goes on as the other lines do.
    indent = _NO_INDENT.sub(" ", lines[0][: fence.start(1)])
    return indent + lines[0][fence.start(1) :], f"\n{indent}{fence[1]}"


class _Scan:
    """The block that is being read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._kind = Kind.TEXT
        self._fence = ""
        """What the code block began with, until it has ended."""
        self._is_open = False
        """Whether the next line may belong to the block without a blank line before it."""
        self._is_indented = False
        self._is_in_list = False

    def block(self) -> Block:
        return Block("".join(self.lines), self._kind)

    def take(self, line: str, following: str) -> Block | None:
        """Read a line; the block before it, where one ended there."""
        if self._fence:
            self.lines.append(line)
            end = _FENCE_END.match(line)
            if end and end[1].startswith(self._fence):
                self._fence, self._is_open = "", False
            return None
        if not line.strip():
            self.lines.append(line)
            self._is_open = False
            return None
        finished = None
        if not self._goes_on(line, following):
            finished = self.block() if self.lines else None
            self._begin(line, following)
        self.lines.append(line)
        return finished

    def _goes_on(self, line: str, following: str) -> bool:
        if self._is_indented:
            return bool(_INDENTED.match(line))
        if not self._is_open or _FENCE.match(line) or _HEADING.match(line):
            return False
        return self._kind is Kind.TABLE or not _begins_table(line, following)

    def _begin(self, line: str, following: str) -> None:
        self.lines = []
        self._is_open, self._is_indented = True, False
        fence = _FENCE.match(line)
        if fence:
            self._kind, self._fence = Kind.CODE, fence[1]
        elif _HEADING.match(line):
            self._kind, self._is_open = Kind.HEADING, False
        elif _begins_table(line, following):
            self._kind = Kind.TABLE
        elif _INDENTED.match(line) and not self._is_in_list:
            self._kind, self._is_indented = Kind.CODE, True
        else:
            self._kind = Kind.TEXT
        # What is indented further belongs to the list's last item.
        if not line[0].isspace():
            self._is_in_list = bool(_ITEM.match(line))


def _begins_table(line: str, following: str) -> bool:
    return bool(_ROW.match(line)) or ("|" in line and _is_table_rule(following))


def _is_table_rule(line: str) -> bool:
    """Whether it is the line between the heads and the rows, of several columns."""
    cells = line.lstrip(" \t>").rstrip().removeprefix("|").removesuffix("|").split("|")
    return len(cells) > 1 and all(_TABLE_RULE_CELL.fullmatch(cell.strip(" \t")) for cell in cells)
