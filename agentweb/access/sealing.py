"""Secrets at rest: sealed under a key that is derived from SECRET_KEY, so that a stolen database shows nothing.

A sealed text is ``"v1." + base64url(16 bytes of salt + SecretBox of the secret)``. It is bound to a name: text
that was sealed for one row does not open for another.
"""

from __future__ import annotations

import secrets
from typing import Final

from django.conf import settings
from django.utils.crypto import salted_hmac
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from agentweb.wire.encoding import b64url, b64url_decode

_PREFIX: Final = "v1."
_SALT_BYTES: Final = 16
_DOMAIN: Final = "agentweb.access.sealing.v1"


def secret_keys() -> tuple[str | bytes, ...]:
    """SECRET_KEY and then SECRET_KEY_FALLBACKS: what seals, and everything that may open."""
    return (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


def seal(secret: bytes, name: str) -> str:
    """``secret`` sealed under today's SECRET_KEY for ``name``; another text at every call."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return _PREFIX + b64url(salt + bytes(_box(secret_keys()[0], salt, name).encrypt(secret)))


def unseal(sealed: str, name: str, keys: tuple[str | bytes, ...]) -> bytes:
    """The secret that one of ``keys`` sealed for ``name``; ValueError when none of them did."""
    try:
        if not sealed.startswith(_PREFIX):
            raise ValueError("unknown version")
        data = b64url_decode(sealed.removeprefix(_PREFIX))
    except ValueError:
        raise ValueError("The sealed text is damaged.") from None
    salt, box = data[:_SALT_BYTES], data[_SALT_BYTES:]
    for key in keys:
        try:
            return _box(key, salt, name).decrypt(box)
        except CryptoError:
            continue
    raise ValueError("The sealed text does not open with SECRET_KEY or any of SECRET_KEY_FALLBACKS.")


def _box(key: str | bytes, salt: bytes, name: str) -> SecretBox:
    derived = salted_hmac(f"{_DOMAIN}:{name}:{salt.hex()}", "", secret=key, algorithm="sha256")
    return SecretBox(derived.digest())
