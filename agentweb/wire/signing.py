"""Ed25519 keys and signed documents. PyNaCl (libsodium) is the only implementation: the strictest at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from nacl.bindings import crypto_core_ed25519_is_valid_point
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey as _NaclSigningKey
from nacl.signing import VerifyKey

from agentweb.wire.canonical import CanonicalError, canonicalize
from agentweb.wire.encoding import b64url, b64url_decode

PREFIX: Final = "ed25519:"
_KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64


class SigningKey:
    """An Ed25519 key pair. Its ``repr`` shows the public half only."""

    __slots__ = ("_key", "public", "thumbprint")

    def __init__(self, key: _NaclSigningKey) -> None:
        self._key = key
        self.public: str = PREFIX + b64url(bytes(key.verify_key))
        self.thumbprint: str = thumbprint(self.public)

    @classmethod
    def generate(cls) -> SigningKey:
        """A new random key."""
        return cls(_NaclSigningKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> SigningKey:
        """The key of a 32-byte seed (RFC 8032); ValueError for another length."""
        if not isinstance(seed, bytes) or len(seed) != _KEY_BYTES:
            raise ValueError(f"An Ed25519 seed is {_KEY_BYTES} bytes.")
        return cls(_NaclSigningKey(seed))

    @property
    def seed(self) -> bytes:
        """The 32 secret bytes."""
        return bytes(self._key)

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature of ``message``; deterministic."""
        return self._key.sign(message).signature

    def __repr__(self) -> str:
        return f"<SigningKey {self.public}>"


def parse_public_key(text: str) -> bytes:
    """The 32 bytes of ``"ed25519:<43 base64url>"``.

    Raises ValueError unless the spelling is canonical and the bytes are a point of the main subgroup: keys of
    small or mixed order verify signatures that their holder never made.
    """
    if not isinstance(text, str):
        raise ValueError(f"A public key is text, not {type(text).__name__}.")
    return bytes(_verify_key(text))


# Point checks and decoding cost as much as a verification, and the same agents call again and again.
@lru_cache(maxsize=4096)
def _verify_key(text: str) -> VerifyKey:
    try:
        if not text.startswith(PREFIX):
            raise ValueError(text)
        data = b64url_decode(text[len(PREFIX) :], length=_KEY_BYTES)
    except ValueError:
        raise ValueError('A public key is written "ed25519:" and 43 base64url characters.') from None
    if not crypto_core_ed25519_is_valid_point(data):
        raise ValueError("The public key is not a point of Ed25519's main subgroup.")
    return VerifyKey(data)


def verify(public: str, message: bytes, signature: bytes) -> bool:
    """Did the key sign the message? False, never an exception, for a bad key or a bad signature."""
    # Checked here: VerifyKey.verify() takes the signature from the message when it gets none.
    if not isinstance(signature, bytes) or len(signature) != _SIGNATURE_BYTES or not isinstance(public, str):
        return False
    try:
        _verify_key(public).verify(message, signature)
    except (BadSignatureError, ValueError):
        return False
    return True


def thumbprint(public: str) -> str:
    """The RFC 7638 SHA-256 thumbprint of the key as an OKP JWK (RFC 8037), 43 base64url characters."""
    x = b64url(parse_public_key(public))
    # RFC 7638 section 3: required members only, sorted, without white space.
    return b64url(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest())


def jwk(public: str, not_after: int | None = None) -> dict[str, Any]:
    """``{"kid", "kty", "crv", "x", "not_after"?}``; ``kid`` is the thumbprint, ``not_after`` Unix seconds."""
    key: dict[str, Any] = {
        "kid": thumbprint(public),
        "kty": "OKP",
        "crv": "Ed25519",
        "x": public.removeprefix(PREFIX),
    }
    if not_after is not None:
        key["not_after"] = not_after
    return key


def signing_input(document: Mapping[str, Any], label: str) -> bytes:
    """``label``, a line feed and the canonical document without its ``sig``.

    The label separates domains: a signature under one label is none under another. Raises CanonicalError.
    """
    unsigned = {name: value for name, value in document.items() if name != "sig"}
    return label.encode("ascii") + b"\n" + canonicalize(unsigned)


def sign_document(document: Mapping[str, Any], key: SigningKey, *, label: str) -> dict[str, Any]:
    """A copy of the document with ``sig`` (86 base64url characters) as its last member."""
    unsigned = {name: value for name, value in document.items() if name != "sig"}
    return {**unsigned, "sig": b64url(key.sign(signing_input(unsigned, label)))}


def document_signature_is_valid(document: Mapping[str, Any], public: str, label: str) -> bool:
    """Is ``sig`` the key's signature of this document under this label? Never raises for a bad document."""
    try:
        signature = b64url_decode(document.get("sig", ""), length=_SIGNATURE_BYTES)
        message = signing_input(document, label)
    except (CanonicalError, ValueError):
        return False
    return verify(public, message, signature)
