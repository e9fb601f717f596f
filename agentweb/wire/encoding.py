"""base64url in its one canonical spelling, and the random names made with it."""

from __future__ import annotations

import binascii
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]*")
_ID_BYTES: Final = 16


def b64url(data: bytes) -> str:
    """Base64url without padding (RFC 4648 section 5)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def b64url_decode(text: str, *, length: int | None = None) -> bytes:
    """The bytes of a canonical, unpadded base64url text; ``length`` is the number of bytes demanded.

    Raises ValueError for padding, foreign characters, non-zero trailing bits and a wrong length: two texts
    never decode to the same bytes, so a key or a signature has one spelling only.
    """
    if not isinstance(text, str) or not _ALPHABET.fullmatch(text):
        raise ValueError("Base64url is written with A-Z, a-z, 0-9, '-' and '_' only, without padding.")
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise ValueError(f"No base64url text has {len(text)} characters.") from None
    # The standard decoder ignores the unused low bits of the last character: "QQ" and "QR" are one byte.
    if b64url(data) != text:
        raise ValueError("The base64url text is not canonical: its unused last bits are not zero.")
    if length is not None and len(data) != length:
        raise ValueError(f"The base64url text holds {len(data)} bytes instead of {length}.")
    return data


def random_id(prefix: str) -> str:
    """A fresh identifier: ``prefix`` followed by 22 base64url characters (128 random bits)."""
    return prefix + b64url(secrets.token_bytes(_ID_BYTES))


def new_nonce() -> str:
    """A fresh nonce: 22 base64url characters (128 random bits)."""
    return b64url(secrets.token_bytes(_ID_BYTES))
