"""What a view says of its methods for ``/openapi.json``: declared beside the code that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentweb.wire.errors import Code

NONE: Final = "none"
SIGNED: Final = "signed"
OPTIONAL: Final = "optional"

SIGNATURE: Final = (
    Code.AUTHORIZATION_REQUIRED,
    Code.MALFORMED_AUTHORIZATION,
    Code.CLOCK_SKEW,
    Code.BAD_SIGNATURE,
    Code.UNKNOWN_KEY,
    Code.KEY_ROTATED,
    Code.NONCE_REUSED,
    Code.AGENT_SUSPENDED,
    Code.AGENT_DELETED,
)
"""Of a request that has to be signed."""
ALWAYS: Final = (Code.INVALID_PARAMETER, Code.TOO_LARGE, Code.UNSUPPORTED_MEDIA_TYPE, Code.LENGTH_REQUIRED)
LIMITED: Final = (Code.RATE_LIMITED, Code.OVERLOADED)
BODY: Final = (
    Code.MALFORMED_JSON,
    Code.DUPLICATE_KEY,
    Code.INVALID_UNICODE,
    Code.NUMBER_OUT_OF_RANGE,
    Code.TOO_DEEP,
    Code.INVALID_INPUT,
)
CURSOR: Final = (Code.INVALID_CURSOR,)


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of a path.

    ``answers`` are schemas by status: the name of a component, or of a media type that is no JSON. ``auth``: whether
    the request is signed, need not be, or cannot be. ``codes`` are those of its errors beside the usual ones.
    """

    ident: str
    summary: str
    answers: Mapping[int, str]
    auth: str = SIGNED
    query: Mapping[str, Any] | None = None
    body: str | None = None
    is_body_required: bool = True
    codes: tuple[Code, ...] = ()
    described: str = field(default="", repr=False)

    def all_codes(self) -> list[Code]:
        """Every code that it may answer with, sorted."""
        found = {*ALWAYS, *LIMITED, *self.codes}
        if self.auth != NONE:
            found |= set(SIGNATURE)
        if self.auth == OPTIONAL:
            found.discard(Code.AUTHORIZATION_REQUIRED)
        if self.body is not None:
            found |= set(BODY)
        return sorted(found)
