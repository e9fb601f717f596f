"""What a page says to robots of itself: in ``X-Robots-Tag`` or in ``<meta name="robots">``.

Everything that can be taken for noindex is: whatever separates it, whatever stands before it. Names of other robots,
and directives with values, are known so that nothing is taken for what it is not.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from agentweb.wire.clock import now_datetime

AGENT: Final = "agentweb"
"""The product token by which a site may speak of its content for agents alone; else what is said to all holds."""
NAMES: Final = frozenset({AGENT, "robots", "googlebot", "*"})
"""Who is told what holds here too: names of ``<meta>``, and of robots in a header."""

_NOT: Final = frozenset({"noindex", "none"})
_EXPIRES: Final = "unavailable_after"
# Directives that have a colon themselves, and are no names of robots.
_WITH_VALUE: Final = frozenset({"max-snippet", "max-image-preview", "max-video-preview"})
_NAME: Final = re.compile(r"[a-z*][a-z0-9_.*/-]*")
_SEPARATOR: Final = re.compile("[,;]")


def forbids_index(said: str, *, is_header: bool) -> bool:
    """Whether it says noindex to everybody or to us, or that the page was to be gone by now.

    Only in a header do names of robots stand before what they are told: ``otherbot: noindex`` is for others.
    """
    is_for_us = True
    pieces = [piece.strip() for piece in _SEPARATOR.split(said.lower())]
    for at, piece in enumerate(pieces):
        name, colon, value = (each.strip() for each in piece.partition(":"))
        if is_header and colon and name != _EXPIRES and name not in _WITH_VALUE and _NAME.fullmatch(name):
            is_for_us = name in NAMES
            name, colon, value = (each.strip() for each in value.partition(":"))
        if not is_for_us or (colon and name in _WITH_VALUE):
            continue
        if name == _EXPIRES:
            if _is_past(", ".join([value, *_rest_of_date(pieces[at + 1 :])])):
                return True
        elif not _NOT.isdisjoint(f"{name} {value}".split()):
            return True
    return False


def may_expire(body: bytes) -> bool:
    """Whether a page may say until when it is there: then the same page is another one later."""
    return _EXPIRES.encode() in body.lower()


def _rest_of_date(pieces: list[str]) -> list[str]:
    """``Wednesday, 25-Jun-2031 15:00:00 PST`` has a comma in it. A directive begins with a letter."""
    return pieces[:1] if pieces and pieces[0][:1].isdigit() else []


def _is_past(date: str) -> bool:
    """Of a date as in RFC 822, RFC 850 or ISO 8601; one that nobody can read is none."""
    try:
        at = datetime.fromisoformat(date.upper())
    except ValueError:
        try:
            at = parsedate_to_datetime(date)
        except (ValueError, IndexError, OverflowError):
            return False
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)) <= now_datetime()
