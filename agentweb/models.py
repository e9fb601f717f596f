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
from agentweb.aim.models import (
    Account,
    Agent,
    AgentKey,
    Contact,
    Event,
    LogConsumer,
    LogHead,
    Message,
    UsedChallenge,
)
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.awp.analytics.models import AgentRequests
from agentweb.awp.content.models import ContentPage, ContentPart, ContentRun
from agentweb.awp.publishing.models import CountedText
from agentweb.awp.search.models import SearchedPage, SearchPosting, SearchTerm
from agentweb.index.models import IndexedEntry, IndexedPosting, IndexedSite, IndexedTerm
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.ledger.models import Agreement, Receipt, ReceiptHead, ReceiptParty
from agentweb.ledger.payment_models import Payment, Refund
from agentweb.negotiation.models import Negotiation

__all__ = [
    "Account",
    "Agent",
    "AgentKey",
    "AgentRequests",
    "Agreement",
    "Approval",
    "AuditEntry",
    "BrowserCall",
    "Bucket",
    "Contact",
    "ContentPage",
    "ContentPart",
    "ContentRun",
    "CountedText",
    "Event",
    "Grant",
    "IdempotencyRecord",
    "IndexedEntry",
    "IndexedPosting",
    "IndexedSite",
    "IndexedTerm",
    "LogConsumer",
    "LogHead",
    "Mandate",
    "Message",
    "Negotiation",
    "Nonce",
    "OpenPage",
    "Pairing",
    "Payment",
    "PrincipalKey",
    "Receipt",
    "ReceiptHead",
    "ReceiptParty",
    "Refund",
    "Revocation",
    "RevocationHead",
    "SearchPosting",
    "SearchTerm",
    "SearchedPage",
    "Session",
    "SiteKey",
    "UsedChallenge",
]
