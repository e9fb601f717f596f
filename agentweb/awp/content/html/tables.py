"""Tables as Markdown has them: a row of heads, then rows of cells of one line each.

A cell over several rows is repeated in each of them, so that every row can be read by itself; one over several columns
is followed by empty ones. Several rows of heads become one. A table that only arranges other things is taken apart.
"""

from __future__ import annotations

from typing import Final

from lxml import etree

from agentweb.awp.content.html.elements import HEADINGS, Element, become, contains, has_content, rename
from agentweb.awp.content.html.grids import Grid

_CELLS: Final = frozenset({"td", "th"})
_SECTIONS: Final = frozenset({"thead", "tbody", "tfoot"})
_PARTS: Final = (*_SECTIONS, "tr", *_CELLS)
_ALLOWED: Final = {
    "table": _SECTIONS | {"caption", "colgroup", "col", "tr"},
    **dict.fromkeys(_SECTIONS, frozenset({"tr"})),
    "tr": _CELLS,
}
_MOST_CELLS: Final = 10_000
_MOST_EMPTY: Final = 4
"""A table of more cells than the first may have this many times as many as it has cells that say something."""
# Heads with any of these stay as they are.
_MORE_THAN_TEXT: Final = ("a", "img", "code")


def tidy_tables(root: Element) -> None:
    """Make every table in ``root`` one with a row of heads, or no table."""
    # Those within others first.
    for table in reversed(list(root.iter("table"))):
        _move_out_strays(table)
        rows = _rows(table)
        if _is_layout(table, rows):
            _take_apart(table)
        else:
            _flatten_code(table)
            _tidy(table, rows)
    for element in list(root.iter(*_PARTS, "caption")):
        if next(element.iterancestors("table"), None) is None:
            rename(element, "div")


def _rows(table: Element) -> list[Element]:
    found: list[Element] = []
    for child in table:
        found.extend(child if child.tag in _SECTIONS else [child] if child.tag == "tr" else [])
    return [each for each in found if len(each)]


def _is_layout(table: Element, rows: list[Element]) -> bool:
    if not rows or (table.get("role") or "").lower() in {"presentation", "none"}:
        return True
    return (len(rows) == 1 and len(rows[0]) == 1) or contains(table, ("table", *HEADINGS))


def _take_apart(table: Element) -> None:
    own = [
        each
        for each in table.iterdescendants(*_PARTS, "caption")
        if next(each.iterancestors("table"), None) is table
    ]
    for element in [table, *own]:
        rename(element, "div")


def _move_out_strays(table: Element) -> None:
    """What stands in a table outside of its cells is shown before it, as browsers do."""
    sections = [each for each in table if each.tag in _SECTIONS]
    rows = [row for each in (table, *sections) for row in each if row.tag == "tr"]
    for place in [table, *sections, *rows]:
        allowed = _ALLOWED[str(place.tag)]
        texts = [place.text or ""]
        for child in list(place):
            texts.append(child.tail or "")
            child.tail = None
            if child.tag not in allowed:
                if has_content(child):
                    table.addprevious(child)
                else:
                    place.remove(child)
        place.text = None
        stray = " ".join(text for text in texts if text.strip())
        if stray:
            paragraph = table.makeelement("p")
            paragraph.text = stray
            table.addprevious(paragraph)


def _flatten_code(table: Element) -> None:
    """A cell is one line, so blocks of code in it are pieces of code with breaks between them."""
    for block in list(table.iter("pre")):
        lines = [line.rstrip() for line in "".join(block.itertext()).split("\n") if line.strip()]
        become(block, "div")
        for at, line in enumerate(lines):
            if at:
                etree.SubElement(block, "br")
            etree.SubElement(block, "code").text = line


def _tidy(table: Element, rows: list[Element]) -> None:
    grid = Grid(rows)
    width = max(map(len, grid.rows))
    if len(rows) * width > max(_MOST_CELLS, _MOST_EMPTY * sum(map(len, grid.rows))):
        # One row that is far longer than the others, which would all be as long.
        _take_apart(table)
        return
    heads = _heads(rows)
    head = rows[0]
    if not heads:
        head = rows[0].makeelement("tr")
        rows[0].addprevious(head)
    # What goes beyond the row of heads would not be shown.
    missing = width - len(head)
    added = [etree.SubElement(head, "th") for _ in range(missing)]
    if heads > 1 and not any(contains(each, _MORE_THAN_TEXT) for each in rows[:heads]):
        grid.rows[0] += added
        _merge(grid, heads)
        for row in rows[1:heads]:
            become(row, "tr")


def _heads(rows: list[Element]) -> int:
    """How many rows at the beginning are heads of columns, of which a table of several rows has one that is none."""
    found = 0
    for row in rows[:-1] or rows:
        parent = row.getparent()
        if not all(each.tag == "th" for each in row) and (parent is None or parent.tag != "thead"):
            break
        found += 1
    return found


def _merge(grid: Grid, heads: int) -> None:
    texts = []
    for column in range(len(grid.rows[0])):
        said = [grid.text(row[column]) for row in grid.rows[:heads] if column < len(row)]
        texts.append(" ".join(dict.fromkeys(each for each in said if each)))
    for cell, text in zip(grid.rows[0], texts, strict=True):
        become(cell, "th", text)
