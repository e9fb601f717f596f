"""What is done to elements everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from lxml import etree

from agentweb.awp.content.characters import in_one_line, seen

Element: TypeAlias = etree._Element

HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
BLOCKS: Final = HEADINGS | {
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dir", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend", "li", "main",
    "menu", "nav", "ol", "p", "pre", "search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead",
    "tr", "ul",
}  # fmt: skip


def classes(element: Element) -> list[str]:
    return (element.get("class") or "").lower().split()


def text_of(element: Element) -> str:
    """What it says, in one line."""
    return in_one_line("".join(element.itertext())).strip()


def says_something(element: Element) -> bool:
    return any(seen(text).strip() for text in element.itertext())


def has_content(element: Element) -> bool:
    """Whether it says or shows anything."""
    return says_something(element) or next(element.iter("img", "hr", "input"), None) is not None


def contains(element: Element, tags: Iterable[str]) -> bool:
    """Whether an element of these names is within it."""
    return next(element.iterdescendants(*tags), None) is not None


def is_attached(element: Element) -> bool:
    """Whether nothing has taken it out of the page so far, as far as its parent."""
    return element.getparent() is not None


def drop(element: Element) -> None:
    """Take it out with everything in it. The text after it stays."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        become(element, "span")
    else:
        parent.remove(element)


def become(element: Element, tag: str, text: str | None = None) -> None:
    """Another element with nothing in it but a text, in the same place."""
    element.clear(keep_tail=True)
    element.tag = tag
    element.text = text


def rename(element: Element, tag: str) -> None:
    """The same with another name and without attributes."""
    element.attrib.clear()
    element.tag = tag


def wrap(element: Element, tag: str) -> None:
    """Put another element around it."""
    parent = element.getparent()
    if parent is None:
        return
    outer = element.makeelement(tag)
    outer.tail, element.tail = element.tail, None
    parent.replace(element, outer)
    outer.append(element)
