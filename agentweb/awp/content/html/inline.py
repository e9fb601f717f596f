"""Smaller things of HTML that Markdown has no word for."""

from __future__ import annotations

import re
from typing import Final

from agentweb.awp.content.characters import in_one_line, marked
from agentweb.awp.content.html.elements import (
    BLOCKS,
    Element,
    become,
    contains,
    is_attached,
    rename,
    text_of,
)

_RAISED: Final = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOWERED: Final = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_SMALL: Final = 12
# 1st, 2º, Mme, ™: read the same when they are not raised.
_ENDING: Final = re.compile(r"st|nd|rd|th|er|re|ère|e|me|o|a|º|ª|™|®|©|tm|sm", re.IGNORECASE)
_EMPHASIS: Final = frozenset({"b", "strong", "i", "em", "dfn", "s", "strike", "del", "q"})
_LARGE: Final = BLOCKS - {"p", "div"}
_TEX: Final = frozenset({"application/x-tex", "tex", "latex", "text/latex"})


def tidy_inline(root: Element) -> None:
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
        elif tag in _EMPHASIS and len(element) and contains(element, _LARGE):
            # Its mark would stand before that of the heading or the item, which would then be none.
            rename(element, "div")


def _tidy_formula(formula: Element) -> None:
    """As TeX where the page has it too, as from KaTeX and MathJax."""
    for note in formula.iter("annotation"):
        if (note.get("encoding") or "").lower() in _TEX and (note.text or "").strip():
            become(formula, "code", f"${' '.join((note.text or '').split())}$")
            return
    become(formula, "span", text_of(formula))


def _tidy_raised(element: Element) -> None:
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


def _expand_once(root: Element) -> None:
    """An abbreviation is written out where it comes first."""
    known: set[tuple[str, str]] = set()
    for element in root.iter("abbr", "acronym"):
        title, text = in_one_line(element.get("title") or "").strip(), text_of(element)
        rename(element, "abbr")
        if title and (title, text) not in known and title.lower() != text.lower():
            known.add((title, text))
            element.set("title", marked(title, is_in_link=True))
