"""Characters of a page that nobody sees, and how what is left is written so that Markdown takes it for text.

Control characters, byte order marks, soft hyphens and Unicode's tags are left out, and so are embeddings and overrides
of the writing direction, which would go on beyond where a text is cut. The marks for one place (LRM, RLM, ALM) and the
joiners of Persian, Hindi and emoji stay. White space that only asks for no break is a space.

``MARK`` stands before each character that Markdown would take for more than text, until the Markdown is written: the
converter would write a backslash as two.
"""

from __future__ import annotations

import re
from typing import Final

MARK: Final = "\uf8fa"
PLAIN_BRACKET: Final = "\uf8fb"
"""An opening bracket that is to mean what it means in Markdown, written as one in the end."""

_UNSEEN: Final = re.compile(
    # The flag of a region is a black flag and tags, the only ones that are seen.
    "(\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f)"
    "|[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    f"{MARK}\U000e0000-\U000e0fff]"
)
_SPACES: Final = str.maketrans("\x0c\x85\xa0\u2007\u202f\u2028\u2029", "\n\n   \n\n")
_SPACE: Final = re.compile(r"[ \t\n\r]+")

# Each alternative looks a bounded way ahead.
_MEANS_MORE: Final = re.compile(
    r"""
      (?<!\s)\*|\*(?!\s)                            # emphasis; a star between spaces is none
    | (?<![^\W_])_|_(?![^\W_])                      # emphasis; not in snake_case
    | `
    | \[(?=\^|[^\[\]]{0,200}\][(\[:])               # a link, a note or what a link is to
    | <(?=[A-Za-z/!?])                              # HTML
    | &(?=\#\d{1,8};|\#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)
    | ~(?=~)|(?<=~)~|~(?=\S[^~]{0,200}~)            # struck out
    | \A(?:\||=(?==*\s*\Z))                         # a table, the line below a heading
    """,
    re.VERBOSE,
)


def seen(text: str) -> str:
    """The text without what is not seen; its lines as they are."""
    return _UNSEEN.sub(r"\1", text.translate(_SPACES))


def in_one_line(text: str) -> str:
    """The text with one space for any white space, also at its ends."""
    return _SPACE.sub(" ", seen(text))


def marked(text: str) -> str:
    """The text with a ``MARK`` before each character that would mean something else in Markdown."""
    return _MEANS_MORE.sub(f"{MARK}\\g<0>", text)


def written(markdown: str) -> str:
    """The converter's Markdown with what the marks stand for."""
    return markdown.replace(MARK, "\\").replace(PLAIN_BRACKET, "[")
