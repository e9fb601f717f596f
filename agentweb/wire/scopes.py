"""Scopes of actions and scope patterns of grants (AGENT_ACTIONS 2.4).

::

    segment = [a-z0-9] *[a-z0-9_.-]
    scope   = segment *4(":" segment)                ; what an action needs, never "*"
    pattern = "*" / segment *3(":" segment) ":*" / scope   ; what a grant gives

Matching is by whole segments and case-sensitive: ``cart:*`` covers ``cart:write`` and ``cart:item:add``, but
neither ``cart`` nor ``cartel:write``.
"""

from __future__ import annotations

import re
from typing import Final

MAX_LENGTH: Final = 100

_SEGMENT: Final = r"[a-z0-9][a-z0-9_.-]*"
_SCOPE: Final = re.compile(rf"{_SEGMENT}(?::{_SEGMENT}){{0,4}}")
_WILDCARD: Final = re.compile(rf"{_SEGMENT}(?::{_SEGMENT}){{0,3}}:\*")
_SPELLING: Final = (
    f"one to five segments of a-z, 0-9, '_', '.' and '-' (a letter or digit first), joined by ':', at most "
    f"{MAX_LENGTH} characters"
)


def check_scope(text: object) -> str:
    """The text itself if it is a scope that an action may need; else ValueError."""
    if not _is_scope(text):
        raise ValueError(f"A scope is {_SPELLING}.")
    return str(text)


def check_pattern(text: object) -> str:
    """The text itself if it is a pattern that a grant may hold; else ValueError."""
    if not _is_pattern(text):
        raise ValueError(f"A scope pattern is {_SPELLING}; '*' stands alone or as the last segment only.")
    return str(text)


def covers(pattern: str, scope: str) -> bool:
    """Does the pattern give the scope? False for a text that is not a pattern or not a scope."""
    return _is_scope(scope) and pattern_covers_pattern(pattern, scope)


def pattern_covers_pattern(parent: str, child: str) -> bool:
    """Does ``parent`` give every scope that ``child`` gives? False unless both are patterns."""
    if not _is_pattern(parent) or not _is_pattern(child):
        return False
    if parent in {"*", child}:
        return True
    # "cart:*" begins every scope and every narrower wildcard below it with "cart:", and nothing else does.
    return parent.endswith(":*") and child.startswith(parent[:-1])


def specificity(pattern: str) -> tuple[int, int]:
    """A sort key, narrowest first (2.7): exact, then wildcards from deep to shallow, then ``*``."""
    if pattern == "*":
        return (2, 0)
    if pattern.endswith(":*"):
        return (1, -pattern.count(":"))
    return (0, 0)


def _is_scope(text: object) -> bool:
    return isinstance(text, str) and len(text) <= MAX_LENGTH and _SCOPE.fullmatch(text) is not None


def _is_pattern(text: object) -> bool:
    if text == "*" or _is_scope(text):
        return True
    return isinstance(text, str) and len(text) <= MAX_LENGTH and _WILDCARD.fullmatch(text) is not None
