"""Cursors: opaque texts for a place in the log or in a list.

One is base64url of a byte for its version and kind and what the kind needs. A cursor of the log holds the log's epoch
and a position, and means what comes after that position. It needs no signature: what an agent may read is decided
when it reads. A list's cursor holds the place of the last item that was given, and is good for that kind of list only.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from agentweb.wire.encoding import b64url, b64url_decode
from agentweb.wire.errors import Code, RequestError

NOW: Final = "now"
"""Given in place of a cursor of the log: from the present on."""

EPOCH_BYTES: Final = 8
_POSITION_BYTES: Final = 8
_MAX_POSITION: Final = 2**63 - 1
_MAX_LENGTH: Final = 128
_VERSION: Final = 1 << 4


class Kind(IntEnum):
    """What a cursor is of."""

    EVENTS = 0
    PRIMARY = 1
    REQUESTS = 2
    CONVERSATION = 3
    THREAD = 4
    CONTACTS = 5


def event_cursor(epoch: str, position: int) -> str:
    """The cursor of a position of the log; ``epoch`` is 16 hex characters."""
    return b64url(
        bytes([_VERSION | Kind.EVENTS]) + bytes.fromhex(epoch) + position.to_bytes(_POSITION_BYTES, "big")
    )


def parse_event_cursor(text: str) -> tuple[str, int]:
    """Epoch and position of a cursor of the log. Raises invalid_cursor; whether they still hold, the log knows."""
    data = _decode(text, Kind.EVENTS)
    if len(data) != EPOCH_BYTES + _POSITION_BYTES:
        raise _invalid()
    return data[:EPOCH_BYTES].hex(), _position(data[EPOCH_BYTES:])


def page_cursor(kind: Kind, place: int | str) -> str:
    """The cursor after an item of a list, by its position in the log or by its name."""
    data = place.to_bytes(_POSITION_BYTES, "big") if isinstance(place, int) else place.encode()
    return b64url(bytes([_VERSION | kind]) + data)


def parse_position(kind: Kind, text: str) -> int:
    """The position in a list's cursor. Raises invalid_cursor, for a cursor of another kind too."""
    data = _decode(text, kind)
    if len(data) != _POSITION_BYTES:
        raise _invalid()
    return _position(data)


def parse_name(kind: Kind, text: str) -> str:
    """The name in a list's cursor. Raises invalid_cursor, for a cursor of another kind too."""
    data = _decode(text, kind)
    if not data.isascii() or b"\0" in data:
        raise _invalid()
    return data.decode("ascii")


def _decode(text: str, kind: Kind) -> bytes:
    # Never as if there were none: who lost its place would read everything anew, or miss something, without noticing.
    try:
        if len(text) > _MAX_LENGTH:
            raise ValueError
        data = b64url_decode(text)
    except ValueError:
        raise _invalid() from None
    if not data or data[0] != _VERSION | kind:
        raise _invalid()
    return data[1:]


def _position(data: bytes) -> int:
    position = int.from_bytes(data, "big")
    if position > _MAX_POSITION:
        raise _invalid()
    return position


def _invalid() -> RequestError:
    return RequestError(
        Code.INVALID_CURSOR,
        "This is no cursor that was given here for this list; send one exactly as it came, or none.",
    )
