"""Page manifests and the site map over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from rest_framework.request import Request

from agentweb.aip import published
from agentweb.aip.addresses import JSON_FORM, Form, links
from agentweb.aip.bridge.live import live
from agentweb.aip.manifest import session_manifest
from agentweb.aip.offers import offers
from agentweb.aip.state import state_of
from agentweb.catalog import page_paths
from agentweb.catalog.pages import Page
from agentweb.http.documents import Place
from agentweb.http.headers import answer_document, is_preflight
from agentweb.http.mount import mount_prefix
from agentweb.http.page_context import PageContext
from agentweb.http.page_urls import below_mount
from agentweb.http.site_urls import nothing_at
from agentweb.http.views import AgentView, method_not_allowed
from agentweb.wire.errors import AgentError, Code, RequestError

_INCLUDE: Final = "include"
_DENIED: Final = "denied"
_OF_OURS: Final = ("user", "auser")
"""Attributes of a request that are those of its caller, once it is known."""


class PageManifestView(AgentView):
    """The manifest of one page in one form: public for everybody, of the session for the holder of a grant.

    A page that the caller may not see is in every respect one that does not exist, so the caller is established
    before anything is said about it, and the site's own 404 is the answer.
    """

    limits_anonymous = False

    page: ClassVar[Page] = None  # type: ignore[assignment]  # as_view() gives it
    form: ClassVar[Form] = JSON_FORM
    is_at_page: ClassVar[bool] = False
    """Whether it answers at the URL of the page itself."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        before = vars(request).copy()
        self.is_hidden = False
        response = super().dispatch(request, *args, **kwargs)
        if not self.is_hidden:
            return response
        # Nobody has resolved this path, and nobody's token was looked at: so the site's 404 page finds the request.
        for name in _OF_OURS:
            vars(request).pop(name, None)
            vars(request).update({name: before[name]} if name in before else {})
        request.resolver_match = None
        raise nothing_at(request.path_info)

    def check_route(self) -> None:
        if self.page.permission is None:
            super().check_route()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if self.page.permission is None:
            super().initial(request, *args, **kwargs)
            return
        try:
            super().initial(request, *args, **kwargs)
        except AgentError:
            # What is wrong with the request is said of pages that everybody may know of: of another one it would tell
            # that it is there, to whoever sends a token of no worth.
            self._require_visible(AnonymousUser(), kwargs)
            raise
        if is_preflight(self.http_request):
            return
        self._require_visible(self.caller.user, kwargs)
        if self.http_request.method not in self.allowed_methods:
            raise method_not_allowed(self.allowed_methods)

    def _require_visible(self, user: Any, kwargs: dict[str, Any]) -> None:
        # No page is at an address with NUL, and a permission may ask a database for it.
        if any("\0" in str(value) for value in kwargs.values()) or not self.page.is_visible_to(user, kwargs):
            self.is_hidden = True
            raise RequestError(Code.NOT_FOUND, "Nothing is here.")

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        with_denied = self.includes_denied()
        path, place = self.path(), Place(self.origin, self.site, mount_prefix())
        grant = self.caller.grant
        if grant is None:
            document = published.page_document(self.page, path, self.caller, form=self.form, place=place)
            return answer_document(self.http_request, document, is_public=self.caller.is_anonymous)
        browser = live(self.caller.user_id, path)
        context = PageContext(self.caller, self.http_request, captured)
        manifest = session_manifest(
            path,
            offers(self.page, self.caller, connected=browser.offers),
            links(place.origin, place.prefix),
            grant=grant,
            state=state_of(self.page, context, request_id=self.request_id, browser=browser),
            browser_connected=browser.is_connected,
            with_denied=with_denied,
        )
        return answer_private(published.written(manifest, self.form), self.form)

    def path(self) -> str:
        """The path of the page, as it is declared but with its parameters filled in."""
        path = below_mount(self.http_request.path_info) or "/"
        if not self.is_at_page:
            path = path.removesuffix("/").removesuffix(self.form.suffix)
        found = page_paths.canonical(path)
        return "/" if found == page_paths.FRONT_PAGE and self.page.path == "/" else found

    def includes_denied(self) -> bool:
        """Whether ``?include=denied`` asks for the actions too that the grant does not cover."""
        wanted = [value for name, value in self.query_pairs if name == _INCLUDE]
        for value in wanted:
            if value != _DENIED:
                raise RequestError(
                    Code.INVALID_PARAMETER,
                    f"include has the one value {_DENIED}, for the actions too that the session may not call.",
                    field=_INCLUDE,
                )
        return bool(wanted)


class SiteMapView(AgentView):
    """The site map in one form: all pages that the caller may know of."""

    limits_anonymous = False

    form: ClassVar[Form] = JSON_FORM

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        place = Place(self.origin, self.site, mount_prefix())
        document = published.map_document(self.caller, form=self.form, place=place)
        return answer_document(self.http_request, document, is_public=self.caller.is_anonymous)


def answer_private(content: bytes, form: Form) -> HttpResponse:
    """What one caller gets: nobody keeps it."""
    response = HttpResponse(content, content_type=form.content_type)
    response["Cache-Control"] = "no-store"
    patch_vary_headers(response, ["Agent-Grant", "Agent-Key", "Authorization"])
    return response
