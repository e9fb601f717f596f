"""Characters of a page that nobody sees, and how what is left is written so that Markdown takes it for text.

Control characters, byte order marks, soft hyphens, invisible operators, fillers and Unicode's tags are left out, and
so are embeddings and overrides of the writing direction, which would go on beyond where a text is cut. The marks for
one place (LRM, RLM, ALM) stay. So do joiners and selectors of variants where they change what is seen, in Persian,
Hindi and emoji, one of each at a place: in words of plain letters they change nothing, and many in a row could say
anything. White space that only asks for no break is a space.

What Markdown would take for more than text has a ``MARK`` before it, and backslashes are another character, until the
Markdown is written: the converter would escape an escape.
"""

from __future__ import annotations

import re
from typing import Final

MARK: Final = "\uf8fa"
PLAIN_BRACKET: Final = "\uf8fb"
PLAIN_CLOSING: Final = "\uf8fc"
"""Brackets that are to mean what they mean in Markdown, written as such in the end."""
_BACKSLASH: Final = "\uf8fd"
# Ours, with which a page's words would become a link; and what no element may be given (XML 1.0 2.2).
_UNUSABLE: Final = re.compile(
    f"[{MARK}{PLAIN_BRACKET}{PLAIN_CLOSING}{_BACKSLASH}\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
)

_UNSEEN: Final = re.compile(
    # The flag of a region is a black flag and tags, the only ones that are seen.
    "(\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f)"
    "|[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    f"{MARK}\U000e0000-\U000e0fff]"
)
# Seen by what they do to what is before them: spaces of no width, joiners, selectors of variants.
_JOINING: Final = re.compile("[\u180b-\u180f\u200b-\u200d\ufe00-\ufe0f]+")
# Those of both that Python holds for printable: selectors of variants and fillers.
_PRINTABLE_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
# Scripts in which nothing joins, as far as here: Latin, Greek, Cyrillic and their neighbours.
_LAST_PLAIN: Final = "\u058f"
_IN_KEYS: Final = frozenset("0123456789#*")
_WITHOUT_BLANKS: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1a20-\u1aaf]")
"""Thai, Lao, Burmese, Khmer, Tai Tham: where a space of no width is where a word ends."""
_SPACES: Final = str.maketrans("\x0c\x85\xa0\u2007\u202f\u2028\u2029", "\n\n   \n\n")
# CSS Text 4.1.3: Chinese and Japanese have no spaces, so where their lines are broken there is none either.
_WIDE: Final = "\u3001-\u30ff\u3400-\u9fff\uff00-\uffef"
_WIDE_BREAK: Final = re.compile(rf"(?<=[{_WIDE}])[ \t\r]*\n\s*(?=[{_WIDE}])")
_SPACE: Final = re.compile(r"[ \t\n\r]+")

# Each alternative looks a bounded way ahead.
_MEANS_MORE: Final = re.compile(
    r"""
      (?<!\s)\*|\*(?!\s)                            # emphasis; a star between spaces is none
    | (?<![^\W_])_|_(?![^\W_(])                     # emphasis; not in snake_case
    | `
    | \[(?=\^)|\](?=[(\[:])                         # a note, a link, what a link is to
    | <(?=[A-Za-z/!?]|\Z)                           # HTML
    | &(?=\#\d{1,8};|\#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)
    | ~(?=~)|(?<=~)~|~(?=\S[^~]{0,200}~)|\A~|~\Z  # struck out
    """,
    re.VERBOSE,
)
# What any of these alternatives has in it: most texts have none.
_MAY_MEAN_MORE: Final = re.compile(r"[*_`\[\]<&~]")
_BRACKET: Final = re.compile(rf"(?<!{MARK})[\[\]]")
_PUNCTUATION: Final = r"!-/:-@\[-`{-~"
# One that escapes what follows it.
_MEANING_BACKSLASH: Final = re.compile(rf"{_BACKSLASH}(?=[{_PUNCTUATION}{MARK}{_BACKSLASH}\n]|\Z)")
# The converter escapes a few of them as well.
_MARKS: Final = re.compile(rf"{MARK}\\?")
# At the beginning of a block or a line: a heading, a quotation, a list, a table, a rule, the line below a heading.
_BEGINS_MORE: Final = re.compile(
    r"\A(\s*)(?=\#{1,6}(?:\s|\Z)|>|[-+](?:\s|\Z)|\||-{2,}\s*\Z|=+\s*\Z)|\A(\s*\d{1,9})(?=[.)](?:\s|\Z))"
)


def is_usable(text: str) -> bool:
    """Whether a text of a page can be worked with as it is."""
    return not _UNUSABLE.search(text)


def usable(text: str) -> str:
    return _UNUSABLE.sub("", text.replace("\x0c", " "))


def seen(text: str) -> str:
    """The text without what is not seen; its lines as they are."""
    if text.isprintable() and (text.isascii() or not _PRINTABLE_UNSEEN.search(text)):
        return text
    return _JOINING.sub(_joined, _UNSEEN.sub(r"\1", text.translate(_SPACES)))


def _joined(found: re.Match[str]) -> str:
    """What of a run of them changes what is seen."""
    run, text, begin, end = found[0], found.string, found.start(), found.end()
    before, after = text[begin - 1 : begin], text[end : end + 1]
    kept = run[0] if run[0] not in "\u200b\u200c\u200d" and _has_variant(before, run, after) else ""
    # With nothing before them in their text they join nothing that is known here.
    is_plain = before <= _LAST_PLAIN
    joiner = next((each for each in run if each in "\u200c\u200d"), "")
    if joiner and not is_plain:
        return kept + joiner
    is_between = _WITHOUT_BLANKS.match(before) and _WITHOUT_BLANKS.match(after)
    return f"{kept}\u200b" if is_between and "\u200b" in run else kept


def _has_variant(before: str, run: str, after: str) -> bool:
    """Symbols, emoji, and letters of scripts that are not plain; a digit in a key."""
    if run[0] < "\ufe00":
        return "\u1800" <= before <= "\u18af"
    if before in _IN_KEYS:
        return len(run) == 1 and after == "\u20e3"
    return before in {"\xa9", "\xae"} or before > _LAST_PLAIN


def in_one_line(text: str) -> str:
    """The text with one space for any white space, also at its ends."""
    if "\n" in text and not text.isascii():
        text = _WIDE_BREAK.sub("", text)
    found = seen(text)
    # The only white space that is printable is the space.
    return found if "  " not in found and found.isprintable() else _SPACE.sub(" ", found)


def marked(text: str, *, is_first: bool = False, is_in_link: bool = False) -> str:
    """The text with marks before characters that would mean something else in Markdown.

    ``is_first`` is for one with which a line begins; in a link brackets are marked too.
    """
    found = _MEANS_MORE.sub(f"{MARK}\\g<0>", text) if _MAY_MEAN_MORE.search(text) else text
    if is_first:
        found = _BEGINS_MORE.sub(f"\\1\\2{MARK}", found)
    if is_in_link:
        found = _BRACKET.sub(f"{MARK}\\g<0>", found)
    return found.replace("\\", _BACKSLASH)


def written(markdown: str) -> str:
    """The converter's Markdown with what the marks stand for."""
    if _BACKSLASH in markdown:
        markdown = _MEANING_BACKSLASH.sub(r"\\\\", markdown).replace(_BACKSLASH, "\\")
    return _MARKS.sub(r"\\", markdown).replace(PLAIN_BRACKET, "[").replace(PLAIN_CLOSING, "]")
