"""Replay: every signature's nonce is accepted once. One store for every protocol with signed requests."""

from __future__ import annotations

from typing import Final

from agentweb.access.models import Nonce
from agentweb.access.rows import insert_if_absent
from agentweb.wire.clock import from_unix
from agentweb.wire.errors import AuthenticationError, Code

MARGIN_SECONDS: Final = 60
"""How long a nonce is kept after its signature ended: clocks of several servers differ."""


def burn(key: str, nonce: str, expires: float) -> None:
    """Use up ``nonce`` of ``key`` until the signature's end (Unix seconds) and a margin; commits nothing.

    The unique pair in the database decides: of any number of racing calls, in any number of processes,
    exactly one returns. The others raise ``request_replayed``.
    """
    row = Nonce(key=key, nonce=nonce, expires_at=from_unix(expires + MARGIN_SECONDS))
    if not insert_if_absent([row]):
        raise AuthenticationError(
            Code.REQUEST_REPLAYED,
            "This nonce was used before. Sign again with a new nonce; keep the Idempotency-Key if you repeat "
            "the same intent.",
        )
