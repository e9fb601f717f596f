"""Addresses in a page, as an agent that has only the text of it can follow them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import urljoin, urlsplit, urlunsplit

_SCHEMES: Final = frozenset({"http", "https", "mailto", "tel"})
# WHATWG URL 4.4: tabs and line ends are left out, controls and spaces at the ends too.
_LEFT_OUT: Final = re.compile(r"[\t\n\r]")
_ENDS: Final = "".join(map(chr, range(0x21)))
# What would end an address in Markdown, or change what is around it.
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f-\xa0<>\"\\^`{|}\u2028\u2029]")
MAX_LENGTH: Final = 2_000
# A path from the site's root in which nothing is to be resolved or escaped: most links of most pages.
_PLAIN_PATH: Final = re.compile(r"/(?:[\w~%+=&,-][\w.~%+=&,-]*/)*(?:[\w~%+=&,-][\w.~%+=&,-]*)?", re.ASCII)


def absolute(href: str, base: str) -> str | None:
    """The whole address, without a user's name and password; None where it leads nowhere that an agent could go.

    Leading nowhere are scripts and data, and what is no address or a very long one.
    """
    if _PLAIN_PATH.fullmatch(href) and (root := _root(base)) is not None:
        found = root + href
        return found if len(found) <= MAX_LENGTH else None
    try:
        parts = urlsplit(urljoin(base, _LEFT_OUT.sub("", href).strip(_ENDS)))
        if parts.scheme not in _SCHEMES:
            return None
        if parts.scheme in {"http", "https"}:
            if not parts.hostname:
                return None
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    except ValueError:
        return None
    found = _UNSAFE.sub(_escaped, urlunsplit(parts))
    return _balanced(found) if len(found) <= MAX_LENGTH else None


@lru_cache(maxsize=64)
def _root(base: str) -> str | None:
    """What a path from the site's root follows; None where ``base`` is on no web site."""
    found = absolute(base, "")
    if found is None or not found.startswith("http"):
        return None
    return urlunsplit(urlsplit(found)._replace(path="", query="", fragment=""))


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def _balanced(url: str) -> str:
    """Brackets stay as they are in ``/wiki/Tea_(drink)``; others would end the link."""
    depth = 0
    for char in url:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
    return url if depth == 0 else url.replace("(", "%28").replace(")", "%29")
