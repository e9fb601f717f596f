"""``/__aim/bridge``: for ``bridge.js`` in the browser of a logged-in person, by their cookie; never for agents."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from agentweb.access import limits
from agentweb.aip.bridge import calls, messages, open_pages
from agentweb.aip.bridge.logins import owner_of
from agentweb.aip.bridge.messages import Message
from agentweb.aip.bridge.open_pages import Owner
from agentweb.aip.bridge.source import reader
from agentweb.aip.models import MAX_PAGE_LENGTH
from agentweb.catalog.page_paths import canonical
from agentweb.catalog.pages import Page, page_at
from agentweb.http import bodies, streams
from agentweb.http.errors import as_agent_error, error_response, last_resort
from agentweb.http.views import json_response, method_not_allowed
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AuthorizationError, Code, RequestError
from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import loads

RATE = (20.0, 200)
"""Messages of one person's pages: (a second, burst)."""


class _Csrf(CsrfViewMiddleware):
    """Django's own check, whose refusal we answer in JSON."""

    def _reject(self, request: HttpRequest, reason: str) -> Any:
        return reason


# We check the token ourselves; and a page that is not logged in is answered in JSON, not sent to a login page.
@method_decorator([csrf_exempt, login_not_required], name="dispatch")
class BridgeView(View):
    """``POST``: what the page says. ``GET ?tab=``: the stream of what agents ask of it."""

    http_method_names = ("get", "post")

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        view = super().as_view(**initkwargs)
        for alias in connections:
            view = transaction.non_atomic_requests(using=alias)(view)
        return view

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request_id = random_id("rq_")
        response: HttpResponseBase
        try:
            response = super().dispatch(request, *args, **kwargs)
        except Exception as error:
            try:
                response = error_response(as_agent_error(error, request_id), request, request_id)
            except Exception:
                response = last_resort(request_id)
        response["X-Request-Id"] = request_id
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    def get(self, request: HttpRequest) -> HttpResponseBase:
        owner = owner_of(request)
        tab = request.GET.get("tab", "")
        if not messages.TAB.fullmatch(tab):
            raise open_pages.gone()
        open_pages.page_of(owner, tab)
        return streams.respond(request, reader, topic=tab, holder=f"user:{owner.user_id}")

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        raise method_not_allowed([name.upper() for name in self.http_method_names])

    def post(self, request: HttpRequest) -> HttpResponse:
        # Before Django's check, which reads a form from the body when the headers say that it is one.
        length = bodies.announced_length(request)
        _check_csrf(request)
        owner = owner_of(request, begins=True)
        limits.take(f"bridge:{owner.user_id}", RATE)
        body = bodies.read(request, length)
        message = messages.read(loads(body, max_bytes=bodies.limit()))
        return json_response(dumps(_take(owner, message, request.user)))


def _take(owner: Owner, message: Message, person: Any) -> dict[str, Any]:
    """What the page is told back."""
    if message.tab is None:
        path = canonical(message.page or "/")
        page = _page(path, person)
        tab = open_pages.arrive(owner, path, page, message.news)
        return {"tab": tab, "page": path, "actions": [each.name for each in page.browser_actions]}
    path = open_pages.page_of(owner, message.tab)
    late = [
        each.call
        for each in message.answers
        if not calls.answer(message.tab, each.call, text=each.text, is_refused=each.is_refused)
    ]
    if message.is_closed:
        open_pages.leave(owner, message.tab)
    else:
        open_pages.tell(owner, message.tab, _page(path, person), message.news)
    return {"tab": message.tab, "late": late} if late else {"tab": message.tab}


def _page(path: str, person: Any) -> Page:
    found = page_at(path) if len(path) <= MAX_PAGE_LENGTH else None
    if found is None or not found[0].is_visible_to(person, found[1]):
        raise RequestError(Code.NOT_FOUND, "The site has no page for agents at this path.", field="page")
    return found[0]


def _check_csrf(request: HttpRequest) -> None:
    check = _Csrf(lambda _: HttpResponse())
    check.process_request(request)
    reason = check.process_view(request, lambda *_: HttpResponse(), (), {})
    if reason:
        raise AuthorizationError(Code.NOT_ALLOWED, f"The page has to show its CSRF token. {reason}")
