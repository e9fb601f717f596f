"""What a view says of its methods for ``/openapi.json``: declared beside the code that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentweb.wire.errors import Code

SIGNED: Final = "signed"
OPTIONAL: Final = "optional"
"""Nobody has to sign; who does, has to do it well."""

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
ALWAYS: Final = (
    Code.INVALID_PARAMETER,
    Code.INVALID_UNICODE,
    Code.TOKEN_IN_URL,
    Code.MALFORMED_JSON,
    Code.TOO_LARGE,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.LENGTH_REQUIRED,
)
"""Of any request: its query, and a body that is cut short or too long."""
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
    the request is signed or need not be. ``codes`` are those of its errors beside the usual ones.
    """

    ident: str
    summary: str
    answers: Mapping[int, str]
    auth: str = SIGNED
    query: Mapping[str, Any] | None = None
    body: str | None = None
    is_body_required: bool = True
    codes: tuple[Code, ...] = ()

    def all_codes(self) -> list[Code]:
        """Every code that it may answer with, sorted."""
        found = {*ALWAYS, *LIMITED, *SIGNATURE, *self.codes}
        if self.auth == OPTIONAL:
            found.discard(Code.AUTHORIZATION_REQUIRED)
        if self.body is not None:
            found |= set(BODY)
        return sorted(found)
