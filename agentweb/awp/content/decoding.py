"""The text of an HTML page from its bytes: which encoding it has, as browsers find it out (WHATWG HTML 13.2.3).

A byte order mark says it before anything else, then HTTP's header, then the page's ``<meta>``. Without any of these it
is UTF-8 if it can be, else Windows-1252, which every sequence of bytes is. Bytes that are wrong become U+FFFD.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META: Final = re.compile(
    rb"<meta\s[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE
)
_META_WITHIN: Final = 1_024
# What pages mean that say so: browsers read the first as the second.
_MEANT: Final = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
}
_FOREIGN: Final = re.compile("[^\x00-\x7f]")
_FEW: Final = 10
# Of the encodings that Python knows, those that are no text, or with which bytes could be made to say something else.
_REFUSED: Final = frozenset(
    {"utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}
)


def decoded(body: bytes, charset: str = "") -> str:
    """The text; ``charset`` is HTTP's, empty where it has none. One that nobody knows is as good as none."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    said = _known(charset) or _declared(body)
    if said is not None:
        return body.decode(said, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return _guessed(body)


def _guessed(body: bytes) -> str:
    """UTF-8 with a few bytes that are wrong, or else Windows-1252, in which whole words of it would be wrong."""
    text = body.decode(errors="replace")
    wrong = text.count("\ufffd")
    right = sum(1 for _ in _FOREIGN.finditer(text)) - wrong
    return text if right > _FEW * wrong else body.decode("cp1252", "replace")


def _declared(body: bytes) -> str | None:
    match = _META.search(body[:_META_WITHIN])
    found = _known(match[1].decode("ascii")) if match else None
    # It was read as ASCII, so it is none of those.
    return "utf-8" if found is not None and found.startswith(("utf-16", "utf-32")) else found


def _known(charset: str) -> str | None:
    """Python's name of an encoding of texts; None where it is none."""
    try:
        found = codecs.lookup(charset.strip())
    except (LookupError, ValueError):
        return None
    if found.name in _REFUSED or not getattr(found, "_is_text_encoding", True):
        return None
    return _MEANT.get(found.name, found.name)
