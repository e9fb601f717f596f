"""An agent that knows nothing of a site but its manifest: one entry, one request."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

from django.http import HttpResponse

from agentweb.testing import TestAgent
from agentweb.wire.encoding import random_id
from tests.support.web import send

MANIFEST = "/.well-known/agent-actions.json"


def manifest() -> dict[str, Any]:
    """The site's manifest, fetched by nobody in particular."""
    answer = send("GET", MANIFEST)
    assert answer.status_code == 200, answer.content
    document: dict[str, Any] = json.loads(answer.content)
    return document


def entry_of(name: str) -> dict[str, Any]:
    """The only entry of this name."""
    [entry] = [entry for entry in manifest()["actions"] if entry["name"] == name]
    return entry


def carry_out(agent: TestAgent, entry: dict[str, Any], value: dict[str, Any]) -> HttpResponse:
    """The one request that an entry describes, for this input."""
    rest = dict(value)
    path = "/".join(
        quote(str(rest.pop(segment[1:-1])), safe="") if segment.startswith("{") else segment
        for segment in entry["path"].split("/")
    )
    key = None if entry["effect"] == "read" else random_id("key_")
    if entry["method"] in {"GET", "DELETE"}:
        query = f"?{urlencode(rest, quote_via=quote)}" if rest else ""
        return agent.request(entry["method"], path + query, key=key)
    return agent.request(entry["method"], path, rest, key=key)
