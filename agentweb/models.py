"""Every model of every room under the one label ``agentweb``, whatever is switched on."""

from __future__ import annotations

from agentweb.access.models import Bucket, Grant, Mandate, Nonce, PrincipalKey, Revocation, SiteKey
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.ledger.models import Receipt, ReceiptHead, ReceiptParty

__all__ = [
    "AuditEntry",
    "Bucket",
    "Grant",
    "IdempotencyRecord",
    "Mandate",
    "Nonce",
    "PrincipalKey",
    "Receipt",
    "ReceiptHead",
    "ReceiptParty",
    "Revocation",
    "SiteKey",
]
