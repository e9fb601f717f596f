"""What the specification recommends of a manifest beyond its schema: one function each, for report and validator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from agentweb.awp import protocol
from agentweb.wire.clock import now_datetime

Manifest = Mapping[str, Any]

FRESH: Final = timedelta(days=30)
_HERE: Final = "with agentweb `manage.py agentweb_content` does so"
AHEAD: Final = timedelta(days=1)
"""How far clocks may differ."""


@dataclass(frozen=True, slots=True)
class Remark:
    """``pointer`` is the member that is missing or could be better."""

    pointer: str
    code: str
    message: str
    fix: str


def content_endpoint(manifest: Manifest) -> Iterator[Remark]:
    endpoints = manifest.get("endpoints")
    if not isinstance(endpoints, dict) or not isinstance(endpoints.get("content"), str):
        yield Remark(
            "/endpoints/content",
            "recommended",
            "'endpoints.content' is not given: agents do not learn where the site's content is listed.",
            f'Add "content": "/{protocol.STRUCTURE}" to endpoints.',
        )


def freshness(manifest: Manifest) -> Iterator[Remark]:
    """``updated_at`` in the last 30 days, and not in the future."""
    moment = updated_at(manifest)
    if moment is None:
        yield Remark(
            "/updated_at",
            "recommended",
            "'updated_at' is not given as a date with time.",
            f'Add "updated_at": "{_example()}", and renew it whenever the content is looked through; {_HERE}.',
        )
        return
    age = now_datetime() - moment
    if age > FRESH:
        yield Remark(
            "/updated_at",
            "stale",
            f"'updated_at' is {age.days} days ago; agents take a site for kept up for {FRESH.days} days.",
            f"Renew it whenever the content is looked through; {_HERE}.",
        )
    elif -age > AHEAD:
        yield Remark(
            "/updated_at",
            "future",
            "'updated_at' is in the future.",
            "Write when the content was last looked through, in UTC.",
        )


def updated_at(manifest: Manifest) -> datetime | None:
    """The moment of ``updated_at``; None for anything that is no RFC 3339 date with time and offset."""
    given = manifest.get("updated_at")
    if not isinstance(given, str):
        return None
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def authentication(manifest: Manifest) -> Iterator[Remark]:
    if not isinstance(manifest.get("authentication"), dict):
        yield Remark(
            "/authentication",
            "recommended",
            "'authentication' is not declared: agents do not learn whether they need any.",
            'Add "authentication": {"required": false} for a site that is open to all.',
        )


def rate_limits(manifest: Manifest) -> Iterator[Remark]:
    given = manifest.get("rate_limits")
    if not isinstance(given, dict) or not {"requests_per_minute", "requests_per_day"} & set(given):
        yield Remark(
            "/rate_limits",
            "recommended",
            "'rate_limits' is not declared: agents do not learn how much they may ask.",
            'Add "rate_limits": {"requests_per_minute": 60}, with the number that the site enforces.',
        )


ALL: Final[tuple[Callable[[Manifest], Iterator[Remark]], ...]] = (
    content_endpoint,
    freshness,
    authentication,
    rate_limits,
)


def _example() -> str:
    return now_datetime().strftime("%Y-%m-%dT%H:%M:%SZ")
