"""Receipts in the admin: what was charged, whether each receipt holds, and whether their chain does."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agentweb.access.admin import showing
from agentweb.access.admin.base import LogAdmin, OlderFilter, Rows, render
from agentweb.ledger import chain
from agentweb.ledger.models import Receipt
from agentweb.ledger.refund_admin import PERMISSION, can_be_refunded, refund_view

_REASONS = {
    "malformed": _("the document is not a receipt"),
    "signature": _("the signature is not the key's"),
    "unknown_key": _("it is signed by a key that is not the site's, or was revoked"),
    "key_retired": _("it is signed by a key that was retired before"),
    "row": _("the table says something else than the signed document"),
    "prev": _("it does not follow the receipt before it"),
    "missing": _("the receipt of this number or of the one before is missing"),
    "head": _("the chain ends elsewhere than its head says"),
}


class ReceiptAdmin(LogAdmin):
    list_display = (
        "seq",
        "amount_text",
        "kind",
        "action_text",
        "item_text",
        "agent_short",
        "grant_link",
        "issued_at",
    )
    list_display_links = ("seq",)
    list_filter = ("kind", OlderFilter)
    # Backwards along the unique index of site and number.
    ordering: ClassVar[Any] = ("-site", "-seq")
    search_fields = ("id__exact", "request_id__exact", "agent__exact", "grant__exact", "root__exact")
    search_help_text = _("A whole id: of the receipt, the request, the grant, or the agent's key.")
    fields = (
        "ident",
        "verdict",
        "amount_text",
        "refunded_text",
        "kind",
        "action_text",
        "item_text",
        "issued_at",
        "agent_code",
        "grants",
        "request_link",
        "place",
        "notes",
        "signed_document",
    )

    def older_than(self, rows: Rows, pk: str) -> Rows:
        row = Receipt.objects.filter(pk=pk[:64]).first()
        if row is None:
            raise ValueError("There is no such receipt.")
        return rows.filter(Q(site__lt=row.site) | Q(site=row.site, seq__lt=row.seq))

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.chain_view)
        refund = self.admin_site.admin_view(self.refund_view)
        return [
            path("chain/", view, name="agentweb_receipt_chain"),
            path("<path:object_id>/refund/", refund, name="agentweb_receipt_refund"),
            *super().get_urls(),
        ]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        buttons = []
        if row is not None and can_be_refunded(row) and request.user.has_perm(PERMISSION):
            site = self.admin_site.name
            buttons = [
                (_("Refund"), reverse("admin:agentweb_receipt_refund", args=[object_id], current_app=site))
            ]
        return super().change_view(
            request, object_id, form_url, {**(extra_context or {}), "agentweb_buttons": buttons}
        )

    def refund_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return refund_view(request, self, object_id)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        buttons = [(_("Verify the chain"), self._chain_url())]
        return super().changelist_view(request, {**(extra_context or {}), "agentweb_buttons": buttons})

    def chain_view(self, request: HttpRequest) -> HttpResponse:
        """One stretch of one chain, the newest unless told otherwise; a link leads to the stretch before."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        known = chain.sites()
        site = request.GET.get("site", known[0] if known else "")
        stretch = chain.look_over(site, last=_whole(request.GET.get("last"))) if site in known else None
        earlier = ""
        if stretch is not None and not stretch.reaches_beginning:
            earlier = self._chain_url(site=site, last=stretch.first - 1)
        return render(
            request,
            self,
            "admin/agentweb/receipt/chain.html",
            title=_("The chain of receipts"),
            stretch=stretch,
            faults=[] if stretch is None else [self._fault(*fault) for fault in stretch.faults],
            earlier=earlier,
            others=[(other, self._chain_url(site=other)) for other in known if other != site],
        )

    def _chain_url(self, **query: Any) -> str:
        url = reverse("admin:agentweb_receipt_chain", current_app=self.admin_site.name)
        return f"{url}?{urlencode(query)}" if query else url

    def _fault(self, seq: int, pk: str, reason: str) -> SafeString:
        where = showing.link(self.admin_site, Receipt, pk, showing.said(seq)) if pk else showing.said(seq)
        return format_html("{}: {}", where, _REASONS.get(reason, reason))

    @admin.display(description=_("Amount"))
    def amount_text(self, row: Receipt) -> str:
        return showing.amount(row.amount, row.currency)

    @admin.display(description=_("Given back"))
    def refunded_text(self, row: Receipt) -> str:
        return showing.amount(row.refunded, row.currency) if row.refunded else "–"

    @admin.display(description=_("Action"))
    def action_text(self, row: Receipt) -> SafeString:
        return showing.said(row.action)

    @admin.display(description=_("Item"))
    def item_text(self, row: Receipt) -> SafeString:
        return showing.said(row.item)

    @admin.display(description=_("Agent"))
    def agent_short(self, row: Receipt) -> SafeString:
        return showing.short(row.agent)

    @admin.display(description=_("Agent"))
    def agent_code(self, row: Receipt) -> SafeString:
        return showing.code(row.agent)

    @admin.display(description=_("Grant"))
    def grant_link(self, row: Receipt) -> SafeString:
        if not row.grant:
            return showing.person(None)
        return showing.link(self.admin_site, "grant", row.grant, showing.short(row.grant))

    @admin.display(description=_("Grants"))
    def grants(self, row: Receipt) -> SafeString:
        idents = dict.fromkeys(filter(None, (row.grant, row.root)))
        return showing.lines(showing.link(self.admin_site, "grant", pk, showing.code(pk)) for pk in idents)

    @admin.display(description=_("Request"))
    def request_link(self, row: Receipt) -> SafeString:
        return showing.list_link(self.admin_site, "auditentry", row.request_id, q=row.request_id)

    @admin.display(description=_("Receipt"))
    def ident(self, row: Receipt) -> SafeString:
        return showing.code(row.pk)

    @admin.display(description=_("Place"))
    def place(self, row: Receipt) -> SafeString:
        return showing.said(gettext("number %(seq)d of %(site)s") % {"seq": row.seq, "site": row.site})

    @admin.display(description=_("Verdict"))
    def verdict(self, row: Receipt) -> SafeString:
        before = Receipt.objects.filter(site=row.site, seq=row.seq - 1).first() if row.seq > 1 else None
        reason = chain.what_is_wrong(row, before)
        if reason is None:
            good = showing.badge("good", _("holds"))
            return showing.pair(good, gettext("signature valid, chain intact at this place"))
        return showing.pair(showing.badge("bad", _("does not hold")), _REASONS.get(reason, reason))

    @admin.display(description=_("The site's notes"))
    def notes(self, row: Receipt) -> Any:
        return showing.document(row.metadata) if row.metadata else "–"

    @admin.display(description=_("Signed document"))
    def signed_document(self, row: Receipt) -> SafeString:
        document = chain.read(row)
        return showing.said(row.document) if document is None else showing.document(document)


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= 18 else None
