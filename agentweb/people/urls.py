"""The URLs of the pages for people, below PEOPLE_PREFIX."""

from __future__ import annotations

import re

from django.urls import URLPattern, URLResolver, re_path

from agentweb import conf
from agentweb.people.connected import AgentsView, EndView, ReceiptsView
from agentweb.people.connecting import ConnectView, TokenView
from agentweb.people.enrolling import KeyView
from agentweb.people.views import ApprovalsView, ApprovalView

_PREFIX = re.escape(conf.get("PEOPLE_PREFIX"))

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(rf"^{_PREFIX}/?$", AgentsView.as_view(), name="agents"),
    re_path(rf"^{_PREFIX}/connect/?$", ConnectView.as_view(), name="connect"),
    re_path(rf"^{_PREFIX}/token/?$", TokenView.as_view(), name="person-token"),
    re_path(rf"^{_PREFIX}/key/?$", KeyView.as_view(), name="person-key"),
    re_path(rf"^{_PREFIX}/end/?$", EndView.as_view(), name="end"),
    re_path(rf"^{_PREFIX}/receipts/?$", ReceiptsView.as_view(), name="person-receipts"),
    re_path(rf"^{_PREFIX}/approvals/?$", ApprovalsView.as_view(), name="approvals"),
    re_path(
        rf"^{_PREFIX}/approvals/(?P<approval_id>ap_[A-Za-z0-9_-]{{22}})/?$",
        ApprovalView.as_view(),
        name="approval",
    ),
]
