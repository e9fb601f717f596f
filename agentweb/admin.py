"""Front door: the admin of every floor. Django's own autodiscovery loads it, so only a site with the admin does.

A site with an ``AdminSite`` of its own registers the same pages there::

    from agentweb.admin import register

    register(my_admin_site)
"""

from __future__ import annotations

from collections import defaultdict

from django.contrib import admin
from django.contrib.admin import AdminSite

from agentweb import rooms
from agentweb.access.admin.approvals import ApprovalAdmin
from agentweb.access.admin.grants import GrantAdmin
from agentweb.access.admin.keys import PrincipalKeyAdmin, SiteKeyAdmin
from agentweb.access.admin.revocations import RevocationAdmin
from agentweb.access.admin.sessions import SessionAdmin
from agentweb.access.admin.terms import ScopesInUse
from agentweb.access.models import Approval, Grant, PrincipalKey, Revocation, Session, SiteKey
from agentweb.aim.admin import AgentAdmin, LogConsumerAdmin, MessageAdmin
from agentweb.aim.models import Agent, LogConsumer, Message
from agentweb.awp.analytics.admin import AgentRequestsAdmin
from agentweb.awp.analytics.models import AgentRequests
from agentweb.awp.content.admin import ContentPageAdmin, ContentRunAdmin
from agentweb.awp.content.models import ContentPage, ContentRun
from agentweb.catalog.registry import registry
from agentweb.index.admin import IndexedSiteAdmin
from agentweb.index.models import IndexedSite
from agentweb.invoke.admin import AuditEntryAdmin, IdempotencyRecordAdmin
from agentweb.invoke.models import AuditEntry, IdempotencyRecord
from agentweb.ledger.admin import ReceiptAdmin
from agentweb.ledger.models import Agreement, Receipt
from agentweb.ledger.payment_admin import PaymentAdmin
from agentweb.ledger.payment_models import Payment, Refund
from agentweb.ledger.refund_admin import RefundAdmin
from agentweb.negotiation.admin import AgreementAdmin, NegotiationAdmin
from agentweb.negotiation.models import Negotiation


def scopes_in_use() -> ScopesInUse:
    """The scopes that the site's actions ask for, and which actions; those that need any grant under ``""``."""
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for action in registry.actions():
        if action.scope is not None or action.effect != "read":
            found[action.scope or ""].append((action.title, str(action.effect)))
    return found


def currencies_in_use() -> list[str]:
    """The currencies that the site's actions cost anything in."""
    return sorted({action.cost.currency for action in registry.actions() if action.cost is not None})


class _GrantAdmin(GrantAdmin):
    def scopes_in_use(self) -> ScopesInUse:
        return scopes_in_use()

    def currencies_in_use(self) -> list[str]:
        return currencies_in_use()


class _SessionAdmin(SessionAdmin):
    def scopes_in_use(self) -> ScopesInUse:
        return scopes_in_use()

    def currencies_in_use(self) -> list[str]:
        return currencies_in_use()


class _AuditEntryAdmin(AuditEntryAdmin):
    # The name of a room is that of its protocol, as Python can spell it.
    protocols = tuple(room.replace("_", "-") for room in rooms.ROOMS)


PAGES = {
    Agent: AgentAdmin,
    AgentRequests: AgentRequestsAdmin,
    Agreement: AgreementAdmin,
    Approval: ApprovalAdmin,
    AuditEntry: _AuditEntryAdmin,
    ContentPage: ContentPageAdmin,
    ContentRun: ContentRunAdmin,
    Grant: _GrantAdmin,
    IdempotencyRecord: IdempotencyRecordAdmin,
    IndexedSite: IndexedSiteAdmin,
    LogConsumer: LogConsumerAdmin,
    Message: MessageAdmin,
    Negotiation: NegotiationAdmin,
    Payment: PaymentAdmin,
    PrincipalKey: PrincipalKeyAdmin,
    Receipt: ReceiptAdmin,
    Refund: RefundAdmin,
    Revocation: RevocationAdmin,
    Session: _SessionAdmin,
    SiteKey: SiteKeyAdmin,
}


def register(site: AdminSite) -> None:
    """Put the pages for agents into an admin; those that it has already stay as they are."""
    for model, model_admin in PAGES.items():
        if not site.is_registered(model):
            site.register(model, model_admin)


register(admin.site)
