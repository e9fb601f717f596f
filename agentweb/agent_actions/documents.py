"""The public documents of agent-actions: the manifest."""

from __future__ import annotations

from agentweb import conf
from agentweb.access import callers
from agentweb.access.callers import Caller
from agentweb.agent_actions import published
from agentweb.agent_actions.mount import ENDPOINTS, FLOWS, GRANTS, MANIFEST, NEGOTIATION
from agentweb.http.bodies import MEDIA_TYPE
from agentweb.http.documents import Place, PublicDocument
from agentweb.http.headers import Document
from agentweb.negotiation import negotiator


def manifest_for(caller: Caller, place: Place) -> Document:
    """The manifest as this caller gets it."""
    return published.document(
        caller,
        site=place.site,
        origin=place.origin,
        prefix=place.prefix,
        endpoints={name: f"{place.prefix}/{path}" for name, path in _endpoints().items()},
    )


def _endpoints() -> dict[str, str]:
    found = dict(ENDPOINTS)
    if conf.get("FLOWS_ON_SERVER"):
        found["flows"] = FLOWS
    if conf.get("GRANT_REQUESTS"):
        found["grants"] = GRANTS
    if negotiator.is_set():
        found["negotiation"] = NEGOTIATION
    return found


def documents() -> list[PublicDocument]:
    """What ``export_manifests`` writes and ``agentweb_doctor`` calls."""
    return [PublicDocument(f"/{MANIFEST}", MEDIA_TYPE, _manifest, is_well_known=True)]


def _manifest(place: Place) -> bytes:
    return manifest_for(callers.anonymous(""), place).content
