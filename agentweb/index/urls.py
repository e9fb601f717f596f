"""The URLs of the index, all below ``/agent-index/``."""

from __future__ import annotations

from collections.abc import Iterable

from django.urls import URLPattern, URLResolver, re_path

from agentweb import conf
from agentweb.http import cors
from agentweb.http.doors import Door, advertise
from agentweb.http.mount import path_of
from agentweb.http.views import NothingHere
from agentweb.index.mount import FIND, MANIFESTS, ROOT
from agentweb.index.views import FindView, ManifestsView

well_known: list[URLPattern | URLResolver] = []

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(rf"^{FIND}/?$", FindView.as_view(), name="agent-index-find"),
    re_path(rf"^{MANIFESTS}/?$", ManifestsView.as_view(), name="agent-index-manifests"),
    re_path(rf"^{ROOT}(?:/|$)", NothingHere.as_view()),
]


def _beginnings(prefix: str) -> Iterable[str]:
    if path_of("agent-index-find") is not None:
        yield f"{prefix}/{ROOT}/"


cors.keep_off("index", _beginnings)
advertise(Door("index", f"/{FIND}", "application/json", is_open=lambda: "index" in (conf.get("ROOMS") or ())))
