"""Asking a site for money back, and how that stands (AGENT_ACTIONS section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from agentweb.client.endpoints import Endpoints
from agentweb.client.manifest import Manifest
from agentweb.client.spending import count, receipts_in
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.strict_json import Json, dumps


@dataclass(frozen=True, slots=True, kw_only=True)
class Refund:
    """What the site answered. ``receipt`` is the verified receipt of the refund, when the answer has it; ``state`` how
    the refund stands (``pending``, ``processing``, ``done``, ``refused``)."""

    value: Json
    receipt: dict[str, Any] | None
    replayed: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether somebody has still to decide about it, or to pay it."""
        return self.state in {"pending", "processing"}

    @property
    def state(self) -> str:
        return self._member("state") or ("pending" if self.receipt is None else "done")

    @property
    def id(self) -> str | None:
        """``rf_…``, with which it is asked how it stands."""
        return self._member("id")

    def json(self) -> str:
        """The answer as JSON text."""
        return dumps(self.value).decode("utf-8")

    def _member(self, name: str) -> str | None:
        refund = self.value.get("refund") if isinstance(self.value, dict) else None
        found = refund.get(name) if isinstance(refund, dict) else None
        return found if isinstance(found, str) else None


def ask(
    endpoints: Endpoints, manifest: Manifest, receipt: str, amount: str | int | Decimal | None, reason: str
) -> Refund:
    """Ask for the amount, or all that is left of the receipt. The request is one intent until it is answered."""
    body: dict[str, Json] = {"receipt": receipt, "reason": reason}
    if amount is not None:
        if isinstance(amount, float):
            raise ClientError(
                Code.AMOUNT_INVALID, 'A float is not exact; give a Decimal or a text such as "19.99".'
            )
        body["amount"] = str(amount)
    address = endpoints.address(manifest, "refunds")
    received = endpoints.post(manifest, address, body, kept="refunds")
    return _read(endpoints, manifest, received.value, is_replayed=received.is_replayed)


def look(endpoints: Endpoints, manifest: Manifest, refund_id: str) -> Refund:
    """How a refund stands."""
    address = endpoints.address(manifest, "refunds", quote(refund_id, safe=""))
    return _read(endpoints, manifest, endpoints.get(manifest, address).value, is_replayed=False)


def _read(endpoints: Endpoints, manifest: Manifest, value: Json, *, is_replayed: bool) -> Refund:
    found = [
        each
        for each in receipts_in(value, site=manifest.site, keys=manifest.keys)
        if each["kind"] == "refund"
    ]
    if found:
        # What came back can be spent again.
        keystore = endpoints.session.keystore
        held = keystore.held
        keystore.change_site(manifest.site, lambda record: count(record, found, held=held))
    return Refund(value=value, receipt=found[0] if found else None, replayed=is_replayed)
