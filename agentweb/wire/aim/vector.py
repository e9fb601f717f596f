"""The published test vector: what this implementation signs with two known keys, for others to compare.

Made by the code that makes real signatures, so it cannot differ from what is accepted.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, Final

from agentweb.wire.aim import keys, sealed
from agentweb.wire.aim.authorization import (
    EMPTY_BODY,
    body_digest,
    parse_header,
    sign_request,
    signing_string,
)
from agentweb.wire.aim.envelope import compose, read, sign
from agentweb.wire.aim.names import key_name
from agentweb.wire.aim.proof_of_work import ALGORITHM
from agentweb.wire.canonical import canonicalize
from agentweb.wire.encoding import b64url
from agentweb.wire.json_types import Json
from agentweb.wire.json_writing import dumps
from agentweb.wire.signing import SigningKey

_ALICE_SEED: Final = bytes(range(32))
_BOB_SEED: Final = bytes(range(32, 64))
_AUTHORITY: Final = "aim.example"
_TS: Final = 1_767_225_600
_NONCE: Final = b64url(bytes(range(16)))
_CHALLENGE: Final = "test-challenge"
_DIFFICULTY: Final = 16
_SOLUTION: Final = "153219"  # the smallest one: finding it takes a fifth of a second


@lru_cache(maxsize=1)
def signing_vector() -> dict[str, Any]:
    """The document of ``/docs/signing-vector.json``. Nobody may change it: the same object is given to everybody."""
    alice, bob = SigningKey.from_seed(_ALICE_SEED), SigningKey.from_seed(_BOB_SEED)
    fields = _fields()
    envelope = read(sign(fields, alice))
    # As some program might write it, not in the canonical form: what is signed here are the bytes that are sent.
    body = dumps({**fields, "sig": envelope.sig})
    return {
        "alice": _identity(alice),
        "bob": _identity(bob),
        "envelope": {
            "input": fields,
            "canonical_utf8": canonicalize(fields).decode("utf-8"),
            "sha256_hex": envelope.digest,
            "sig": envelope.sig,
            "signed_canonical_utf8": envelope.text,
        },
        "http": {
            **_request(alice, "POST", "/v2/messages", _AUTHORITY, body),
            "body_utf8": body.decode("utf-8"),
        },
        "http_get": _request(alice, "GET", "/v2/events?after=abc&limit=50", f"{_AUTHORITY}:8443", b""),
        "pow": _work(keys.public_of(alice)),
        "sealed": _sealed(alice, keys.public_of(bob)),
    }


def _identity(key: SigningKey) -> dict[str, Json]:
    public = keys.public_of(key)
    return {
        "seed_hex": key.seed.hex(),
        "public_key": public,
        "key_id": keys.key_id(public),
        "key_name": key_name(public),
        "x25519_public": keys.encryption_key(public),
    }


def _fields() -> dict[str, Json]:
    """Everything that implementations are known to differ in: order of names, forms of numbers, escapes."""
    numbers: list[Json] = [1, 1.0, -0.0, 1e21, 1e-7, 1e-6, 333333333.3333333, 2**53 - 1]
    body: dict[str, Json] = {
        "text": "héllo \u2028 😀",
        "n": numbers,
        "\ufffd": "bmp",
        "\U00010000": "astral",
        "z": None,
        "nested": {"b": True, "a": False},
    }
    return compose(
        f"alice@{_AUTHORITY}",
        "board:c-0000000000000000000000000a",
        body,
        id="01JGFJJZ00ABCDEFGHJKMNPQRS",
        ts="2026-01-01T00:00:00.000Z",
        reply_to="01JGFJJZ00ZZZZZZZZZZZZZZZZ",
        thread_id="01JGFJJZ00ZZZZZZZZZZZZZZZZ",
    )


def _request(key: SigningKey, method: str, target: str, authority: str, body: bytes) -> dict[str, Json]:
    header = sign_request(key, method, target, authority, body, ts=_TS, nonce=_NONCE)
    digest = body_digest(body) if body else EMPTY_BODY
    return {
        "method": method,
        "target": target,
        "authority": authority,
        "ts": _TS,
        "nonce": _NONCE,
        "body_sha256": digest,
        "signing_string": signing_string(method, target, authority, digest, _TS, _NONCE).decode("ascii"),
        "sig": b64url(parse_header(header).sig),
        "authorization": header,
    }


def _work(public: str) -> dict[str, Json]:
    text = f"AIM2-POW\n{_CHALLENGE}\n{public}\n{_SOLUTION}"
    return {
        "algorithm": ALGORITHM,
        "challenge": _CHALLENGE,
        "public_key": public,
        "difficulty": _DIFFICULTY,
        "solution": _SOLUTION,
        "sha256_hex": hashlib.sha256(text.encode("ascii")).hexdigest(),
    }


def _sealed(author: SigningKey, recipient: str) -> dict[str, Json]:
    fields = compose(
        f"alice@{_AUTHORITY}",
        f"bob@{_AUTHORITY}",
        {"text": "secret"},
        id="01JGFJJZ00SEALEDSEALEDSEAL",
        ts="2026-01-01T00:00:01.000Z",
    )
    ephemeral = hashlib.sha256(b"ephemeral").digest()
    return {
        "inner_signed": sign(fields, author),
        "ephemeral_seed": 'sha256("ephemeral")',
        "plaintext_len": 512,
        "outer": sealed.seal_for_vector(fields, author, recipient, ephemeral),
    }
