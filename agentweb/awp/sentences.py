"""Where the sentences of a text end: for cutting it to a budget, and into parts.

The rules are the useful half of Unicode's for sentences (UAX #29): a full stop ends none before a small letter, in a
number or after a common abbreviation; the stops of Chinese and Japanese need no space after them. A line of a list, a
heading and a blank line end one too. Nothing ends within a Markdown link or a piece of code.
"""

from __future__ import annotations

import re
from typing import Final

# Lengths are bounded, so that a text of nothing but brackets or backticks takes no longer than any other.
_SCAN: Final = re.compile(
    r"""
    (?<!`)(?P<ticks>`{1,3})(?!`)[^`]{1,500}(?P=ticks)(?!`)            # a piece of code
    | \[[^\[\]]{0,500}\]\([^()\s]{0,1000}\)                           # a link
    | (?P<stop>[.!?\u2026\u061f\u06d4\u0964\u0965\u1362\u104b]{1,20}[\"'\u2019\u201d\u00bb)\]*_]{0,9})(?=\s)\s*
    | (?P<wide>[\u3002\uff01\uff1f\uff61]{1,20}[\u201d\u2019\u300d\u300f\uff09)\]*_]{0,9})\s*
    | (?P<line>\n)(?=[ \t]*(?:\n|[-*+][ \t]|\d{1,9}[.)][ \t]|\#{1,6}[ \t]|[>|]))
    """,
    re.VERBOSE,
)
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(\[\"'])(?:\w|e\.g|i\.e|a\.k\.a|etc|cf|ca|vs|viz|approx|no|nos|vol|pp|fig|figs|eq|sec|ch|ed|eds|al|inc|ltd|co"
    r"|corp|st|mr|mrs|ms|dr|prof|jr|sr|messrs|z\.b|d\.h|u\.a|bzw|usw|ggf|inkl|nr|abs|bd|p\.ex|art|av|sra?|n)\.$",
    re.IGNORECASE,
)
_LIST_MARK: Final = re.compile(r"(?:^|\n)[ \t>]*\d{1,9}\.$")
_LOOK_BACK: Final = 16


def sentences(text: str) -> list[str]:
    """The text in pieces, each a sentence with the white space after it; joined, they are the text."""
    found = []
    start = 0
    for match in _SCAN.finditer(text):
        if match.lastgroup in {"stop", "wide", "line"} and _ends(text, match):
            found.append(text[start : match.end()])
            start = match.end()
    if start < len(text):
        found.append(text[start:])
    return found


def _ends(text: str, match: re.Match[str]) -> bool:
    if match.lastgroup != "stop":
        return True
    after = text[match.end() : match.end() + 1]
    if after.islower() and "\n" not in match[0]:
        return False
    if match["stop"] != ".":
        return True
    before = text[max(0, match.start() - _LOOK_BACK) : match.start() + 1]
    if match.start() > _LOOK_BACK:
        # The look back began within the text: what stands there is no beginning of it.
        before = "\0" + before
    return not (_ABBREVIATION.search(before) or _LIST_MARK.search(before))
