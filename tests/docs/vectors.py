"""The worked example of docs/reference/wire.md, made by the code.

The seeds of its two keys are the SHA-256 of the words "person" and "agent"; its nonces are fixed for once.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from agentweb.wire.grants import Mandate, encode_chain, grant_id, new_grant
from agentweb.wire.http_signature import sign_request
from agentweb.wire.signing import SigningKey, signing_input

PERSON = SigningKey.from_seed(hashlib.sha256(b"person").digest())
AGENT = SigningKey.from_seed(hashlib.sha256(b"agent").digest())
NONCE = "A" * 22
METHOD, AUTHORITY, PATH, QUERY = "POST", "shop.example", "/api/cart", "?ref=a%20b"
BODY = b'{"product_id":"sku-1","quantity":2}'


def grant() -> dict[str, Any]:
    return new_grant(
        issuer=PERSON,
        subject=AGENT.public,
        audience=AUTHORITY,
        scopes=["cart:*", "checkout"],
        mandate=Mandate("USD", 5_000, 20_000),
        delegate=1,
        not_before=1_790_000_000,
        expires=1_790_086_400,
        nonce=NONCE,
    )


def headers() -> dict[str, str]:
    """Of the signed request, in the order of the page."""
    sent = {
        "Content-Type": "application/json",
        "Agent-Grant": grant_id(grant()),
        "Idempotency-Key": "6f1d2c1e-0000-4000-8000-000000000001",
    }
    signature = sign_request(
        method=METHOD,
        url=f"https://{AUTHORITY}{PATH}{QUERY}",
        body=BODY,
        key=AGENT,
        headers=sent,
        created=1_790_000_100,
        lifetime=60,
        nonce=NONCE,
    )
    return {**sent, **signature}


def signature_base() -> str:
    """RFC 9421 2.5, put together here and not by the code that signs, so that the two are compared."""
    sent = headers()
    params = sent["Signature-Input"].removeprefix("agent=")
    lines = [
        f'"@method": {METHOD}',
        f'"@authority": {AUTHORITY}',
        f'"@path": {PATH}',
        f'"@query": {QUERY}',
        f'"content-digest": {sent["Content-Digest"]}',
        f'"content-type": {sent["Content-Type"]}',
        f'"agent-grant": {sent["Agent-Grant"]}',
        f'"idempotency-key": {sent["Idempotency-Key"]}',
        f'"@signature-params": {params}',
    ]
    return "\n".join(lines)


def request() -> str:
    """The request as it goes over the wire, without the headers that HTTP itself adds."""
    lines = [f"{METHOD} {PATH}{QUERY} HTTP/1.1", f"Host: {AUTHORITY}"]
    lines += [f"{name}: {value}" for name, value in headers().items()]
    return "\n".join([*lines, "", BODY.decode()])


def texts() -> dict[str, str]:
    """What the page shows, by name."""
    document = grant()
    return {
        "grant": json.dumps(document, indent=2),
        "signing input": signing_input(document, "agent-grant/0.1").decode(),
        "header": encode_chain([document]),
        "base": signature_base(),
        "request": request(),
    }
