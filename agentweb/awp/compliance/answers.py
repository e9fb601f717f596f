"""Whether an answer is what the endpoint contracts ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agentweb.awp import protocol
from agentweb.awp.compliance.problems import Problem, Severity
from agentweb.awp.compliance.reading import shown
from agentweb.awp.compliance.site import Reply

CACHED: Final = f"public, max-age={protocol.MAX_AGE}"

_SPACES: Final = re.compile(r"\s+")


def absent(reply: Reply, what: str, fix: str, severity: Severity = Severity.ERROR) -> Iterator[Problem]:
    """A problem unless the answer is 200."""
    if reply.status != 200:
        yield Problem(severity, "status", f"{what} {reply.said}.", fix, address=reply.address)


def wrong_type(
    reply: Reply, media_type: str, severity: Severity = Severity.ERROR, *, others: tuple[str, ...] = ()
) -> Iterator[Problem]:
    """A problem unless the Content-Type is this one in UTF-8; ``others`` will do too."""
    given = reply.header("content-type") or ""
    wanted = [f"{each}; charset=utf-8" for each in (media_type, *others)]
    if _plain(given) not in [_plain(each) for each in wanted]:
        yield Problem(
            severity,
            "content_type",
            f"Its Content-Type is {shown(given)}." if given else "It has no Content-Type.",
            f"Send Content-Type: {wanted[0]}.",
            address=reply.address,
        )


def not_cached(reply: Reply, severity: Severity = Severity.WARNING) -> Iterator[Problem]:
    """A problem unless the answer may be kept by every cache for the time that the contract names."""
    given = reply.header("cache-control") or ""
    if _plain(given) != _plain(CACHED):
        yield Problem(
            severity,
            "cache_control",
            f"Its Cache-Control is {shown(given)}." if given else "It has no Cache-Control.",
            f"Send Cache-Control: {CACHED}.",
            address=reply.address,
        )


def _plain(value: str) -> str:
    """A header's value for comparison: case, quotes and spaces mean nothing in these."""
    return _SPACES.sub("", value).replace('"', "").lower()
