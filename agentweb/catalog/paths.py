"""Paths of actions: ``/api/cart`` or ``/orders/{id}``, where ``{id}`` takes the input of that name."""

from __future__ import annotations

import re
from typing import Final

HINT: Final = (
    "Write a path like '/api/cart' or '/orders/{id}': a slash first, a parameter fills a whole segment."
)
MAX_LENGTH: Final = 200

_PARAMETER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
# RFC 3986 3.3 pchar without percent-encoding, so that a path has one spelling.
_SEGMENT: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@-]+")


def parameters_of(path: str) -> tuple[str, ...]:
    """The names in braces, in order."""
    return tuple(_PARAMETER.findall(path))


def problem_of(path: object) -> str | None:
    """What is wrong with a declared path, or None."""
    if not isinstance(path, str):
        return "is not a string"
    if not path.startswith("/"):
        return "does not begin with a slash"
    if len(path) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    segments = path[1:].removesuffix("/").split("/")
    for segment in segments:
        if not segment:
            return "has an empty segment" if path != "/" else "is the site's front page"
        if segment in {".", ".."}:
            return "has a dot segment"
        if "{" in segment or "}" in segment:
            if _PARAMETER.fullmatch(segment) is None:
                return f"has the segment {segment!r}, which is not one parameter"
        elif _SEGMENT.fullmatch(segment) is None:
            return f"has a character that does not belong into a path, in {segment!r}"
    names = parameters_of(path)
    if len(set(names)) != len(names):
        return "has a parameter twice"
    return None
