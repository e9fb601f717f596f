"""Cursors of a search: how far somebody has read its results.

One is base64url of a byte for the kind of list, of digests of the query and of the last result that was given, and of
how many were given. Where that result is now, the next page goes on behind it, so what comes or goes meanwhile moves
nobody by one; where it is gone, behind as many. A cursor of another query, or of another list of this site, is refused.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

from agentweb.wire.encoding import b64url, b64url_decode
from agentweb.wire.errors import Code, RequestError

# The messenger's cursors begin with 0x10 to 0x15.
PAGES: Final = 0x20
ACTIONS_OF_SITES: Final = 0x21
_SHAPE: Final = struct.Struct(">B8sH8s")
LENGTH: Final = 26
"""Characters of a cursor."""


@dataclass(frozen=True, slots=True)
class Place:
    """After ``given`` results, of which ``last`` is the digest of the last one's name."""

    given: int
    last: bytes

    @classmethod
    def after(cls, given: int, name: str) -> Place:
        return cls(given, _digest(name))

    def is_at(self, name: str) -> bool:
        """Whether the result of this name is the last that was given."""
        return self.last == _digest(name)


def write(kind: int, query: str, place: Place) -> str:
    """The cursor of a place in the results of a query."""
    return b64url(_SHAPE.pack(kind, _digest(query), place.given, place.last))


def read(kind: int, query: str, cursor: str) -> Place:
    """The place that a cursor names. Raises invalid_cursor for one that was not given for this query."""
    try:
        if len(cursor) != LENGTH:
            raise ValueError
        its_kind, digest, given, last = _SHAPE.unpack(b64url_decode(cursor))
    except (ValueError, struct.error):
        raise _invalid("This is no cursor of a search") from None
    if its_kind != kind:
        raise _invalid("This is no cursor of a search")
    if digest != _digest(query):
        raise _invalid("This cursor belongs to another query")
    return Place(given, last)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:8]


def _invalid(what: str) -> RequestError:
    return RequestError(
        Code.INVALID_CURSOR,
        f"{what}; send next_cursor of the page before exactly as it came, with the same q, or no cursor.",
        field="cursor",
    )
