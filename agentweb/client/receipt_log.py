"""The agent's receipts at a site as a whole: verified, held against the site's signed head, and counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentweb.client.calls import Outgoing
from agentweb.client.inputs import Prepared
from agentweb.client.receipts import read_all, read_head
from agentweb.client.session import Session, origin_of
from agentweb.client.spending import check_head, count, newer_head
from agentweb.wire.receipts import verify_receipt
from agentweb.wire.strict_json import Json


def verify(session: Session, url: str, receipt: Json) -> str | None:
    """Why a receipt is not the site's, or None. A key that is not known yet is looked for in the site's manifest."""
    manifest = session.discovery.load(url, revalidate=False)
    reason = verify_receipt(receipt, manifest.keys)
    if reason == "unknown_key":
        manifest = session.discovery.load(url)
        reason = verify_receipt(receipt, manifest.keys)
    if reason is None and isinstance(receipt, dict) and receipt["site"] != manifest.site:
        return "site"
    return reason


def read(session: Session, url: str) -> list[dict[str, Any]]:
    """Every receipt of the agent at the site, oldest first; what it tells is kept. See ``AgentClient.receipts``."""
    manifest, keystore = session.discovery.load(url), session.keystore
    origin = origin_of(manifest.url)

    def get(address: str, *, signed: bool) -> Json:
        target = address.removeprefix(origin)
        outgoing = Outgoing(origin=origin, prepared=Prepared("GET", target, b""), is_bare=signed)
        return session.send(manifest, outgoing, None)[0].value

    # What another process keeps while this one asks may be newer than the answers here.
    known = keystore.site(manifest.site).head
    found = read_all(manifest, get)
    head = read_head(manifest, get)
    check_head(known, head, found)
    last, held = max((receipt["seq"] for receipt in found), default=0), keystore.held
    keystore.change_site(
        manifest.site,
        lambda record: replace(
            count(record, found, held=held, after=last), head=newer_head(record.head, head)
        ),
    )
    return found
