"""The page manifest (AIP section 2): pure functions of what a page shows and offers.

The members of AIP 0.1-demo stand first and in its order; ours follow: ``session`` for the holder of a session, and
``auth``, how to become one, for everybody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from agentweb.aip.addresses import Links
from agentweb.aip.offers import Offer
from agentweb.http.page_urls import published_path
from agentweb.wire.grants import GrantDocument

PROTOCOL: Final = "AIP"
VERSION: Final = "0.1-demo"
PUBLIC: Final = "public_schema_only"
SESSION: Final = "session"


def public_manifest(path: str, offers: Iterable[Offer], links: Links) -> dict[str, Any]:
    """What everybody gets: the whole catalog of the page at ``path``, and nothing that it shows to anybody."""
    document = _manifest(path, links, [_entry(offer) for offer in offers], scope=PUBLIC)
    auth = {"sessions_url": links.sessions, "connect_url": links.connect}
    known = {name: url for name, url in auth.items() if url is not None}
    if known:
        document["auth"] = known
    return document


def session_manifest(
    path: str,
    offers: Iterable[Offer],
    links: Links,
    *,
    grant: GrantDocument,
    state: Mapping[str, Any],
    browser_connected: bool,
    with_denied: bool = False,
) -> dict[str, Any]:
    """What the holder of ``grant`` gets: what the page shows to its person, and the actions that the grant allows.

    ``with_denied`` lists the others too, marked ``"allowed": false``.
    """
    listed = [offer for offer in offers if offer.is_allowed or with_denied]
    document = _manifest(
        path,
        links,
        [_entry(offer) if offer.is_allowed else {**_entry(offer), "allowed": False} for offer in listed],
        scope=SESSION,
        state=state,
        browser_connected=browser_connected,
    )
    expires_at = datetime.fromtimestamp(grant.expires, UTC).isoformat().replace("+00:00", "Z")
    document["session"] = {"expires_at": expires_at, "scopes": list(grant.scopes)}
    return document


def _manifest(
    path: str,
    links: Links,
    actions: list[dict[str, Any]],
    *,
    scope: str,
    state: Mapping[str, Any] | None = None,
    browser_connected: bool = False,
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "protocol": PROTOCOL,
        "version": VERSION,
        "page": published_path(path, links.prefix),
        "sitemap": links.site_map,
        "state_scope": scope,
        "browser_connected": browser_connected,
        "invoke_url": links.invoke,
        "invoke_method": "POST",
    }
    first = next((entry for entry in actions if entry.get("allowed", True)), None)
    if first is not None:
        document["invoke_example"] = {"actionId": first["id"], "input": first["input_example"]}
    document["state"] = dict(state or {})
    document["actions"] = actions
    return document


def _entry(offer: Offer) -> dict[str, Any]:
    return {
        "id": offer.action.name,
        "description": offer.action.description,
        "input_schema": offer.projection.schema,
        "input_example": offer.projection.example,
        "consequential": offer.action.consequential,
    }
