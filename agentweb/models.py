"""Every model of every room under the one label ``agentweb``, whatever is switched on."""

from __future__ import annotations

from agentweb.access.models import (
    Approval,
    Bucket,
    Grant,
    Mandate,
    Nonce,
    Pairing,
    PrincipalKey,
    Revocation,
    RevocationHead,
    Session,
    SiteKey,
)
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.ledger.models import Receipt, ReceiptHead, ReceiptParty

__all__ = [
    "Approval",
    "AuditEntry",
    "BrowserCall",
    "Bucket",
    "Grant",
    "IdempotencyRecord",
    "Mandate",
    "Nonce",
    "OpenPage",
    "Pairing",
    "PrincipalKey",
    "Receipt",
    "ReceiptHead",
    "ReceiptParty",
    "Revocation",
    "RevocationHead",
    "Session",
    "SiteKey",
]
