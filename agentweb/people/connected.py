"""The page of a person's connected agents: who may do what in their name, what was spent, and how to end it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from agentweb.access import approvals, mandates, principals, revocations, sessions
from agentweb.access.models import Grant, PrincipalKey, Session
from agentweb.access.pairing import NO_SCOPE
from agentweb.catalog.scopes_in_use import scopes_in_use
from agentweb.ledger.models import Receipt
from agentweb.people.offers import Line, lines_of
from agentweb.people.views import PersonView, see_other
from agentweb.wire import strict_json
from agentweb.wire.clock import now_datetime
from agentweb.wire.money import format_amount
from agentweb.wire.visible import visible

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

MAX_LISTED: Final = 100
PAGE: Final = 50

_SESSION: Final = "session:"
_LAST_PAGE: Final = 10_000
_IDENT: Final = re.compile(r"(ss_|gr_)[A-Za-z0-9_-]{22}|ed25519:[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Connected:
    """A session or a grant of the person. ``kind`` is ``"session"`` or ``"grant"``; ``key`` is the agent's key, empty
    for a session; ``spending`` is empty for one that may not spend."""

    kind: str
    id: str
    name: str
    key: str
    lines: Sequence[Line]
    scopes: Sequence[str]
    spending: str
    spent: str
    last_used_at: datetime | None
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """``amount`` is negative money for a refund: ``is_refund`` says so."""

    id: str
    issued_at: datetime
    item: str
    amount: str
    is_refund: bool
    agent_name: str


class AgentsView(PersonView):
    """What is connected at the moment."""

    def get(self, request: HttpRequest) -> HttpResponse:
        connected = connected_to(self.person)
        new = request.GET.get("connected", "")
        context = {
            "connected": connected,
            "keys": _keys_of(self.person),
            "waiting": approvals.waiting_for(self.person).count(),
            "new": next((each for each in connected if each.id == new), None),
            "was_denied": "denied" in request.GET,
            "was_ended": "ended" in request.GET,
        }
        return render(request, "agentweb/people/agents.html", context)


class EndView(PersonView):
    """``POST {"id": …}`` of a session, a grant or a key: it counts no longer, from now on and for good."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest) -> HttpResponse:
        ident = request.POST.get("id", "")
        reason = "ended by the person"
        if not _IDENT.fullmatch(ident):
            raise Http404
        if Session.objects.filter(user=self.person, pk=ident).exists():
            sessions.revoke(ident, reason)
        elif Grant.objects.filter(user=self.person, pk=ident).exists():
            revocations.revoke(ident, reason)
        elif PrincipalKey.objects.filter(user=self.person, public=ident).exists():
            principals.revoke(ident, reason)
        else:
            raise Http404
        return see_other(f"{reverse('agentweb:agents')}?ended=1")


class ReceiptsView(PersonView):
    """What the person's agents bought, the newest first."""

    def get(self, request: HttpRequest) -> HttpResponse:
        text = request.GET.get("page", "1")
        page = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 1
        page = max(1, min(page, _LAST_PAGE))
        own = Grant.objects.filter(user=self.person)
        rows = Receipt.objects.filter(grant__in=own.values("pk")).order_by("-issued_at", "-seq")
        found = list(rows[(page - 1) * PAGE : page * PAGE + 1])
        context = {
            "receipts": _receipt_lines(found[:PAGE]),
            "newer": page - 1 if page > 1 else None,
            "older": page + 1 if len(found) > PAGE else None,
        }
        return render(request, "agentweb/people/receipts.html", context)


def connected_to(person: AbstractBaseUser) -> list[Connected]:
    """What acts for this person: sessions, then grants; the newest of each first. Four queries for any number."""
    at = now_datetime()
    live = {"user_id": person.pk, "revoked_at": None, "expires_at__gt": at}
    own_sessions = list(
        Session.objects.filter(**live).select_related("grant").order_by("-created_at")[:MAX_LISTED]
    )
    own_grants = list(
        Grant.objects.filter(**live)
        .exclude(subject__startswith=_SESSION)
        .exclude(
            issuer__in=PrincipalKey.objects.filter(user_id=person.pk, revoked_at__isnull=False).values(
                "public"
            )
        )
        .order_by("-created_at")[:MAX_LISTED]
    )
    pairs: list[tuple[Session | None, Grant]] = [(session, session.grant) for session in own_sessions]
    pairs += [(None, grant) for grant in own_grants]
    spent = mandates.spent_of([grant.pk for _, grant in pairs])
    in_use = scopes_in_use(person)
    found = []
    for session, grant in pairs:
        document: Any = strict_json.loads(grant.chain.encode())[-1]  # type: ignore[index]
        scopes = [scope for scope in document["scopes"] if scope != NO_SCOPE]
        limit, used = _money(document.get("mandate"), spent.get(grant.pk, 0))
        found.append(
            Connected(
                kind="grant" if session is None else "session",
                id=grant.pk if session is None else session.pk,
                name=visible(grant.note if session is None else session.client_name),
                key=grant.subject if session is None else "",
                lines=lines_of(scopes, in_use),
                scopes=scopes,
                spending=limit,
                spent=used,
                last_used_at=grant.last_used_at if session is None else session.last_seen_at,
                created_at=grant.created_at,
                expires_at=grant.expires_at,
            )
        )
    return found


def _money(mandate: Any, spent: int) -> tuple[str, str]:
    if mandate is None:
        return "", ""
    currency = mandate["currency"]
    return f"{mandate['total']} {currency}", f"{format_amount(spent, currency)} {currency}"


def _keys_of(person: AbstractBaseUser) -> list[PrincipalKey]:
    return [key for key in principals.keys_of(person) if key.revoked_at is None][:MAX_LISTED]


def _receipt_lines(rows: Sequence[Receipt]) -> list[ReceiptLine]:
    grants = {row.grant for row in rows}
    names = dict(Grant.objects.filter(pk__in=grants).values_list("pk", "note"))
    names |= dict(Session.objects.filter(grant__in=grants).values_list("grant_id", "client_name"))
    return [
        ReceiptLine(
            id=row.id,
            issued_at=row.issued_at,
            item=visible(row.item),
            amount=f"{format_amount(row.amount, row.currency)} {row.currency}",
            is_refund=row.kind == Receipt.Kind.REFUND,
            agent_name=visible(names.get(row.grant, "")),
        )
        for row in rows
    ]
