"""Negotiations in the admin: how far each buyer came, and what was agreed on."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import LogAdmin, Rows
from agentweb.ledger.models import Agreement
from agentweb.negotiation.models import Negotiation
from agentweb.negotiation.moves import RUNNING
from agentweb.wire.clock import now_datetime
from agentweb.wire.strict_json import loads

State = Negotiation.State

_WORDS = {
    State.OPEN: ("waiting", _("waits for the site")),
    State.COUNTERED: ("waiting", _("waits for the buyer")),
    State.ACCEPTED: ("good", _("agreed")),
    State.REJECTED: ("bad", _("rejected")),
    State.EXPIRED: ("over", _("expired")),
}


class NegotiationStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [(state.value, word) for state, (_class, word) in _WORDS.items()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value, at = self.value(), now_datetime()
        if value is None:
            return queryset
        if value in RUNNING:
            return queryset.filter(state=value, expires_at__gt=at)
        if value == State.EXPIRED:
            return queryset.filter(state=value) | queryset.filter(state__in=RUNNING, expires_at__lte=at)
        return queryset.filter(state=value)


class _OfBuyer:
    """Columns that both kinds of rows have."""

    admin_site: Any

    @admin.display(description=_("Buyer"))
    def agent_short(self, row: Any) -> SafeString:
        return showing.short(row.agent)

    @admin.display(description=_("Buyer"))
    def agent_code(self, row: Any) -> SafeString:
        return showing.code(row.agent)

    @admin.display(description=_("First grant"))
    def grant_link(self, row: Any) -> SafeString:
        return showing.link(self.admin_site, "grant", row.root, showing.short(row.root))

    @admin.display(description=_("Terms"))
    def terms_shown(self, row: Any) -> SafeString:
        return showing.document(loads(row.terms.encode()))

    @admin.display(description=_("Id"))
    def ident(self, row: Any) -> SafeString:
        return showing.code(row.pk)


class NegotiationAdmin(_OfBuyer, LogAdmin):
    list_display = ("created_at", "state_word", "offered_text", "asked_text", "round_text", "agent_short")
    list_display_links = ("created_at",)
    list_filter = (NegotiationStateFilter,)
    ordering: ClassVar[Any] = ("-created_at", "-pk")
    search_fields = ("id__exact", "agent__exact", "root__exact", "agreement__exact")
    search_help_text = _("A whole id: of the negotiation, the agreement or the grant, or the agent's key.")
    fields = (
        "ident",
        "state_word",
        "terms_shown",
        "first_text",
        "offered_text",
        "offer_word",
        "asked_text",
        "asked_word",
        "round_text",
        "agreement_link",
        "agent_code",
        "grant_link",
        "created_at",
        "changed_at",
        "expires_at",
    )

    def older_than(self, rows: Rows, pk: str) -> Rows:
        row = Negotiation.objects.filter(pk=pk[:64]).first()
        if row is None:
            raise ValueError("There is no such negotiation.")
        return rows.filter(created_at__lt=row.created_at)

    @admin.display(description=_("State"))
    def state_word(self, row: Negotiation) -> SafeString:
        is_over_time = row.state in RUNNING and row.expires_at <= now_datetime()
        return showing.badge(*_WORDS[State.EXPIRED if is_over_time else State(row.state)])

    @admin.display(description=_("First offer"))
    def first_text(self, row: Negotiation) -> str:
        return showing.amount(row.first, row.currency)

    @admin.display(description=_("Offered"))
    def offered_text(self, row: Negotiation) -> str:
        return showing.amount(row.offered, row.currency)

    @admin.display(description=_("Asked"))
    def asked_text(self, row: Negotiation) -> str:
        return "–" if row.asked is None else showing.amount(row.asked, row.currency)

    @admin.display(description=_("Round"))
    def round_text(self, row: Negotiation) -> str:
        return gettext("%(made)d of %(all)d") % {"made": row.round, "all": row.rounds}

    @admin.display(description=_("The buyer's word"))
    def offer_word(self, row: Negotiation) -> SafeString:
        return showing.said(row.offer_note) if row.offer_note else showing.NOTHING

    @admin.display(description=_("The site's word"))
    def asked_word(self, row: Negotiation) -> SafeString:
        return showing.said(row.asked_note) if row.asked_note else showing.NOTHING

    @admin.display(description=_("Agreement"))
    def agreement_link(self, row: Negotiation) -> SafeString:
        if not row.agreement:
            return showing.NOTHING
        return showing.link(self.admin_site, Agreement, row.agreement, showing.code(row.agreement))


class AgreementStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("open", _("open")), ("used", _("used")), ("expired", _("expired"))]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        at = now_datetime()
        if self.value() == "open":
            return queryset.filter(receipt=None, expires_at__gt=at)
        if self.value() == "used":
            return queryset.filter(receipt__isnull=False)
        if self.value() == "expired":
            return queryset.filter(receipt=None, expires_at__lte=at)
        return queryset


class AgreementAdmin(_OfBuyer, LogAdmin):
    list_display = ("created_at", "state_word", "price_text", "agent_short", "expires_at")
    list_display_links = ("created_at",)
    list_filter = (AgreementStateFilter,)
    ordering: ClassVar[Any] = ("-created_at", "-pk")
    search_fields = ("id__exact", "agent__exact", "root__exact", "receipt__exact")
    search_help_text = _("A whole id: of the agreement, the receipt or the grant, or the agent's key.")
    fields = (
        "ident",
        "state_word",
        "terms_shown",
        "price_text",
        "agent_code",
        "grant_link",
        "receipt_link",
        "created_at",
        "expires_at",
        "signed_document",
    )

    def older_than(self, rows: Rows, pk: str) -> Rows:
        row = Agreement.objects.filter(pk=pk[:64]).first()
        if row is None:
            raise ValueError("There is no such agreement.")
        return rows.filter(created_at__lt=row.created_at)

    @admin.display(description=_("State"))
    def state_word(self, row: Agreement) -> SafeString:
        if row.receipt is not None:
            return showing.badge("over", _("used"))
        if row.expires_at <= now_datetime():
            return showing.badge("over", _("expired"))
        return showing.badge("good", _("open"))

    @admin.display(description=_("Price"))
    def price_text(self, row: Agreement) -> str:
        return showing.amount(row.price, row.currency)

    @admin.display(description=_("Receipt"))
    def receipt_link(self, row: Agreement) -> SafeString:
        if row.receipt is None:
            return showing.NOTHING
        return showing.link(self.admin_site, "receipt", row.receipt, showing.code(row.receipt))

    @admin.display(description=_("Signed document"))
    def signed_document(self, row: Agreement) -> SafeString:
        return showing.document(loads(row.document.encode()))
