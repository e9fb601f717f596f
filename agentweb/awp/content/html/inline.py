"""Smaller things of HTML that Markdown has no word for."""

from __future__ import annotations

import re
from typing import Final

from lxml.html import HtmlElement

from agentweb.awp.content.html.elements import (
    BLOCKS,
    HEADINGS,
    become,
    contains,
    drop,
    has_content,
    is_attached,
    rename,
    text_of,
)

_RAISED: Final = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOWERED: Final = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_SMALL: Final = 12
# 1st, 2º, Mme, ™: read the same when they are not raised.
_ENDING: Final = re.compile(r"st|nd|rd|th|er|re|ère|e|me|o|a|º|ª|™|®|©|tm|sm", re.IGNORECASE)
_TEX: Final = frozenset({"application/x-tex", "tex", "latex", "text/latex"})
# After an item's first line a blank line has to come before these.
_AFTER_BLANK: Final = frozenset({"table", "pre", "blockquote"})


def tidy_inline(root: HtmlElement) -> None:
    for formula in list(root.iter("math")):
        _tidy_formula(formula)
    for element in list(root.iter("sup", "sub")):
        if is_attached(element):
            _tidy_raised(element)
    _expand_once(root)
    for element in list(root.iter()):
        tag = str(element.tag)
        if element.get("role") == "heading":
            level = (element.get("aria-level") or "").strip()
            rename(element, f"h{level}" if level in set("123456") else "h2")
        elif "-" in tag or ":" in tag:
            rename(element, "div" if contains(element, BLOCKS) else "span")
        elif tag == "var":
            element.tag = "em"
        elif tag in HEADINGS and not has_content(element):
            drop(element)
    for item in root.iter("li"):
        _separate(item)
    for item in list(root.iter("li")):
        if not has_content(item):
            drop(item)
    for element in reversed(list(root.iter("br"))):
        _tidy_break(element)


def _tidy_formula(formula: HtmlElement) -> None:
    """As TeX where the page has it too, as from KaTeX and MathJax."""
    for note in formula.iter("annotation"):
        if (note.get("encoding") or "").lower() in _TEX and (note.text or "").strip():
            become(formula, "code", f"${' '.join((note.text or '').split())}$")
            return
    become(formula, "span", text_of(formula))


def _tidy_raised(element: HtmlElement) -> None:
    """``x<sup>2</sup>`` is not ``x2``: small ones have characters, others are written ``^(…)`` and ``_(…)``."""
    text = text_of(element)
    is_raised = element.tag == "sup"
    if (
        not text
        or contains(element, ("a", "img", "code", *BLOCKS))
        or (is_raised and _ENDING.fullmatch(text))
    ):
        rename(element, "span")
        return
    small = text.translate(_RAISED if is_raised else _LOWERED)
    if len(text) <= _SMALL and not set(small) & set(text):
        become(element, "span", small)
    else:
        become(element, "span", f"{'^' if is_raised else '_'}({text})")


def _expand_once(root: HtmlElement) -> None:
    """An abbreviation is written out where it comes first."""
    known: set[tuple[str, str]] = set()
    for element in root.iter("abbr", "acronym"):
        title, text = " ".join((element.get("title") or "").split()), text_of(element)
        rename(element, "abbr")
        if title and (title, text) not in known and title.lower() != text.lower():
            known.add((title, text))
            element.set("title", title)


def _separate(item: HtmlElement) -> None:
    """The text before a block in an item becomes a paragraph."""
    block = next((each for each in item if each.tag in _AFTER_BLANK), None)
    if block is None or any(each.tag == "p" for each in item.iterchildren() if each is not block):
        return
    before = list(block.itersiblings(preceding=True))[::-1]
    if any(each.tag in BLOCKS for each in before) or not (item.text or before):
        return
    paragraph = item.makeelement("p")
    paragraph.text, item.text = item.text, None
    paragraph.extend(before)
    item.insert(0, paragraph)


def _tidy_break(element: HtmlElement) -> None:
    """A break at the end of a block breaks nothing."""
    if (element.tail or "").strip():
        return
    following = element.getnext()
    if following is None or following.tag in BLOCKS:
        parent = element.getparent()
        if parent is not None and (following is not None or parent.tag in BLOCKS):
            drop(element)
