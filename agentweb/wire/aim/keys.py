"""Public keys as the messenger writes them: 43 base64url characters, without the prefix of the other rooms."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from nacl.bindings import crypto_sign_ed25519_pk_to_curve25519

from agentweb.wire import signing
from agentweb.wire.encoding import b64url, b64url_decode
from agentweb.wire.signing import PREFIX, SigningKey

_KEY_BYTES: Final = 32
_KEY_ID_BYTES: Final = 16


def public_of(key: SigningKey) -> str:
    """The key's public half: 43 base64url characters."""
    return key.public.removeprefix(PREFIX)


def parse_public(text: str) -> bytes:
    """The 32 bytes of a public key. Raises ValueError unless it is written in the one canonical way and is a point
    of the main subgroup: keys of small or mixed order verify what their holder never signed."""
    if not isinstance(text, str):
        raise ValueError(f"A public key is text, not {type(text).__name__}.")
    try:
        b64url_decode(text, length=_KEY_BYTES)
    except ValueError:
        raise ValueError("A public key is written as 43 base64url characters.") from None
    return signing.parse_public_key(PREFIX + text)


def verify(public: str, message: bytes, signature: bytes) -> bool:
    """Did the key sign the message? False, never an exception, for a bad key or a bad signature."""
    return isinstance(public, str) and signing.verify(PREFIX + public, message, signature)


def key_id(public: str) -> str:
    """A short name of the key: 22 base64url characters, the first half of its SHA-256."""
    return b64url(hashlib.sha256(parse_public(public)).digest()[:_KEY_ID_BYTES])


@lru_cache(maxsize=4096)
def encryption_key(public: str) -> str:
    """The X25519 key (43 base64url characters) to which messages for the key's holder are sealed. ValueError as
    ``parse_public``."""
    return b64url(crypto_sign_ed25519_pk_to_curve25519(parse_public(public)))
