"""Lists of definitions, which Markdown has none of, as lists whose items begin with the term in bold."""

from __future__ import annotations

from lxml import etree

from agentweb.awp.content.html.elements import BLOCKS, Element, contains, has_content, rename


def tidy_definitions(root: Element) -> None:
    """``<dl><dt>Tea<dd>A plant</dl>`` becomes ``<ul><li><p><b>Tea</b>: A plant</ul>``."""
    # Those within others first.
    for element in reversed(list(root.iter("dl"))):
        _rewrite(element)
    for element in list(root.iter("dt", "dd")):
        element.tag = "div"


def _rewrite(definitions: Element) -> None:
    items: list[tuple[list[Element], list[Element]]] = []
    others: list[Element] = []
    for element in _members(definitions):
        if element.tag == "dt":
            if not items or items[-1][1]:
                items.append(([], []))
            items[-1][0].append(element)
        elif element.tag == "dd":
            if not items:
                items.append(([], []))
            items[-1][1].append(element)
        elif has_content(element):
            others.append(element)
    tail = definitions.tail
    definitions.clear()
    definitions.tag, definitions.tail = "ul", tail
    for terms, meanings in items:
        _add_item(definitions, terms, meanings)
    for element in others:
        item = etree.SubElement(definitions, "li")
        element.tail = None
        item.append(element)


def _members(definitions: Element) -> list[Element]:
    """Terms and meanings; a ``<div>`` may be around each group of them."""
    found: list[Element] = []
    for child in definitions:
        is_group = child.tag == "div" and any(each.tag in {"dt", "dd"} for each in child)
        found.extend(child if is_group else [child])
    return found


def _add_item(definitions: Element, terms: list[Element], meanings: list[Element]) -> None:
    item = etree.SubElement(definitions, "li")
    first = etree.SubElement(item, "p")
    terms = [each for each in terms if has_content(each)]
    for at, term in enumerate(terms):
        is_block = contains(term, BLOCKS)
        _append(item if is_block else first, term, "div" if is_block else "strong")
        term.tail = ", " if not is_block and at + 1 < len(terms) else None
    meanings = [each for each in meanings if has_content(each)]
    is_inline = len(meanings) == 1 and not contains(meanings[0], BLOCKS) and len(first) == len(terms)
    for meaning in meanings:
        _append(first if is_inline else item, meaning, "span" if is_inline else "div")
    if is_inline and terms:
        terms[-1].tail = ": "


def _append(parent: Element, element: Element, tag: str) -> None:
    rename(element, tag)
    element.tail = None
    parent.append(element)
