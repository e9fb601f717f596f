"""The code of a refusal that is the site's own: its own word, else one by the status."""

from __future__ import annotations

import re
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from agentweb.wire.errors import Code

_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SAYS_NOTHING: Final = frozenset({"error", "invalid"})
_BY_STATUS: Final = {
    406: Code.NOT_ACCEPTABLE,
    413: Code.PAYLOAD_TOO_LARGE,
    414: "uri_too_long",
    415: Code.UNSUPPORTED_MEDIA_TYPE,
    416: "range_not_satisfiable",
}
"""Codes that are ours, and those of phrases that Python spells by its version."""


def own_code(code: object) -> str | None:
    """The code that a site gave its refusal, when it says more than that there is an error.

    None for one of ours too: it has a meaning on the wire that the site's need not have.
    """
    is_own = isinstance(code, str) and _CODE.fullmatch(code) and code not in _SAYS_NOTHING
    return str(code) if is_own and code not in set(Code) else None


def code_of_status(status: int) -> str:
    """A code for a status that has none here: 410 is ``gone``."""
    known: Any = _BY_STATUS.get(status)
    if known is not None:
        return str(known)
    with suppress(ValueError):
        return re.sub(r"[^a-z0-9]+", "_", HTTPStatus(status).phrase.lower()).strip("_")
    return "refused"
