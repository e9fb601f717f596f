"""The URLs of AWP: the discovery manifest and the llms files at the root of the host, everything else below ``/awp/``.

A site that has an ``/llms.txt`` of its own keeps it. Below ``/awp/`` everything is ours, and 404 in JSON where it is
nothing: the protocol wants its headers on every answer there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from django.urls import URLPattern, URLResolver, re_path
from django.urls.resolvers import RegexPattern, ResolverMatch

from agentweb.awp import protocol
from agentweb.awp.analytics import listening
from agentweb.awp.analytics.views import AnalyticsView
from agentweb.awp.compliance.page import ValidateView
from agentweb.awp.content import slugs
from agentweb.awp.publishing import published
from agentweb.awp.publishing.published import Languages
from agentweb.awp.search.views import SearchView
from agentweb.awp.views import (
    DocumentView,
    InstructionsView,
    LlmsFullView,
    NothingView,
    PageView,
    SectionView,
    SummaryView,
)
from agentweb.http import cors
from agentweb.http.documents import Place
from agentweb.http.doors import Door, advertise
from agentweb.http.headers import Document
from agentweb.http.mount import path_of
from agentweb.http.site_urls import is_asked_without_us, is_sites_own

_SECTION: Final = r"[a-z0-9_-]{1,60}"


class _UnlessSitesOwn(URLPattern):
    """A path at the root of the host, unless the site itself has something there."""

    def __init__(self, path: str, view: Any, name: str) -> None:
        super().__init__(
            RegexPattern(rf"^{re.escape(path)}/?$", name=name, is_endpoint=True), view, name=name
        )

    def resolve(self, path: str) -> ResolverMatch | None:
        match = super().resolve(path)
        if match is None or is_asked_without_us() or is_sites_own(str(path), is_well_known=True):
            return None
        return match


def _document(build: Callable[[Place, Languages], Document]) -> Any:
    return DocumentView.as_view(build=build)


def _at(path: str, view: Any, name: str) -> Any:
    return re_path(rf"^{re.escape(path)}/?$", view, name=name)


well_known: list[URLPattern | URLResolver] = [
    _at(protocol.WELL_KNOWN, _document(published.well_known), "awp-well-known"),
    _UnlessSitesOwn(protocol.LLMS, _document(published.llms_txt), "llms"),
    _UnlessSitesOwn(protocol.LLMS_FULL, LlmsFullView.as_view(), "llms-full"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    _at(protocol.MANIFEST, _document(published.manifest), "awp-manifest"),
    _at(protocol.SUMMARY, SummaryView.as_view(), "awp-summary"),
    _at(protocol.STRUCTURE, _document(published.site_structure), "awp-structure"),
    _at(protocol.INSTRUCTIONS, InstructionsView.as_view(), "awp-instructions"),
    _at(protocol.FUNCTIONS, _document(published.site_functions), "awp-functions"),
    re_path(
        rf"^{protocol.SECTIONS}/(?P<ident>{_SECTION})\.json/?$", SectionView.as_view(), name="awp-section"
    ),
    re_path(rf"^{protocol.CONTENT}/(?P<slug>{slugs.PATTERN})\.md/?$", PageView.as_view(), name="awp-page"),
    _at(protocol.SEARCH, SearchView.as_view(), "awp-search"),
    _at(protocol.ANALYTICS, AnalyticsView.as_view(), "awp-analytics"),
    _at(protocol.VALIDATE, ValidateView.as_view(), "awp-validate"),
    re_path(rf"^{protocol.ROOT}(?:/|$)", NothingView.as_view()),
]


def _beginnings(prefix: str) -> Iterable[str]:
    if path_of("awp-manifest") is not None:
        yield from ("/llms", f"{prefix}/{protocol.ROOT}/")


cors.keep_off("awp", _beginnings)
advertise(Door("awp", f"/{protocol.WELL_KNOWN}", protocol.JSON, is_well_known=True))
advertise(Door("awp_search", f"/{protocol.SEARCH}", protocol.JSON))
advertise(Door("awp_analytics", f"/{protocol.ANALYTICS}", protocol.JSON, is_open=listening.is_on))

listening.begin()
