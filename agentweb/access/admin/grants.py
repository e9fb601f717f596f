"""Grants in the admin: issue one, see what became of it, take it back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agentweb.access import grants, revocations
from agentweb.access.admin import showing
from agentweb.access.admin.decisions import Decision, RevokingAdmin
from agentweb.access.admin.issuing import (
    ISSUE,
    REVOKE,
    guided_form,
    issue_once,
    shown_once,
    unused_scopes,
)
from agentweb.access.admin.people import PersonColumns, PersonFilter, search_by_name
from agentweb.access.admin.states import StateFilter, state_badge
from agentweb.access.admin.terms import GrantForm, ScopesInUse, layout_of
from agentweb.access.models import Grant, Mandate, Session
from agentweb.wire.clock import from_unix, now, now_datetime
from agentweb.wire.errors import AgentError
from agentweb.wire.grants import GrantDocument, encode_chain, parse_grant
from agentweb.wire.scopes import covers
from agentweb.wire.signing import thumbprint
from agentweb.wire.strict_json import loads

_SHOWN_SCOPES: Final = 3
_LONGEST_LIFE: Final = 3_650 * 86_400
"""What GRANT_MAX_DAYS may be at most: a grant that is older than a shorter setting is still shown."""


def chain_of(row: Grant) -> Sequence[GrantDocument]:
    """The documents of a row, root first; empty for a row that this version cannot read."""
    try:
        documents = loads(row.chain.encode())
        if not isinstance(documents, list):
            return ()
        return tuple(parse_grant(document, max_life=_LONGEST_LIFE) for document in documents)
    except (AgentError, ValueError):
        return ()


class GrantList(ChangeList):
    """Brings the mandates of the grants on the page along, with one query."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows = list(self.result_list)
        mandates = Mandate.objects.in_bulk([row.pk for row in rows])
        for row in rows:
            row.agentweb_mandate = mandates.get(row.pk)
        self.result_list = rows


