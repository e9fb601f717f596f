"""Optional middleware: a page's own answer says where its manifest is, and may be the manifest; and a site's policy for
other origins that leaves agents' paths to agentweb."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from corsheaders.middleware import CorsMiddleware as SitesCorsMiddleware
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from agentweb import conf
from agentweb.aip.discovery import LinkedPage, linked_page, links_of, preferred_form
from agentweb.aip.views import PageManifestView
from agentweb.http import cors

_METHODS: Final = ("GET", "HEAD")

_Next = Callable[[HttpRequest], HttpResponseBase] | Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class PageLinksMiddleware:
    """Adds ``Link: </cart.json>; rel="alternate"; type="application/json"`` to the HTML of pages that agents may read.

    With AGENTWEB["PAGE_NEGOTIATION"], who prefers JSON or TOON to HTML gets the manifest at the page's own URL. It may
    stand anywhere in MIDDLEWARE; where LocaleMiddleware is, after it.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: _Next) -> None:
        self.get_response: Any = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._answer_async(request)
        page = _asked(request)
        manifest = _answered(_manifest_view(request, page))
        response: HttpResponseBase = self.get_response(request) if manifest is None else manifest
        return _linked(response, page, is_manifest=manifest is not None)

    async def _answer_async(self, request: HttpRequest) -> HttpResponseBase:
        page = _asked(request)
        view = _manifest_view(request, page)
        manifest = None if view is None else await sync_to_async(_answered, thread_sensitive=True)(view)
        response: HttpResponseBase = await self.get_response(request) if manifest is None else manifest
        return _linked(response, page, is_manifest=manifest is not None)


class CorsMiddleware(SitesCorsMiddleware):
    """django-cors-headers, with the site's own settings, for all paths but agentweb's, which are open to every origin
    without credentials and answer for themselves. It stands in MIDDLEWARE where ``corsheaders.middleware`` would."""

    def is_enabled(self, request: HttpRequest) -> bool:
        return not cors.is_ours(request.path_info) and super().is_enabled(request)


def _asked(request: HttpRequest) -> LinkedPage | None:
    return linked_page(request.path_info) if request.method in _METHODS else None


def _manifest_view(request: HttpRequest, page: LinkedPage | None) -> Callable[[], HttpResponseBase] | None:
    """What answers with the manifest, if the caller prefers one and the site lets them."""
    if page is None or not conf.get("PAGE_NEGOTIATION"):
        return None
    form = preferred_form(request.META.get("HTTP_ACCEPT", ""))
    if form is None:
        return None
    view = PageManifestView.as_view(page=page.page, form=form, is_at_page=True)
    return lambda: view(request, **page.kwargs)


def _answered(view: Callable[[], HttpResponseBase] | None) -> HttpResponseBase | None:
    """The manifest; None where there is none for this caller, and the page itself answers as it does to everybody."""
    if view is None:
        return None
    try:
        return view()
    except Http404:
        return None


def _linked(response: HttpResponseBase, page: LinkedPage | None, *, is_manifest: bool) -> HttpResponseBase:
    if page is None:
        return response
    if conf.get("PAGE_NEGOTIATION"):
        patch_vary_headers(response, ["Accept"])
    is_html = response.headers.get("Content-Type", "").partition(";")[0].strip().lower() == "text/html"
    if not is_manifest and is_html and 200 <= response.status_code < 300:
        earlier = response.headers.get("Link")
        response.headers["Link"] = ", ".join([*([earlier] if earlier else []), *links_of(page)])
    return response
