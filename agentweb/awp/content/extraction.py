"""What an HTML page says of itself, and which of its elements are its content.

Parsed by lxml (libxml2; BSD), which takes broken markup, and is in linear time where parsers that follow HTML 5 to the
letter look through all open elements at each tag: a million nested ``<div>`` take those hours. Elements nested deeper
than ``MAX_DEPTH`` become plain text, and a page that is deeper than libxml2 goes is refused.

The content is what a CSS selector names, else ``<main>`` or ``role="main"``, else the only ``<article>``, else the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from lxml import etree
from lxml.cssselect import CSSSelector
from lxml.html import HtmlElement, HTMLParser

from agentweb.awp.content.characters import in_one_line
from agentweb.awp.content.links import absolute

MAX_DEPTH: Final = 150
"""Deeper than any page that a person wrote, and not as deep as the converter would go without losing anything."""


class TooDeep(ValueError):
    """The page is nested deeper than it can be read."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """``content`` are elements in the page's order, none within another; texts are empty where the page has none.

    ``heading`` is the page's first ``<h1>`` if it is not in the content. ``base`` is what its links are relative to.
    """

    title: str
    description: str
    language: str
    canonical: str
    is_noindex: bool
    heading: str
    base: str
    content: list[HtmlElement]


_PARSER_LIMIT: Final = "ERR_RESOURCE_LIMIT"
# What follows them belongs to the page all the same, but libxml2 would not read on.
_LAST_TAGS: Final = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
_ROBOTS: Final = frozenset({"robots", "googlebot"})
_NOINDEX: Final = frozenset({"noindex", "none"})
_CONTENT: Final = ("//main | //*[@role='main']", "//article[not(ancestor::article)] | //*[@role='article']")


def extract(html: str, url: str, selector: str | None = None) -> Extracted:
    """Read the page at ``url``. The elements found are its own, to be changed at will.

    A selector that finds nothing, or that is none, is as good as none. Raises TooDeep.
    """
    root = _parsed(html)
    if root is None:
        return Extracted("", "", "", "", False, "", url, [])
    head = _Head(root, url)
    cleaning.drop_hidden(root)
    content = _selected(root, selector)
    if not content:
        content = _main(root)
    headings = [each for each in root.iter("h1") if text_of(each)]
    heading = (
        "" if not headings or any(_holds(each, headings[0]) for each in content) else text_of(headings[0])
    )
    return Extracted(
        title=head.title or heading,
        description=head.description,
        language=head.language,
        canonical=head.canonical,
        is_noindex=head.is_noindex,
        heading=heading,
        base=head.base,
        content=content,
    )