class GrantAdmin(PersonColumns, RevokingAdmin):
    """``scopes_in_use`` is set by the front door, which knows the catalog."""

    list_display = (
        "ident_short",
        "state",
        "person",
        "note_text",
        "spending",
        "scopes_short",
        "expires_at",
        "last_used_at",
        "holder",
    )
    list_display_links = ("ident_short",)
    add_label = _("Issue a grant")
    list_filter = (StateFilter, PersonFilter)
    list_select_related = ("user",)
    ordering = ("-created_at",)
    search_help_text = _(
        "The beginning of an id or of an agent's key, words of the note, or a person's name."
    )
    fields = (
        "ident",
        "state",
        "person_detail",
        "note_text",
        "holder_detail",
        "issued_by",
        "scopes_in_words",
        "spending_detail",
        "times",
        "limits",
        "chain_detail",
        "related",
        "document",
    )
    decisions: ClassVar = (
        Decision(
            "revoke",
            _("Revoke"),
            _("Revoke grants"),
            _(
                "From this moment on no call under these grants and no charge begins, nor under any grant that was "
                "handed on from them. This cannot be undone."
            ),
            REVOKE,
            asks_reason=True,
        ),
    )
    revocation: ClassVar = decisions[0]

    def currencies_in_use(self) -> Sequence[str]:
        """Those that the costs of the site's actions are in."""
        return ()

    def scopes_in_use(self) -> ScopesInUse:
        """What the site's actions ask for."""
        return {}

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        return ("id__startswith", "subject__startswith", "note__icontains", search_by_name())

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return GrantList

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(ISSUE)

    def revoke(self, row: Grant, reason: str) -> bool:
        return revocations.revoke(row.pk, reason)

    def describe(self, row: Grant) -> Any:
        return showing.lines(
            [showing.code(row.pk), showing.said(row.note)] if row.note else [showing.code(row.pk)]
        )

    # Issuing

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = GrantForm(
            request.POST if request.method == "POST" else None,
            request=request,
            site=self.admin_site,
            scopes_in_use=self.scopes_in_use(),
            currencies=self.currencies_in_use(),
        )
        if request.method == "POST" and form.is_valid():
            chain = issue_once(request, form, partial(self._issue, request, form))
            if chain is not None:
                return shown_once(
                    request,
                    self,
                    template="admin/agentweb/grant_issued.html",
                    title=_("The grant is issued"),
                    value=encode_chain([member.document for member in chain]),
                    grant=chain[-1],
                    until=from_unix(chain[-1].expires),
                    document=showing.document(chain[-1].document),
                    unused=unused_scopes(chain[-1].scopes, self.scopes_in_use()),
                )
        return guided_form(
            request, self, form, layout_of(form), title=_("Issue a grant"), submit=_("Issue the grant")
        )

    def _issue(self, request: HttpRequest, form: GrantForm) -> tuple[GrantDocument, ...]:
        chain = grants.issue(site=form.audience or "", **form.wanted)
        self.log_addition(request, Grant(pk=chain[-1].id), _issued(chain[-1]))
        return chain

    # The list

    @admin.display(description=_("Note"), ordering="note", empty_value="–")
    def note_text(self, row: Grant) -> Any:
        return showing.said(row.note) if row.note else showing.NOTHING

    @admin.display(description=_("Scopes"))
    def scopes_short(self, row: Grant) -> Any:
        chain = chain_of(row)
        if not chain:
            return showing.badge("bad", _("unreadable"))
        scopes = chain[-1].scopes
        more = len(scopes) - _SHOWN_SCOPES
        shown: list[object] = [showing.short_text(scope) for scope in scopes[:_SHOWN_SCOPES]]
        if more > 0:
            shown.append(ngettext("and %d more", "and %d more", more) % more)
        return showing.lines(shown)

    @admin.display(description=_("Agent's key"), ordering="subject")
    def holder(self, row: Grant) -> SafeString:
        return showing.short(row.subject)

    @admin.display(description=_("Spent"))
    def spending(self, row: Grant) -> Any:
        mandate = _mandate_of(row)
        if mandate is None or not mandate.currency:
            return "–"
        return gettext("%(spent)s of %(total)s") % {
            "spent": showing.amount(mandate.spent, mandate.currency).partition(" ")[0],
            "total": showing.amount(mandate.total, mandate.currency),
        }

    @admin.display(description=_("State"))
    def state(self, row: Grant) -> SafeString:
        at = now_datetime()
        mandate = _mandate_of(row)
        if row.revoked_at is None and row.expires_at > at:
            if mandate is not None and mandate.max_uses is not None and mandate.uses >= mandate.max_uses:
                return showing.badge("over", _("used"))
            chain = chain_of(row)
            if chain and max(grant.not_before for grant in chain) > now():
                return showing.badge("waiting", _("not begun"))
        return state_badge(row, at)

    @admin.display(description=_("Grant"), ordering="id")
    def ident_short(self, row: Grant) -> SafeString:
        return showing.short(row.pk)

    @admin.display(description=_("Grant"))
    def ident(self, row: Grant) -> SafeString:
        return showing.code(row.pk)

    # The page of one grant

    @admin.display(description=_("Person"))
    def person_detail(self, row: Grant) -> SafeString:
        if row.user is None:
            return showing.said(gettext("Nobody: the agent acts as an anonymous visitor with these scopes."))
        return super().person_detail(row)

    @admin.display(description=_("Agent's key"))
    def holder_detail(self, row: Grant) -> SafeString:
        return _key_detail(row.subject)

    @admin.display(description=_("Issued by"))
    def issued_by(self, row: Grant) -> SafeString:
        return _key_detail(row.issuer)

    @admin.display(description=_("Scopes"))
    def scopes_in_words(self, row: Grant) -> SafeString:
        chain = chain_of(row)
        in_use = self.scopes_in_use()
        scopes = chain[-1].scopes if chain else ()
        return showing.lines(_scope_in_words(pattern, in_use) for pattern in scopes)

    @admin.display(description=_("Spending"))
    def spending_detail(self, row: Grant) -> Any:
        mandate = _mandate_of(row)
        if mandate is None or not mandate.currency:
            return gettext("It may not spend.")
        parts = {
            "per_tx": showing.amount(mandate.per_tx, mandate.currency),
            "total": showing.amount(mandate.total, mandate.currency),
            "spent": showing.amount(mandate.spent, mandate.currency),
            "left": showing.amount(mandate.total - mandate.spent, mandate.currency),
        }
        said = [
            gettext("Up to %(per_tx)s for one purchase and %(total)s in all.") % parts,
            gettext("Spent %(spent)s, left %(left)s.") % parts,
        ]
        return showing.lines(said)

    @admin.display(description=_("Times"))
    def times(self, row: Grant) -> SafeString:
        stamps = [
            (_("issued or first seen"), row.created_at),
            (_("ends"), row.expires_at),
            (_("last used"), row.last_used_at),
            (_("revoked"), row.revoked_at),
        ]
        return showing.times(stamps)

    @admin.display(description=_("Limits"))
    def limits(self, row: Grant) -> Any:
        chain = chain_of(row)
        mandate = _mandate_of(row)
        said = []
        if mandate is not None and mandate.max_uses is not None:
            said.append(
                gettext("For one action only: used %(uses)d of %(most)d times.")
                % {"uses": mandate.uses, "most": mandate.max_uses}
            )
        if chain and chain[-1].delegate:
            hands = chain[-1].delegate
            said.append(
                ngettext("May be handed on %d time.", "May be handed on %d times in a row.", hands) % hands
            )
        return showing.lines(said) if said else "–"

    @admin.display(description=_("Chain"))
    def chain_detail(self, row: Grant) -> SafeString:
        above = [
            showing.link(self.admin_site, "grant", grant.id, showing.code(grant.id))
            for grant in chain_of(row)[:-1]
        ]
        below = [
            showing.link(self.admin_site, "grant", pk, showing.code(pk))
            for pk in Grant.objects.filter(parent_id=row.pk)
            .order_by("created_at")
            .values_list("pk", flat=True)[:20]
        ]
        said: list[object] = []
        if above:
            said += [gettext("Handed on from:"), *above]
        if below:
            said += [gettext("Handed on to:"), *below]
        return showing.lines(
            said or [gettext("Given directly, and not handed on as far as this site has seen.")]
        )

    @admin.display(description=_("See also"))
    def related(self, row: Grant) -> SafeString:
        site = self.admin_site
        sessions = [
            showing.link(site, Session, pk, showing.said(name or pk))
            for pk, name in Session.objects.filter(grant_id=row.pk)
            .order_by("-created_at")
            .values_list("pk", "client_name")[:20]
        ]
        return showing.lines(
            [
                showing.list_link(site, "receipt", gettext("Receipts of this grant"), q=row.pk),
                showing.list_link(site, "auditentry", gettext("Calls under this grant"), q=row.pk),
                *sessions,
            ]
        )

    @admin.display(description=_("Document"))
    def document(self, row: Grant) -> SafeString:
        chain = chain_of(row)
        return showing.document(chain[-1].document) if chain else showing.badge("bad", _("unreadable"))


def _issued(grant: GrantDocument) -> str:
    return f"Issued to {grant.subject}: {' '.join(grant.scopes)}"[:1_000]


def _mandate_of(row: Any) -> Mandate | None:
    if not hasattr(row, "agentweb_mandate"):
        row.agentweb_mandate = Mandate.objects.filter(pk=row.pk).first()
    found: Mandate | None = row.agentweb_mandate
    return found


def _key_detail(key: str) -> SafeString:
    said: list[object] = [showing.code(key)]
    with suppress(ValueError):  # a session's handle is no key
        said.append(gettext("Thumbprint (keyid): %s") % thumbprint(key))
    return showing.lines(said)


def _scope_in_words(pattern: str, in_use: ScopesInUse) -> SafeString:
    titles = [
        title
        for scope, uses in sorted(in_use.items())
        if scope and covers(pattern, scope)
        for title, _e in uses
    ]
    words = ", ".join(titles) if titles else gettext("no action of this site asks for it")
    return showing.lines([showing.pair(showing.code(pattern), words)])
