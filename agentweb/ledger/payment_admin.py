"""Payments in the admin: what the provider was asked for, and how far each has come."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import LogAdmin, OlderFilter, Rows
from agentweb.ledger.payment_models import Payment

State = Payment.State

_WORDS = {
    State.PENDING: ("waiting", _("not known yet")),
    State.CAPTURED: ("waiting", _("captured, not finished")),
    State.DONE: ("good", _("done")),
    State.DECLINED: ("bad", _("declined")),
    State.CANCELLED: ("over", _("cancelled")),
}


class PaymentAdmin(LogAdmin):
    list_display = ("created_at", "amount_text", "state_word", "action_text", "item_text", "agent_short")
    list_display_links = ("created_at",)
    list_filter = ("state", OlderFilter)
    ordering: ClassVar[Any] = ("-created_at", "-pk")
    search_fields = ("id__exact", "request_id__exact", "agent__exact", "reference__exact")
    search_help_text = _("A whole id: of the charge, the request, the agent's key, or the provider's own.")
    fields = (
        "ident",
        "state_word",
        "amount_text",
        "action_text",
        "item_text",
        "agent_code",
        "receipt_link",
        "provider_text",
        "reference_text",
        "reason_text",
        "created_at",
        "asked",
        "next_at",
        "notes",
    )

    def older_than(self, rows: Rows, pk: str) -> Rows:
        row = Payment.objects.filter(pk=pk[:64]).first()
        if row is None:
            raise ValueError("There is no such payment.")
        return rows.filter(created_at__lte=row.created_at).exclude(pk=row.pk)

    @admin.display(description=_("Amount"))
    def amount_text(self, row: Payment) -> str:
        return showing.amount(row.amount, row.currency)

    @admin.display(description=_("State"))
    def state_word(self, row: Payment) -> SafeString:
        return showing.badge(*_WORDS[State(row.state)])

    @admin.display(description=_("Action"))
    def action_text(self, row: Payment) -> SafeString:
        return showing.said(row.action)

    @admin.display(description=_("Item"))
    def item_text(self, row: Payment) -> SafeString:
        return showing.said(row.item)

    @admin.display(description=_("Agent"))
    def agent_short(self, row: Payment) -> SafeString:
        return showing.short(row.agent)

    @admin.display(description=_("Agent"))
    def agent_code(self, row: Payment) -> SafeString:
        return showing.code(row.agent)

    @admin.display(description=_("Receipt"))
    def receipt_link(self, row: Payment) -> Any:
        if row.state != State.DONE:
            return "–"
        return showing.link(self.admin_site, "receipt", row.pk, showing.code(row.pk))

    @admin.display(description=_("Provider"))
    def provider_text(self, row: Payment) -> SafeString:
        return showing.said(row.provider)

    @admin.display(description=_("The provider's id"))
    def reference_text(self, row: Payment) -> SafeString:
        return showing.said(row.reference or "–")

    @admin.display(description=_("Why it was declined"))
    def reason_text(self, row: Payment) -> SafeString:
        return showing.said(row.reason or "–")

    @admin.display(description=_("The site's notes"))
    def notes(self, row: Payment) -> Any:
        return showing.document(row.metadata) if row.metadata else "–"

    @admin.display(description=_("Charge"))
    def ident(self, row: Payment) -> SafeString:
        return showing.code(row.pk)
