"""``/.well-known/aim.json``: what the messenger is and where its endpoints are (AIM.md section 2).

``core`` lists exactly what is served.
"""

from __future__ import annotations

from typing import Any, Final

from agentweb.aim import mount
from agentweb.aim.policy import authorities
from agentweb.http.documents import Place
from agentweb.wire.aim.authorization import MAX_SKEW_SECONDS, SCHEME
from agentweb.wire.aim.envelope import BATCH_MAX, SEALED_ALGORITHM

PROTOCOL: Final = "aim"
VERSION: Final = "2"


def document(place: Place) -> dict[str, Any]:
    """The manifest for this place. The paths are those of URLs: with the prefix of a site that is mounted under one."""

    def at(path: str) -> str:
        return f"{place.prefix}/{path}"

    def endpoint(intent: str, method: str, path: str, *, signed: bool = True, **more: Any) -> dict[str, Any]:
        auth = SCHEME if signed else "none"
        return {"intent": intent, "method": method, "path": path, "auth": auth, **more}

    return {
        "protocol": PROTOCOL,
        "version": VERSION,
        "authority": place.site,
        "origin": place.origin,
        "core": [
            endpoint("discover", "GET", f"/{mount.MANIFEST}", signed=False),
            endpoint("challenge", "POST", at(mount.CHALLENGES), signed=False),
            endpoint("register", "POST", at(mount.REGISTER)),
            endpoint("receive", "GET", at(mount.INBOX), query={"lane": ["primary", "requests"]}),
            endpoint("speak", "POST", at(mount.MESSAGES), batch_max=BATCH_MAX),
            endpoint("return", "GET", at(mount.EVENTS), query={"after": "CURSOR"}),
        ],
        "signature": {
            "scheme": SCHEME,
            "algorithm": "ed25519",
            "max_skew_seconds": MAX_SKEW_SECONDS,
            "authorities": authorities(place.site),
        },
        "envelope": {"canonicalization": "rfc8785", "digest": "sha-256", "sealed": [SEALED_ALGORITHM]},
        "docs": {
            "authentication": at(mount.AUTHENTICATION_GUIDE),
            "envelopes": at(mount.ENVELOPES_GUIDE),
            "signing_vector": at(mount.SIGNING_VECTOR),
        },
        "openapi": at(mount.OPENAPI),
        "policy": at(mount.POLICY),
        "federation": False,
    }
