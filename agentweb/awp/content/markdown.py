"""Markdown of a page's content, by html-to-markdown (Rust; MIT).

Compared on the pages of ``tests/awp/content/pages`` with markdownify (Python, on Beautiful Soup; MIT): that loses the
bars of code in tables, cells over several rows and the languages of code, ends a block of code that has a fence in it
too early, and recurses with the depth of the page. html2text and pandoc are GPL. What html-to-markdown does not do is
done to the page before (``content/html``): it escapes nothing but beginnings of lines or else every hyphen, and knows
no footnotes, definitions or raised text. ``python -m benchmarks --suite content`` says how long it all takes.
"""

from __future__ import annotations

from typing import Final

from html_to_markdown import ConversionOptions, convert
from lxml import etree

from agentweb.awp.content.characters import written
from agentweb.awp.content.html.arrangement import arrange
from agentweb.awp.content.html.code import tidy_code
from agentweb.awp.content.html.definitions import tidy_definitions
from agentweb.awp.content.html.elements import HEADINGS, Element, rename
from agentweb.awp.content.html.footnotes import tidy_footnotes
from agentweb.awp.content.html.inline import tidy_inline
from agentweb.awp.content.html.references import tidy_references
from agentweb.awp.content.html.tables import tidy_tables
from agentweb.awp.content.html.texts import mark_texts

_OPTIONS: Final = ConversionOptions(
    bullets="-",
    highlight_style="none",
    extract_metadata=False,
    include_blockquote_citations=False,
    compact_tables=True,
    br_in_tables=True,
    expand_abbreviations=True,
)


_KEPT: Final = HEADINGS | {"p", "pre", "ul", "ol", "dl", "table", "blockquote", "figure", "details"}


def markdown_of(content: list[Element], base: str) -> str:
    """The Markdown of elements of a page, which are used up. It ends in one line feed, or is empty."""
    if not content:
        return ""
    root = content[0].makeelement("div")
    for element in content:
        element.tail = None
        if element.tag not in _KEPT:
            rename(element, "div")
        root.append(element)
    tidy_footnotes(root)
    tidy_references(root, base)
    tidy_code(root)
    tidy_inline(root)
    tidy_definitions(root)
    tidy_tables(root)
    arrange(root)
    mark_texts(root)
    html = etree.tostring(root, method="html", encoding="unicode")
    found = written(convert(html, _OPTIONS).content or "").strip("\n")
    return f"{found}\n" if found.strip() else ""
