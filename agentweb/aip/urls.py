"""The URLs of AIP: what a program that uses the site's pages calls, below ``/__aim/``."""

from __future__ import annotations

from typing import Final

from django.urls import URLPattern, URLResolver, re_path

from agentweb.access import callers
from agentweb.aip.addresses import JSON_FORM
from agentweb.aip.bridge.views import BridgeView
from agentweb.aip.invoke import InvokeView
from agentweb.aip.routes import PageResolver
from agentweb.aip.sessions import CurrentSessionView, SessionsView
from agentweb.aip.sitemap import listed_pages
from agentweb.http.doors import Door, advertise
from agentweb.http.views import NothingHere

PREFIX: Final = "__aim"

well_known: list[URLPattern | URLResolver] = []

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(rf"^{PREFIX}/sessions/?$", SessionsView.as_view(), name="sessions"),
    re_path(rf"^{PREFIX}/sessions/current/?$", CurrentSessionView.as_view(), name="current-session"),
    re_path(rf"^{PREFIX}/invoke/?$", InvokeView.as_view(), name="invoke"),
    re_path(rf"^{PREFIX}/bridge/?$", BridgeView.as_view(), name="bridge"),
    re_path(rf"^{PREFIX}(?:/|$)", NothingHere.as_view()),
    PageResolver(),
]

advertise(Door("invoke", f"/{PREFIX}/invoke", "application/json"))
advertise(
    Door(
        "pages",
        JSON_FORM.site_map,
        JSON_FORM.media_type,
        is_open=lambda: bool(listed_pages(callers.anonymous(""))),
    )
)
