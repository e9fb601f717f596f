"""The URLs of agent-actions: the well-known manifest, the catalog's paths, receipts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.urls import URLPattern, URLResolver, re_path

from agentweb import conf
from agentweb.agent_actions.flow_list import FlowsView
from agentweb.agent_actions.flows import FlowView
from agentweb.agent_actions.grant_requests import GrantRequestsView, GrantRequestView
from agentweb.agent_actions.mount import (
    FLOWS,
    GRANTS,
    MANIFEST,
    NEGOTIATION,
    OWN_NAME,
    PAYMENT_EVENTS,
    RECEIPTS,
    REFUNDS,
    REVOCATIONS,
)
from agentweb.agent_actions.negotiations import NegotiationsView, NegotiationView
from agentweb.agent_actions.payment_events import PaymentEventsView
from agentweb.agent_actions.receipts import ReceiptsHeadView, ReceiptsView, ReceiptView, VerifyReceiptView
from agentweb.agent_actions.refunds import RefundsView, RefundView
from agentweb.agent_actions.revocations import RevocationsHeadView, RevocationsView
from agentweb.agent_actions.routes import CatalogResolver
from agentweb.agent_actions.views import ManifestView
from agentweb.catalog.registry import registry
from agentweb.http import cors
from agentweb.http.doors import Door, advertise
from agentweb.http.mount import path_of
from agentweb.http.views import NothingHere
from agentweb.negotiation import negotiator

_MANIFEST = MANIFEST.replace(".", r"\.")

well_known: list[URLPattern | URLResolver] = [
    re_path(rf"^{_MANIFEST}/?$", ManifestView.as_view(), name="agent-actions-manifest"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(rf"^{RECEIPTS}/?$", ReceiptsView.as_view(), name="receipts"),
    re_path(rf"^{RECEIPTS}/head/?$", ReceiptsHeadView.as_view(), name="receipts-head"),
    re_path(rf"^{RECEIPTS}/verify/?$", VerifyReceiptView.as_view(), name="receipts-verify"),
    re_path(rf"^{RECEIPTS}/(?P<receipt_id>[^/]+)/?$", ReceiptView.as_view(), name="receipt"),
    re_path(rf"^{REFUNDS}/?$", RefundsView.as_view(), name="refunds"),
    re_path(rf"^{REFUNDS}/(?P<refund_id>[^/]+)/?$", RefundView.as_view(), name="refund"),
    re_path(rf"^{PAYMENT_EVENTS}/?$", PaymentEventsView.as_view(), name="payment-events"),
    re_path(rf"^{REVOCATIONS}/?$", RevocationsView.as_view(), name="revocations"),
    re_path(rf"^{REVOCATIONS}/head/?$", RevocationsHeadView.as_view(), name="revocations-head"),
    re_path(rf"^{FLOWS}/?$", FlowsView.as_view(), name="flows"),
    re_path(rf"^{FLOWS}/(?P<flow_name>[^/]+)/?$", FlowView.as_view(), name="flow"),
    re_path(rf"^{NEGOTIATION}/?$", NegotiationsView.as_view(), name="negotiations"),
    re_path(rf"^{NEGOTIATION}/(?P<negotiation_id>[^/]+)/?$", NegotiationView.as_view(), name="negotiation"),
    re_path(rf"^{GRANTS}/?$", GrantRequestsView.as_view(), name="grants"),
    re_path(
        rf"^{GRANTS}/requests/(?P<grant_request_id>[^/]+)/?$",
        GrantRequestView.as_view(),
        name="grant-request",
    ),
    re_path(rf"^{OWN_NAME}(?:/|$)", NothingHere.as_view()),
    CatalogResolver(),
]


def _beginnings(prefix: str) -> Iterable[str]:
    if path_of("receipts") is None:
        return
    yield f"{prefix}/{OWN_NAME}/"
    own = f"/{conf.get('ACTION_PREFIX')}/"
    starts = (
        own if each.path.startswith(own) else each.path.partition("{")[0] for each in registry.actions()
    )
    yield from dict.fromkeys(prefix + re.escape(start) for start in (own, *sorted(starts)))


cors.keep_off("agent_actions", _beginnings)
advertise(Door("agent_actions", f"/{MANIFEST}", "application/json", is_well_known=True))
advertise(Door("receipts", f"/{RECEIPTS}", "application/json"))
advertise(Door("refunds", f"/{REFUNDS}", "application/json"))
advertise(Door("grants", f"/{GRANTS}", "application/json", is_open=lambda: bool(conf.get("GRANT_REQUESTS"))))
advertise(Door("negotiation", f"/{NEGOTIATION}", "application/json", is_open=negotiator.is_set))
advertise(Door("revocations", f"/{REVOCATIONS}", "application/json"))
