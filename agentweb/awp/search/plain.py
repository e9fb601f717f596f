"""Markdown as plain text: for terms, and for the words that are shown around a hit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# A link's or a picture's target, with one level of parentheses in it, as CommonMark 6.3 lets it have any.
_TARGET: Final = re.compile(r"\]\((?:[^()\n]|\([^()\n]*\))*\)")
_BARE_URL: Final = re.compile(r"https?://[^\s<>)\]]+")
_DEFINITION: Final = re.compile(r"^ {0,3}\[[^\]\n]+\]:[^\n]*$", re.MULTILINE)
# The rest of the line, of which Python takes the end off: an end that may be anywhere is looked for from everywhere.
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}[ \t]+([^\n]*)", re.MULTILINE)
_FENCE: Final = re.compile(r"^ {0,3}(?:```+|~~~+)[^\n]*$", re.MULTILINE)
# Lines of nothing but marks: rules, the second line of tables, underlines of headings.
_RULE: Final = re.compile(r"^[ \t]*[-=*_|:+][-=*_|:+ \t]*$", re.MULTILINE)
_LINE_MARK: Final = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d{1,9}[.)][ \t]+|\|)+", re.MULTILINE
)
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
# Between cells. One that is escaped is a sign in a cell.
_BAR: Final = re.compile(r"(?<!\\)\|")
_MARKS: Final = re.compile(r"[*_`~!\[\]]+")
_TAG: Final = re.compile(r"<[/!?]?[A-Za-z!-][^<>]{0,500}>")
_TAG_BEGIN: Final = re.compile(r"<(?=[A-Za-z/!?])")
_HIDDEN: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)


def headings(markdown: str) -> Iterator[str]:
    """The texts of its headings, in order; lines that begin with # in a block of code too."""
    return (without_targets(found[1].rstrip(" \t#")) for found in _HEADING.finditer(markdown))


def without_targets(markdown: str) -> str:
    """The text without where its links lead: nobody searches for a part of an address."""
    return _BARE_URL.sub(" ", _TARGET.sub("]", _DEFINITION.sub("", markdown)))


def plain(markdown: str) -> str:
    """One line of what a reader sees, in which nothing can be taken for HTML, whatever the text was about."""
    text = _TARGET.sub("]", _DEFINITION.sub("", markdown))
    text = _LINE_MARK.sub("", _RULE.sub("", _FENCE.sub("", text)))
    text = _MARKS.sub(_kept, text)
    text = _BAR.sub(" · ", text)
    # After the marks are gone: taking one away may have made a tag of what was none.
    text = _TAG.sub(" ", _HIDDEN.sub("", _ESCAPE.sub(r"\1", text)))
    # HTML begins a tag only where a letter follows at once (HTML, 13.2.5.6).
    return " ".join(_TAG_BEGIN.sub("< ", text).split()).strip(" ·")


def _kept(found: re.Match[str]) -> str:
    """What of a run of marks a reader sees: signs of emphasis and of links they do not, those inside words they do."""
    marks, text, begin, end = found[0], found.string, found.start(), found.end()
    if begin and text[begin - 1] == "\\":
        # Escaped: the first is meant.
        return marks[0] + _kept_of(marks[1:])
    is_inside = begin > 0 and end < len(text) and text[begin - 1].isalnum() and text[end].isalnum()
    return marks if is_inside and set(marks) <= {"_", "!", "~"} else _kept_of(marks)


def _kept_of(marks: str) -> str:
    # "![" begins a picture.
    return "!" * marks.replace("![", "").count("!")
