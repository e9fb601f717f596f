"""The URLs of the pages for people, below PEOPLE_PREFIX."""

from __future__ import annotations

import re

from django.urls import URLPattern, URLResolver, re_path

from agentweb import conf
from agentweb.people.views import ApprovalsView, ApprovalView

_PREFIX = re.escape(conf.get("PEOPLE_PREFIX"))

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(rf"^{_PREFIX}/approvals/?$", ApprovalsView.as_view(), name="approvals"),
    re_path(
        rf"^{_PREFIX}/approvals/(?P<approval_id>ap_[A-Za-z0-9_-]{{22}})/?$",
        ApprovalView.as_view(),
        name="approval",
    ),
]
