"""What an HTML page says of itself, and which of its elements are its content.

Parsed by lxml (libxml2; BSD), which takes broken markup, and is in linear time where parsers that follow HTML 5 to the
letter look through all open elements at each tag: a million nested ``<div>`` take those hours. Elements nested deeper
than ``MAX_DEPTH`` become plain text, and a page that is deeper than libxml2 goes is refused.

The content is what a CSS selector names, else ``<main>`` or ``role="main"``, else the only ``<article>``, else the
body.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cssselect import SelectorError
from lxml import etree
from lxml.cssselect import CSSSelector

from agentweb.awp.content.characters import is_usable, usable
from agentweb.awp.content.html.elements import Element, become, says_something, text_of
from agentweb.awp.content.html.head import Head, head_of
from agentweb.awp.content.html.noise import drop_surroundings, drop_unseen

MAX_DEPTH: Final = 150
"""Deeper than any page that a person wrote, and not as deep as the converter would go without losing anything."""

_PARSER_LIMIT: Final = "ERR_RESOURCE_LIMIT"
# What follows them belongs to the page all the same, but libxml2 would read no further.
_LAST_TAGS: Final = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
_MAIN: Final = etree.XPath("//main | //*[@role='main']")
_ARTICLES: Final = etree.XPath("//article[not(ancestor::article)]")
_MOST: Final = 0.5
"""The share of a page's text that its only article has at least, where the page is about it."""


class TooDeep(ValueError):
    """The page is nested deeper than it can be read."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """``content`` are elements in the page's order, none within another, to be changed at will.

    ``heading`` is the page's first ``<h1>`` that is its own and not the site's, empty without one; ``has_heading`` says
    whether any is in the content, ``is_selected`` whether the content is what the selector names.
    """

    head: Head
    heading: str
    has_heading: bool
    content: list[Element]
    is_selected: bool = False


def extract(html: str, url: str, selector: str | None = None) -> Extracted:
    """Read the page at ``url``. A selector that finds nothing is as good as none.

    Raises TooDeep, and ValueError for a selector that is none.
    """
    root = _parsed(html)
    if root is None:
        return Extracted(Head("", "", "", "", False, url), "", False, [])
    head = head_of(root, url)
    drop_unseen(root)
    _flatten(root)
    headings = [text for each in root.iter("h1") if not _is_the_sites(each) and (text := text_of(each))]
    content = _selected(root, selector) if selector else []
    is_selected = bool(content)
    if not content:
        content = _main(root)
    has_own = any(text_of(each) for element in content for each in element.iter("h1"))
    return Extracted(head, headings[0] if headings else "", has_own, content, is_selected)


@lru_cache(maxsize=8)
def compiled(selector: str) -> CSSSelector:
    """Raises ValueError for what is no CSS selector, or one that cannot be used here."""
    try:
        return CSSSelector(selector, translator="html")
    except (SelectorError, etree.XPathError) as error:
        raise ValueError(f"{selector!r} is no CSS selector that can be used here: {error}") from None


def _parsed(html: str) -> Element | None:
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    source = _LAST_TAGS.sub("", usable(html))
    root: Element | None = etree.fromstring(source.encode(errors="replace") or b" ", parser)
    if root is not None and "&#" in source:
        _make_usable(root)
    if any(error.type_name == _PARSER_LIMIT for error in parser.error_log):
        raise TooDeep("The page is nested too deeply to be read.")
    return root


def _make_usable(root: Element) -> None:
    """The same for what character references stand for."""
    for element in root.iter():
        if element.text and not is_usable(element.text):
            element.text = usable(element.text)
        if element.tail and not is_usable(element.tail):
            element.tail = usable(element.tail)
        for name, value in element.items():
            if not is_usable(value):
                element.set(name, usable(value))


def _flatten(root: Element) -> None:
    """What is nested too deeply becomes the text that it says."""
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [child for element in level for child in element]
    for element in level:
        if len(element):
            become(element, "div", " ".join(element.itertext()))


def _selected(root: Element, selector: str) -> list[Element]:
    found = [each for each in _outermost(compiled(selector)(root)) if says_something(each)]
    for element in found:
        drop_surroundings(element, is_body=False)
    return found


def _outermost(elements: list[Element]) -> list[Element]:
    chosen = set(elements)
    return [each for each in elements if chosen.isdisjoint(each.iterancestors())]


def _main(root: Element) -> list[Element]:
    mains = [each for each in _outermost(_MAIN(root)) if says_something(each)]
    for element in mains:
        drop_surroundings(element, is_body=False)
    if mains:
        return mains
    body = root.find("body")
    whole = root if body is None else body
    drop_surroundings(whole, is_body=True)
    articles = _ARTICLES(whole)
    if len(articles) == 1 and _length(articles[0]) >= _length(whole) * _MOST:
        return [articles[0]]
    return [whole]


def _length(element: Element) -> int:
    return sum(len(text.strip()) for text in element.itertext())


def _is_the_sites(heading: Element) -> bool:
    """Whether it is the name of the site, which is on every page."""
    above = next(heading.iterancestors("header", "footer", "nav", "aside", "main", "article"), None)
    return above is not None and above.tag not in {"main", "article"}
