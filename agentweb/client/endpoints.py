"""Requests to the endpoints that a manifest names beside its actions: refunds, negotiation, grants."""

from __future__ import annotations

from typing import Final

from agentweb.client.calls import Outgoing, Received
from agentweb.client.grant_texts import Chain
from agentweb.client.inputs import Prepared
from agentweb.client.intents import Begun, NoIntent
from agentweb.client.manifest import Manifest
from agentweb.client.pending import PendingCalls, PendingIntent
from agentweb.client.session import Session, origin_of
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.strict_json import Json, dumps

_WHAT: Final = {
    "refunds": "takes no requests for refunds",
    "negotiation": "does not negotiate",
    "grants": "takes no requests for grants",
}


class Endpoints:
    """Signed requests beside those of actions: under a grant, or with the key alone."""

    def __init__(self, session: Session, pending: PendingCalls) -> None:
        self.session = session
        self._pending = pending

    def address(self, manifest: Manifest, name: str, *parts: str) -> str:
        """The URL of an endpoint, with ``parts`` of a path below it. Raises ClientError ``not_found``."""
        found = manifest.endpoint(name)
        if found is None:
            raise ClientError(
                Code.NOT_FOUND,
                f"{manifest.site} {_WHAT.get(name, f'names no {name}')}: its manifest has no {name}.",
            )
        return "/".join([found.rstrip("/"), *parts])

    def get(self, manifest: Manifest, url: str, *, chain: Chain | None = None) -> Received:
        """The answer to a signed GET."""
        return self._send(manifest, Prepared("GET", _target(url), b""), chain, None, None)

    def delete(self, manifest: Manifest, url: str) -> Received:
        """The answer to a DELETE that is signed with the key alone; repeating it must change nothing more."""
        return self._send(manifest, Prepared("DELETE", _target(url), b""), None, None, None)

    def post(
        self,
        manifest: Manifest,
        url: str,
        body: Json,
        *,
        chain: Chain | None = None,
        kept: str | None = None,
    ) -> Received:
        """The answer to a signed POST.

        ``kept`` names the intent: it is pending until an answer settles it, and the same request then has the same
        idempotency key, also after a crash.
        """
        prepared = Prepared("POST", _target(url), dumps(body))
        if kept is None:
            return self._send(manifest, prepared, chain, None, None)
        # No action has a space in its name.
        name = f"POST {kept}"
        intent = PendingIntent(self._pending, manifest.site, name, body, None, now=self.session.clock())
        return self._send(manifest, prepared, chain, intent, intent.begin(key=None, approved=None))

    def _send(
        self,
        manifest: Manifest,
        prepared: Prepared,
        chain: Chain | None,
        intent: PendingIntent | None,
        begun: Begun | None,
    ) -> Received:
        outgoing = Outgoing(
            origin=origin_of(manifest.url),
            prepared=prepared,
            grant=chain.header if chain else None,
            idempotency_key=begun.key if begun else None,
            is_bare=chain is None,
        )
        return self.session.send(manifest, outgoing, chain, intent or NoIntent(), begun)[0]


def _target(url: str) -> str:
    return url.removeprefix(origin_of(url)) or "/"
