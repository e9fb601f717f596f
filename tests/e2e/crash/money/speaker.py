"""Signed calls of actions over one connection."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from agentweb.wire import clock
from agentweb.wire.encoding import new_nonce
from agentweb.wire.http_signature import sign_request
from agentweb.wire.signing import SigningKey
from tests.e2e.crash.speaker import Signed, Speaker

SITE: Final = "shop.example"
ORIGIN: Final = f"https://{SITE}"
_LIFETIME: Final = 300
"""Of a signature: its seconds are short, see ``haste``."""


class Buying(Speaker):
    """``grant`` is the header of a call, ``key`` its Idempotency-Key."""

    def call(self, key: SigningKey, target: str, value: Any, *, grant: str, idempotency_key: str) -> Signed:
        """A new attempt with a fresh nonce."""
        body = json.dumps(value).encode()
        headers = {
            "Content-Type": "application/json",
            "Agent-Grant": grant,
            "Idempotency-Key": idempotency_key,
        }
        nonce = new_nonce()
        added = sign_request(
            method="POST",
            url=ORIGIN + target,
            body=body,
            key=key,
            headers=headers,
            created=int(clock.now()),
            lifetime=_LIFETIME,
            nonce=nonce,
        )
        return Signed("POST", target, body, {**headers, **added}, nonce, int(time.time()))
