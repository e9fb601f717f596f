"""Documents that a site signs with a key of its manifest: whether a signature holds, and until when its key signed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentweb.wire.signing import PREFIX, document_signature_is_valid, thumbprint

Keys = Iterable[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]
"""A manifest's keys as they are listed, or as ``keys_by_id`` gives them: better for many documents."""


def keys_by_id(keys: Keys) -> Mapping[str, Mapping[str, Any]]:
    """The keys by their ``kid``; of several with one name the first, as when they are searched in order."""
    if isinstance(keys, Mapping):
        return keys
    found: dict[str, Mapping[str, Any]] = {}
    for key in keys:
        if isinstance(key.get("kid"), str):
            found.setdefault(key["kid"], key)
    return found


def what_is_wrong_with_key(document: Mapping[str, Any], keys: Keys, label: str, at: float) -> str | None:
    """Why a well-formed document's ``sig`` does not count at ``at``, or None.

    ``unknown_key``: none of the keys has its ``kid``; ``signature``: not that key's; ``key_retired``: the key had
    ended by then.
    """
    key = keys_by_id(keys).get(document["kid"])
    public = _public_key(key) if key is not None else None
    if key is None or public is None:
        return "unknown_key"
    if not document_signature_is_valid(document, public, label):
        return "signature"
    not_after = key.get("not_after")
    return "key_retired" if not_after is not None and at > not_after else None


def _public_key(key: Mapping[str, Any]) -> str | None:
    """The public key of a well-formed JWK whose ``kid`` really is its thumbprint; None for any other."""
    if key.get("kty") != "OKP" or key.get("crv") != "Ed25519" or not isinstance(key.get("x"), str):
        return None
    if not isinstance(key.get("not_after"), (int, type(None))):
        return None
    public = PREFIX + str(key["x"])
    try:
        return public if thumbprint(public) == key["kid"] else None
    except ValueError:
        return None
