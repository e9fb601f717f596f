"""Sealed messages: only the recipient can read them, and only the author can have written them.

Inside is a complete signed envelope; around it stands one of the type ``sealed`` with the same ``id``, ``from``,
``to``, ``ts``, ``reply_to`` and ``thread_id`` and the body ``{"alg": "x25519-sealedbox-1", "to_key", "ct"}``. ``ct``
is a libsodium sealed box for the X25519 form of the recipient's identity key, holding the RFC 8785 text of
``{"env": <the inner envelope>, "seal": {"v": 1, "to_key", "pad"}}``, padded with spaces to a multiple of 256 bytes.

A sealed box does not say who made it, so all four checks of ``open_sealed`` are needed: without them whoever can write
to somebody can do so in anybody's name, or pass on what was meant for another.

There is no forward secrecy: who gets the recipient's key reads everything ever sent to it. Who writes to whom, when,
and roughly how much, stays visible.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, cast

from nacl.bindings import (
    crypto_box,
    crypto_box_seal,
    crypto_box_seal_open,
    crypto_scalarmult_base,
    crypto_sign_ed25519_sk_to_curve25519,
)
from nacl.exceptions import CryptoError

from agentweb.wire.aim import keys
from agentweb.wire.aim.envelope import (
    SEALED,
    SEALED_ALGORITHM,
    Envelope,
    parse_request,
    read,
    sign,
    signature_is_valid,
)
from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url, b64url_decode
from agentweb.wire.errors import RequestError
from agentweb.wire.json_types import Json
from agentweb.wire.signing import SigningKey

__all__ = ["SEALED_ALGORITHM", "SealError", "open_sealed", "seal"]

_VERSION: Final = 1
_BLOCK: Final = 256
_BOUND: Final = ("id", "sender", "to", "ts", "reply_to", "thread_id")


class SealError(ValueError):
    """The sealed message must not be shown. ``reason`` says which check it failed: ``opening``, ``signature``,
    ``members``, ``recipient``."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def seal(fields: Mapping[str, Json], key: SigningKey, recipient: str) -> dict[str, Json]:
    """The sealed envelope, signed inside and outside, for unsigned ``fields`` (``envelope.compose``).

    ``recipient`` is the identity key of the agent in ``to``, 43 base64url characters. Raises RequestError for what no
    service would accept, too long ones among it, and ValueError for a recipient's key that is none.
    """
    return seal_for_vector(fields, key, recipient, ephemeral=None)


def seal_for_vector(
    fields: Mapping[str, Json], key: SigningKey, recipient: str, ephemeral: bytes | None
) -> dict[str, Json]:
    inner = sign(fields, key)
    box_key = b64url_decode(keys.encryption_key(recipient))
    plaintext = _padded(inner, recipient)
    ct = crypto_box_seal(plaintext, box_key) if ephemeral is None else _box(plaintext, box_key, ephemeral)
    outer = {name: member for name, member in inner.items() if name not in {"body", "type", "sig"}}
    body: dict[str, Json] = {"alg": SEALED_ALGORITHM, "to_key": recipient, "ct": b64url(ct)}
    return sign({**outer, "type": SEALED, "body": body}, key)


def open_sealed(outer: Envelope, key: SigningKey, sender: str) -> Envelope:
    """The envelope inside a sealed one. ``sender`` is the key registered for ``outer.sender``, from the service.

    Raises SealError unless all four checks hold: the box opens with ``key``; the inner signature is the sender's; the
    inner ``id``, ``from``, ``to``, ``ts``, ``reply_to`` and ``thread_id`` are the outer ones; it was sealed to ``key``.
    """
    own = keys.public_of(key)
    try:
        content = cast("Any", parse_request(_open(outer, key, own)))
        env, seal_members = content["env"], content["seal"]
        inner = read(env)
        to_key, version = seal_members["to_key"], seal_members["v"]
    except (CryptoError, RequestError, ValueError, KeyError, TypeError):
        raise SealError("opening", "The box does not open with this key, or holds no envelope.") from None
    if not signature_is_valid(inner, sender):
        raise SealError("signature", "The envelope inside is not signed with the sender's key.")
    if any(_member(inner, name) != _member(outer, name) for name in _BOUND):
        raise SealError("members", "The envelope inside is not the one that the outside speaks of.")
    if to_key != own or version != _VERSION:
        raise SealError("recipient", "The message was sealed to another key.")
    return inner


def _open(outer: Envelope, key: SigningKey, own: str) -> bytes:
    body = cast("dict[str, Any]", outer.body)
    if outer.type != SEALED:
        raise ValueError("The envelope is not sealed.")
    secret = crypto_sign_ed25519_sk_to_curve25519(key.seed + b64url_decode(own))
    return crypto_box_seal_open(b64url_decode(body["ct"]), b64url_decode(keys.encryption_key(own)), secret)


def _member(envelope: Envelope, name: str) -> object:
    # As it is spelled: two spellings of one instant are two texts to sign.
    return str(getattr(envelope, name)) if name != "ts" else envelope.ts_text


def _padded(inner: Mapping[str, Json], recipient: str) -> bytes:
    def text(pad: str) -> bytes:
        return canonicalize({"env": dict(inner), "seal": {"v": _VERSION, "to_key": recipient, "pad": pad}})

    return text(" " * (-len(text("")) % _BLOCK))


def _box(plaintext: bytes, recipient: bytes, ephemeral: bytes) -> bytes:
    """``crypto_box_seal`` with a given ephemeral secret: for test vectors only, it must never be used twice."""
    public = crypto_scalarmult_base(ephemeral)
    nonce = hashlib.blake2b(public + recipient, digest_size=24).digest()
    return public + crypto_box(plaintext, nonce, recipient, ephemeral)
