"""The URLs of AIP: what a program that uses the site's pages calls, below ``/__aim/``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from django.urls import URLPattern, URLResolver, re_path

from agentweb.access import callers
from agentweb.aip.addresses import FORMS, JSON_FORM
from agentweb.aip.bridge.views import BridgeView
from agentweb.aip.invoke import InvokeView
from agentweb.aip.routes import PageResolver
from agentweb.aip.sessions import CurrentSessionView, SessionsView
from agentweb.aip.sitemap import listed_pages
from agentweb.catalog import page_paths
from agentweb.catalog.registry import registry
from agentweb.http import cors
from agentweb.http.doors import Door, advertise
from agentweb.http.mount import path_of
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


def _beginnings(prefix: str) -> Iterable[str]:
    if path_of("sessions") is None:
        return
    yield f"{prefix}/{PREFIX}/"
    yield from (prefix + re.escape(form.site_map) for form in FORMS)
    stems = (prefix + page_paths.as_regex(page.path) for page in registry.pages())
    yield from (rf"{stem}\.(?:json|toon)" for stem in stems)


cors.keep_off("aip", _beginnings)
advertise(Door("invoke", f"/{PREFIX}/invoke", "application/json"))
advertise(
    Door(
        "pages",
        JSON_FORM.site_map,
        JSON_FORM.media_type,
        is_open=lambda: bool(listed_pages(callers.anonymous(""))),
    )
)
