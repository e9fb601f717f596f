"""Slugs: what a page's content is called in its URL, readable, and never the same for two pages.

``/products/red-shoe/`` is ``products/red-shoe``, and the front page ``index``. A path that cannot be written so that it
could be told apart (capitals, other letters, a query, too long, a name that is taken) is written as far as it can be
read, and ends in ``~`` and a digest of the whole: no other slug has a ``~``. A path with and without a slash at its end
is one page, as everywhere in the catalog.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final
from urllib.parse import quote, unquote

from django.utils.text import slugify

from agentweb.awp.content.models import SLUG_LENGTH
from agentweb.awp.protocol import RESERVED_SLUGS

FRONT_PAGE: Final = "index"
PATTERN: Final = r"[a-z0-9_~][a-z0-9_.~/-]*"
"""What every slug matches; for the URLconf."""

_TAKEN: Final = RESERVED_SLUGS | {FRONT_PAGE}
_DIGEST: Final = 16
_READABLE: Final = SLUG_LENGTH - _DIGEST - 1
# No dot at an end, which some servers and file systems take away.
_PLAIN: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_-])?(?:/[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_-])?)*")
_NAMELESS: Final = "page"
# RFC 3986 3.3 and 3.4.
_SAFE_IN_PATH: Final = "/:@!$&'()*+,;=~"
_SAFE_IN_QUERY: Final = _SAFE_IN_PATH + "?"


def slug_of(path: str) -> str:
    """The slug of a page by the path of its URL, below the prefixes of the site's mount and of its language.

    ``path`` begins with a slash, is percent-encoded and may have a query. Spellings that mean one URL have one slug.
    """
    path, query = _normal(path)
    if path == "/" and not query:
        return FRONT_PAGE
    whole = path.strip("/")
    is_plain = not query and path == f"/{whole}" and len(whole) <= _READABLE and _PLAIN.fullmatch(whole)
    if is_plain and whole not in _TAKEN:
        return whole
    digest = hashlib.sha256(f"{path}?{query}".encode()).hexdigest()[:_DIGEST]
    return f"{_readable(path)}~{digest}"


def _normal(path: str) -> tuple[str, str]:
    """Path and query in one spelling of percent-encoding, the path without the slash at its end."""
    path, _, query = path.partition("?")
    path = quote(unquote(path, errors="surrogateescape"), safe=_SAFE_IN_PATH, errors="surrogateescape")
    query = re.sub("%[0-9a-fA-F]{2}", lambda found: found[0].upper(), quote(query, safe=_SAFE_IN_QUERY + "%"))
    return path.rstrip("/") or "/", query


def _readable(path: str) -> str:
    segments = (slugify(unquote(segment)) for segment in path.split("/"))
    found = "/".join(segment for segment in segments if segment)[:_READABLE].strip("/-")
    return found or _NAMELESS


def section_id(name: str) -> str:
    """What a section is called in a URL, from the name of a site map: letters, digits, ``-`` and ``_``."""
    return slugify(name)[:60].strip("-") or f"section-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
