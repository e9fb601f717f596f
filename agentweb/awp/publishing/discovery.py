"""The discovery manifest, ``/.well-known/agentic-web-protocol.json``: the members of the specification's schema.

It is checked against that schema before anybody gets it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from agentweb.awp import discovery_schema, protocol
from agentweb.awp.publishing import description
from agentweb.awp.publishing.facts import Facts
from agentweb.wire.errors import Code, ServerError

_MINUTE: Final = 60
_DAY: Final = 86_400
_METHODS: Final = {"agent_actions": "agent-grant", "invoke": "bearer", "aim": "aim-signature"}
"""How a caller of each room says who it is."""


def manifest(facts: Facts) -> dict[str, Any]:
    """The document, as it is to be checked. Nothing in it is declared: each member says what answers."""
    document: dict[str, Any] = {
        "version": protocol.VERSION,
        "name": description.name(facts),
        "description": description.description(facts).text,
        "capabilities": capabilities(facts),
        "endpoints": _endpoints(facts),
        "authentication": _authentication(facts),
    }
    limits = rate_limits(facts.anonymous_rate, facts.caller_rate)
    if limits:
        document["rate_limits"] = limits
    document["llms_txt"] = f"/{protocol.LLMS}"
    if facts.content.updated_at is not None:
        document["updated_at"] = moment(facts.content.updated_at)
    return document


def capabilities(facts: Facts) -> list[str]:
    """What is really on, in the order of the schema. A site that has nothing else still says what it is: content."""
    found = {
        "content": bool(facts.content.pages or facts.pages),
        "api": bool(facts.actions),
        "search": "awp_search" in facts.doors,
        "mcp": "mcp" in facts.doors,
        "analytics": "awp_analytics" in facts.doors,
    }
    return [capability for capability, is_on in found.items() if is_on] or ["content"]


def rate_limits(*rates: tuple[float, int]) -> dict[str, int]:
    """How many requests pass whatever their moments, under each of these limits ``(steady requests a second, burst)``.

    A bucket that lets 60 through at once and then 2 a second is sure to let through 60 in a minute, not 120: an agent
    that counts by the minute may send them all in its first second. Public documents are not counted at all.
    """
    by_minute = min(int(min(burst, steady * _MINUTE)) for steady, burst in rates)
    if by_minute:
        return {"requests_per_minute": by_minute}
    by_day = min(int(min(burst, steady * _DAY)) for steady, burst in rates)
    return {"requests_per_day": by_day} if by_day else {}


def problems(document: dict[str, Any]) -> list[dict[str, Any]]:
    """What of it the schema does not allow."""
    return discovery_schema.compiled().problems(document)[0]


def checked(document: dict[str, Any]) -> dict[str, Any]:
    """The document. Raises 500 ``manifest_invalid``, with the problems for the log alone."""
    found = problems(document)
    if found:
        listed = "; ".join(f"{each['pointer'] or '/'} {each['message']}" for each in found)
        raise ServerError(
            Code.MANIFEST_INVALID,
            "The site's manifest is not as the protocol wants it, so it is not served. Report the request id.",
            debug=f"The AWP manifest is not valid: {listed}. `manage.py check` says what to change.",
        )
    return document


def moment(at: datetime) -> str:
    """RFC 3339 in UTC."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _endpoints(facts: Facts) -> dict[str, str]:
    found = {
        "manifest": facts.path(protocol.MANIFEST),
        "content": facts.path(protocol.STRUCTURE),
    }
    if facts.actions:
        found["api"] = facts.path(protocol.FUNCTIONS)
    if "mcp" in facts.doors:
        found["mcp"] = facts.doors["mcp"]
    return found


def _authentication(facts: Facts) -> dict[str, Any]:
    """Content asks for none; actions say each for itself."""
    found: dict[str, Any] = {"required": False}
    methods = [method for door, method in _METHODS.items() if door in facts.doors]
    if methods:
        found["methods"] = methods
        if facts.registration is not None:
            found["registration"] = facts.registration
    return found
