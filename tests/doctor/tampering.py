"""Middleware and URLs that break what the doctor looks at, one thing each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path

HERE = __name__
MANIFEST = "/.well-known/agent-actions.json"
GetResponse = Callable[[HttpRequest], HttpResponse]


def _after(change: Callable[[HttpRequest, HttpResponse], HttpResponse | None]) -> Any:
    def middleware(get_response: GetResponse) -> GetResponse:
        def tampered(request: HttpRequest) -> HttpResponse:
            response = get_response(request)
            return change(request, response) or response

        return tampered

    return middleware


def _instead(takes: Callable[[HttpRequest], bool], status: int) -> Any:
    def middleware(get_response: GetResponse) -> GetResponse:
        def tampered(request: HttpRequest) -> HttpResponse:
            return HttpResponse("no", status=status) if takes(request) else get_response(request)

        return tampered

    return middleware


def _set(name: str, value: str) -> Any:
    def change(request: HttpRequest, response: HttpResponse) -> None:
        response[name] = value

    return _after(change)


def _without(name: str) -> Any:
    def change(request: HttpRequest, response: HttpResponse) -> None:
        del response[name]

    return _after(change)


def _other_bytes(request: HttpRequest, response: HttpResponse) -> None:
    if request.method == "GET" and response.status_code == 200:
        response.content += b"\n"


def _to_login(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    return HttpResponse(status=302, headers={"Location": "/login/"})


def _cookie(request: HttpRequest, response: HttpResponse) -> None:
    response.set_cookie("seen", "1")


redirects = _after(_to_login)
sets_a_cookie = _after(_cookie)
rewrites = _after(_other_bytes)
looks_into_the_session = _set("Vary", "Agent-Grant, Agent-Key, Cookie")
calls_it_html = _set("Content-Type", "text/html; charset=utf-8")
forgets_the_charset = _set("Content-Type", "application/json")
echoes_the_origin = _set("Access-Control-Allow-Origin", "https://shop.example")
names_requests_itself = _set("X-Request-Id", "4bf92f3577b34da6")
removes_the_tag = _without("ETag")
removes_vary = _without("Vary")
refuses_head = _instead(lambda request: request.method == "HEAD", 405)
answers_preflights = _instead(
    lambda request: "HTTP_ORIGIN" in request.META and request.method == "OPTIONS", 200
)
wants_a_csrf_token = _instead(lambda request: request.method == "POST", 403)
insists_on_no_slash = _instead(lambda request: request.path.endswith("/"), 404)
knows_no_manifest = _instead(lambda request: request.path.rstrip("/") == MANIFEST, 503)
knows_no_content = _instead(lambda request: request.path.startswith("/awp/content/cart.md"), 404)
knows_no_head = _instead(lambda request: request.path == "/nowhere", 404)
has_its_own_404 = _instead(lambda request: "no-such-name" in request.path, 404)
takes_contacts = _instead(lambda request: request.path.startswith("/v2/contacts/"), 418)
takes_an_action = _instead(lambda request: request.path.startswith("/agent/"), 200)


def drops_the_token(get_response: GetResponse) -> GetResponse:
    def tampered(request: HttpRequest) -> HttpResponse:
        request.META.pop("HTTP_AUTHORIZATION", None)
        return get_response(request)

    return tampered


def adds_to_the_query(get_response: GetResponse) -> GetResponse:
    def tampered(request: HttpRequest) -> HttpResponse:
        if request.path.startswith("/v2/") and request.META["QUERY_STRING"]:
            request.META["QUERY_STRING"] += "&utm_source=x"
        return get_response(request)

    return tampered


def crashes(get_response: GetResponse) -> GetResponse:
    def tampered(request: HttpRequest) -> HttpResponse:
        raise RuntimeError("the middleware is broken")

    return tampered


def own_page(request: HttpRequest, **captured: Any) -> HttpResponse:
    return HttpResponse("front-end")


class NotIncluded:
    urlpatterns = (path("", own_page),)


class UnderAPath:
    urlpatterns = (path("agents/", include("agentweb.urls")),)


class CatchAll:
    urlpatterns = (path("", include("agentweb.urls")), re_path("", own_page))


class WithACart:
    urlpatterns = (path("", include("agentweb.urls")), path("cart/", own_page))


class EverythingFirst:
    urlpatterns = (re_path("", own_page), path("", include("agentweb.urls")))
