"""Sites and manifests for the tests of the index."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from agentweb.client.crawling import About
from agentweb.client.listing import entries_of
from agentweb.client.manifest import read_manifest
from agentweb.index import store
from agentweb.index.models import IndexedEntry, IndexedPosting, IndexedSite, IndexedTerm
from agentweb.postings.keys import EVERY, key_of
from agentweb.wire.clock import now_datetime
from tests.support.web import send

FIND = "/agent-index/find"
MANIFESTS = "/agent-index/manifests"


def an_action(name: str, description: str = "", effect: str = "read", **members: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "method": "GET" if effect == "read" else "POST",
        "path": f"/agent/{name}",
        "effect": effect,
        **members,
    }


def a_manifest(site: str, *actions: dict[str, Any], flows: Any = ()) -> dict[str, Any]:
    return {"version": "agent-actions/0.1", "site": site, "actions": list(actions), "flows": list(flows)}


def keep(
    site: str, *actions: dict[str, Any], flows: Any = (), about: About | None = None, **columns: Any
) -> IndexedSite:
    """A site in the index, as a look at it leaves it."""
    document, at = a_manifest(site, *actions, flows=flows), now_datetime()
    row = IndexedSite.objects.filter(site=site).first() or IndexedSite(site=site, added_at=at)
    row.url = f"https://{site}/.well-known/agent-actions.json"
    row.state, row.manifest = IndexedSite.State.INDEXED, json.dumps(document)
    row.fetched_at = row.confirmed_at = row.due_at = at
    for name, value in columns.items():
        setattr(row, name, value)
    row.save()
    store.take_in(row, entries_of(read_manifest(document, site=site, url=row.url), about))
    return row


def found(query: str, **members: Any) -> Any:
    answer = Client().get(FIND, {"q": query, **members})
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


def names(query: str, **members: Any) -> list[str]:
    """``site/name`` of the results."""
    return [f"{each['site']}/{each[each['type']]}" for each in found(query, **members)["results"]]


def name_site(url: Any, **members: Any) -> Any:
    """The answer to who names a site."""
    return send("POST", MANIFESTS, json.dumps({"url": url, **members}).encode())


def error_of(answer: Any) -> dict[str, Any]:
    error: dict[str, Any] = json.loads(answer.content)["error"]
    return error


def is_sound() -> bool:
    """Whether the counts are those of the postings, and every entry is counted once."""
    counted = dict(IndexedTerm.objects.exclude(entries=0).values_list("term", "entries"))
    there: dict[int, int] = {}
    for term in IndexedPosting.objects.values_list("term", flat=True):
        there[term] = there.get(term, 0) + 1
    keys = set(IndexedPosting.objects.values_list("entry", flat=True))
    return (
        counted == there
        and keys == set(IndexedEntry.objects.values_list("pk", flat=True))
        and there.get(key_of(EVERY), 0) == len(keys)
    )
