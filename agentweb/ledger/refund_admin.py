"""Refunds in the admin: those that agents ask for wait here, and of every charge staff give back a part or all."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Case, IntegerField, Value, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import render
from agentweb.access.admin.decisions import DecidingAdmin, Decision, Refused
from agentweb.ledger import refunds
from agentweb.ledger.models import Receipt
from agentweb.ledger.payment_models import Payment, Refund
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AgentError
from agentweb.wire.money import format_amount, parse_amount

State = Refund.State

PERMISSION: Final = "agentweb.give_refund"

_WORDS = {
    State.PENDING: ("waiting", _("waiting")),
    State.PROCESSING: ("waiting", _("at the provider")),
    State.DONE: ("good", _("given")),
    State.REFUSED: ("over", _("refused")),
    State.DECLINED: ("bad", _("declined by the provider")),
}


class RefundForm(forms.Form):
    """``ident`` is the id that the refund will have: sent twice, it is given once."""

    amount = forms.CharField(label=_("Amount"), max_length=40, help_text=_("All that is left, or less."))
    reason = forms.CharField(
        label=_("Reason"),
        max_length=refunds.MAX_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text=_("It stands in the receipt of the refund, which the agent reads."),
    )
    ident = forms.RegexField(r"\Arf_[A-Za-z0-9_-]{22}\Z", widget=forms.HiddenInput)

    def __init__(self, receipt: Receipt, data: Any = None) -> None:
        self.receipt = receipt
        left = format_amount(refunds.remaining(receipt), receipt.currency)
        super().__init__(data, initial={"amount": left, "ident": random_id("rf_")})

    def clean_amount(self) -> int:
        try:
            return parse_amount(self.cleaned_data["amount"].strip(), self.receipt.currency)
        except AgentError as error:
            raise forms.ValidationError(error.message) from None


def refund_view(request: HttpRequest, model_admin: Any, object_id: str) -> HttpResponse:
    """Give back a part of a charge, or all that is left: ask on GET, do on POST."""
    receipt = model_admin.get_object(request, unquote(object_id))
    if receipt is None:
        raise Http404
    if not model_admin.has_view_permission(request, receipt) or not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    site = model_admin.admin_site
    back = reverse("admin:agentweb_receipt_change", args=[object_id], current_app=site.name)
    form = RefundForm(receipt, request.POST if request.method == "POST" else None)
    # Only what the form has found good is looked for: PostgreSQL takes a question with NUL for an error.
    ident = form.cleaned_data.get("ident") if form.is_bound and form.is_valid() else None
    is_repeated = ident is not None and Refund.objects.filter(pk=ident).exists()
    if not can_be_refunded(receipt) and not is_repeated:
        messages.warning(request, gettext("There is nothing left to give back."))
        return HttpResponseRedirect(back)
    if form.is_bound and form.is_valid():
        given = form.cleaned_data
        try:
            refund = refunds.give(
                receipt.pk, given["amount"], reason=given["reason"], by=request.user, ident=given["ident"]
            )
        except AgentError as error:
            form.add_error(None, error.message)
        else:
            if not is_repeated:
                amount = showing.amount(refund.amount, refund.currency)
                model_admin.log_change(request, receipt, f"Refunded {amount}: {given['reason']}")
            _tell(request, refund)
            return HttpResponseRedirect(back)
    return render(
        request,
        model_admin,
        "admin/agentweb/receipt/refund.html",
        title=_("Refund a charge"),
        form=form,
        receipt=receipt,
        amount=showing.amount(receipt.amount, receipt.currency),
        left=showing.amount(refunds.remaining(receipt), receipt.currency),
        item=showing.said(receipt.item),
        is_outside=Payment.objects.filter(pk=receipt.pk).exists(),
        back=back,
    )


def can_be_refunded(receipt: Receipt) -> bool:
    return receipt.kind == Receipt.Kind.CHARGE and refunds.remaining(receipt) > 0


def _tell(request: HttpRequest, refund: Refund) -> None:
    if refund.state == State.DONE:
        messages.success(request, gettext("Refunded. The receipt of the refund stands in the log."))
    elif refund.state == State.DECLINED:
        said = gettext("The payment provider does not give it back: %s") % (refund.answer or "–")
        messages.error(request, said)
    else:
        messages.warning(
            request, gettext("The payment provider has not answered yet. It is asked again until it has.")
        )


class RefundAdmin(DecidingAdmin):
    list_display = ("amount_text", "state_word", "receipt_link", "reason_text", "asker", "created_at")
    list_display_links = ("amount_text",)
    list_filter = ("state", "is_automatic")
    list_select_related = ("receipt",)
    sortable_by = ()
    # What waits for somebody stands first.
    ordering: ClassVar = (
        Case(When(state=State.PENDING, then=Value(0)), default=Value(1), output_field=IntegerField()),
        "-created_at",
    )
    search_fields = ("id__exact", "receipt__id__exact", "asked_by__exact", "request_id__exact")
    search_help_text = _("A whole id: of the refund, the receipt, the request, or the agent's key.")
    fields = (
        "ident",
        "state_word",
        "amount_text",
        "charge_text",
        "receipt_link",
        "reason_text",
        "asker",
        "answer_text",
        "decider",
        "created_at",
        "settled_at",
        "refund_receipt_link",
    )
    decisions: ClassVar = (
        Decision(
            "give",
            _("Give it"),
            _("Give this refund"),
            _(
                "The money goes back, and may be spent again under the mandate where the site's settings say so."
            ),
            PERMISSION,
            is_grave=False,
        ),
        Decision(
            "refuse",
            _("Refuse"),
            _("Refuse this refund"),
            _("Nothing is given back. The agent reads the reason."),
            PERMISSION,
            asks_reason=True,
        ),
    )

    def may_decide(self, request: HttpRequest, decision: Decision, row: Any = None) -> bool:
        return super().may_decide(request, decision, row) and row is not None and row.state == State.PENDING

    def decide_give(self, request: HttpRequest, row: Refund, reason: str) -> str:
        refund = refunds.decide(row.pk, is_given=True, by=request.user)
        self.log_change(request, row, "Given.")
        if refund.state == State.DECLINED:
            said = gettext("The payment provider does not give it back: %s") % (refund.answer or "–")
            raise Refused(said)
        if refund.state != State.DONE:
            return gettext(
                "Given. The payment provider has not answered yet; it is asked again until it has."
            )
        return gettext("Refunded. The receipt of the refund stands in the log.")

    def decide_refuse(self, request: HttpRequest, row: Refund, reason: str) -> str:
        refunds.decide(row.pk, is_given=False, by=request.user, answer=reason)
        self.log_change(request, row, f"Refused: {reason}" if reason else "Refused.")
        return gettext("Refused.")

    def describe(self, row: Refund) -> Any:
        return showing.lines(
            [self.amount_text(row), self.charge_text(row), self.reason_text(row), self.asker(row)]
        )

    @admin.display(description=_("Amount"))
    def amount_text(self, row: Refund) -> str:
        return showing.amount(row.amount, row.currency)

    @admin.display(description=_("Charge"))
    def charge_text(self, row: Refund) -> SafeString:
        charge = row.receipt
        left = showing.amount(refunds.remaining(charge), charge.currency)
        said = gettext("%(amount)s for %(item)s; %(left)s of it was not given back") % {
            "amount": showing.amount(charge.amount, charge.currency),
            "item": charge.item,
            "left": left,
        }
        return showing.said(said)

    @admin.display(description=_("State"))
    def state_word(self, row: Refund) -> SafeString:
        return showing.badge(*_WORDS[State(row.state)])

    @admin.display(description=_("Charge's receipt"))
    def receipt_link(self, row: Refund) -> SafeString:
        return showing.link(self.admin_site, "receipt", row.receipt_id, showing.code(row.receipt_id))

    @admin.display(description=_("Receipt"))
    def refund_receipt_link(self, row: Refund) -> Any:
        if row.state != State.DONE:
            return "–"
        return showing.link(self.admin_site, "receipt", row.refund_receipt, showing.code(row.refund_receipt))

    @admin.display(description=_("Reason"))
    def reason_text(self, row: Refund) -> SafeString:
        return showing.said(row.reason or "–")

    @admin.display(description=_("Asked for by"))
    def asker(self, row: Refund) -> Any:
        if row.asked_by:
            return showing.short(row.asked_by)
        return (
            gettext("itself, because its action failed") if row.is_automatic else gettext("the site's staff")
        )

    @admin.display(description=_("Answer"))
    def answer_text(self, row: Refund) -> SafeString:
        return showing.said(row.answer or "–")

    @admin.display(description=_("Decided by"))
    def decider(self, row: Refund) -> SafeString:
        return showing.person(row.decided_by)

    @admin.display(description=_("Id"))
    def ident(self, row: Refund) -> SafeString:
        return showing.code(row.pk)
