"""Real keys, real signatures: what the tests of this floor send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentweb.access import grants, signatures, site_keys
from agentweb.access.callers import Caller
from agentweb.access.models import PrincipalKey
from agentweb.wire.clock import now, now_datetime
from agentweb.wire.grants import encode_chain, new_grant
from agentweb.wire.http_signature import sign_request
from agentweb.wire.signing import SigningKey

SITE = "shop.example"
ADDRESS = "203.0.113.7"
BODY = b'{"product_id":"sku-1","quantity":2}'

AGENT = SigningKey.from_seed(bytes(range(32)))
OTHER = SigningKey.from_seed(bytes(range(1, 33)))
PERSON = SigningKey.from_seed(bytes(range(2, 34)))


@dataclass(frozen=True)
class Request:
    """A request as it arrives: lower-case headers, path and query as on the wire."""

    method: str = "POST"
    authority: str = SITE
    path: str = "/api/cart"
    query: str = "?ref=a%20b"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = BODY

    def without(self, *names: str) -> Request:
        return replace(self, headers={k: v for k, v in self.headers.items() if k not in names})

    def having(self, **headers: str) -> Request:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **given})


def signed(
    key: SigningKey = AGENT,
    grant: Sequence[Mapping[str, Any]] | str | None = None,
    *,
    method: str = "POST",
    target: str = "/api/cart?ref=a%20b",
    body: bytes = BODY,
    origin: str = f"https://{SITE}",
    created: float | None = None,
    lifetime: int = 60,
    nonce: str | None = None,
    **headers: str,
) -> Request:
    """A request signed by ``key`` under a chain or a ``gr_…`` id; without one, with ``Agent-Key``."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if grant is None:
        sent["agent-key"] = key.public
    else:
        sent["agent-grant"] = grant if isinstance(grant, str) else encode_chain(grant)
    if body:
        sent["content-type"] = "application/json"
    added = sign_request(
        method=method,
        url=origin + target,
        body=body,
        key=key,
        headers=sent,
        created=int(now() if created is None else created),
        lifetime=lifetime,
        nonce=nonce,
    )
    path, _, query = target.partition("?")
    headers_sent = {**sent, **{name.lower(): value for name, value in added.items()}}
    return Request(method, SITE, path, f"?{query}", headers_sent, body)


def deliver(request: Request, *, address: str = ADDRESS) -> Caller:
    """Through ``begin`` and ``finish``, as a view does it."""
    pending = signatures.begin(
        method=request.method,
        authority=request.authority,
        path=request.path,
        query=request.query,
        headers=request.headers,
    )
    assert pending is not None
    return pending.finish(request.body, address=address)


def site_grant(key: SigningKey = AGENT, **wanted: Any) -> list[dict[str, Any]]:
    """A chain that the site issued to ``key``."""
    site_keys.ensure_active_key()
    wanted = {"scopes": ["cart:*", "checkout"], "expires_in": 3_600, "site": SITE, **wanted}
    return [grant.document for grant in grants.issue(subject=key.public, **wanted)]


def enrol(user: Any, key: SigningKey = PERSON) -> PrincipalKey:
    return PrincipalKey.objects.create(public=key.public, user=user, created_at=now_datetime())


def person_grant(issuer: SigningKey = PERSON, subject: str = AGENT.public, **wanted: Any) -> dict[str, Any]:
    """A root grant that a person's own key issued; nothing of it is known to the site."""
    begins = int(now())
    wanted = {
        "audience": SITE,
        "scopes": ["cart:*", "checkout"],
        "not_before": begins,
        "expires": begins + 3_600,
        **wanted,
    }
    return new_grant(issuer=issuer, subject=subject, **wanted)
