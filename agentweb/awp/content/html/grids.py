"""The cells of a table as a grid: what goes over several rows or columns stands in each of them."""

from __future__ import annotations

from typing import Final

from agentweb.awp.content.html.elements import Element, text_of

_MAX_SPAN: Final = 1_000
"""Columns, as in HTML; a cell goes over no more rows than there are."""
_MAX_ADDED: Final = 20_000
"""Cells that are added to one table; one that would need more is left ragged."""
_MAX_REPEATED: Final = 100
"""Characters of a cell that is repeated in the rows below; a longer one is empty there."""


class Grid:
    """Fills the rows of a table. ``rows`` are lists of their cells, of those added too."""

    def __init__(self, rows: list[Element]) -> None:
        self.rows: list[list[Element]] = []
        self._may_add = _MAX_ADDED
        self._origins: dict[Element, Element] = {}
        """By cell that was added: the one that goes over its place."""
        self._said: dict[Element, str] = {}
        """By cell that goes over others, what it says there; it is read once, however many they are."""
        self._open: dict[int, tuple[int, Element, bool]] = {}
        """By column: for how many rows a cell goes on, which, and whether this is its first column."""
        section = None
        for at, row in enumerate(rows):
            if row.getparent() is not section:
                # No cell goes over the end of a section.
                section = row.getparent()
                self._open.clear()
            self.rows.append(self._filled(row, len(rows) - at))
        # Columns in which no row says anything are none.
        width = max(map(self._length, self.rows))
        for row, cells in zip(rows, self.rows, strict=True):
            del cells[width:]
            row[:] = cells

    def text(self, cell: Element) -> str:
        """What is said in the place of a cell: of one that goes over it from elsewhere, if that is short."""
        origin = self._origins.get(cell)
        return text_of(cell) if origin is None else self._repeated(origin)

    def _repeated(self, origin: Element) -> str:
        if origin not in self._said:
            text = text_of(origin)
            self._said[origin] = text if len(text) <= _MAX_REPEATED else ""
        return self._said[origin]

    def _length(self, cells: list[Element]) -> int:
        return next((at for at in range(len(cells), 0, -1) if not self._is_blank(cells[at - 1])), 0)

    def _is_blank(self, cell: Element) -> bool:
        return cell in self._origins and not cell.text

    def _filled(self, row: Element, rows_left: int) -> list[Element]:
        found: list[Element] = []
        for cell in row:
            self._go_on(found)
            columns = _number(cell.attrib.pop("colspan", ""), _MAX_SPAN) or 1
            # Zero is to the end of the section, one is nothing.
            below = min(_number(cell.attrib.pop("rowspan", "1"), rows_left) or rows_left, rows_left) - 1
            for at in range(columns):
                if at and not self._may_add:
                    break
                if below:
                    self._open[len(found)] = (below, cell, at == 0)
                found.append(self._added(cell, is_shown=False) if at else cell)
        self._go_on(found)
        return found

    def _go_on(self, found: list[Element]) -> None:
        """Fill the places over which cells of rows above go, as far as the next free one."""
        while len(found) in self._open and self._may_add:
            below, cell, is_first = self._open.pop(len(found))
            if below > 1:
                self._open[len(found)] = (below - 1, cell, is_first)
            found.append(self._added(cell, is_shown=is_first))

    def _added(self, origin: Element, *, is_shown: bool) -> Element:
        self._may_add -= 1
        cell = origin.makeelement(origin.tag)
        if is_shown:
            cell.text = self._repeated(origin) or None
        self._origins[cell] = origin
        return cell


def _number(text: str, most: int) -> int:
    """Of an attribute; what is no number is 1."""
    text = text.strip()
    return min(int(text), most) if text.isdecimal() and len(text) < 10 else 1
