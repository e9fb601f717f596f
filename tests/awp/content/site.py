"""A site of many kinds of pages, for everything that looks at them: views, a URLconf and sitemaps.

``PAGES`` are its articles; a test may change them. ``visits`` counts who came by.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.sitemaps import Sitemap
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    StreamingHttpResponse,
)
from django.middleware.csrf import get_token
from django.urls import include, path
from django.utils import timezone, translation
from django.utils.translation import get_language

from tests.site.models import Note

PAGES: dict[str, str] = {}
visits: Counter[str] = Counter()
ROBOTS: str | Callable[[], HttpResponse] = ""
UNTIL = '<meta name="robots" content="max-snippet: 20, unavailable_after: 2031-06-25T15:00:00Z">'
SAID = ""
seen: dict[str, Any] = {}


def html(body: str, *, title: str = "A page", head: str = "", **headers: str) -> HttpResponse:
    beginning = f"<!doctype html><html><head><title>{title}</title>{head}</head><body><nav>Menu</nav>"
    return HttpResponse(f"{beginning}<main>{body}</main></body></html>", headers=headers or None)


def article(request: HttpRequest, name: str) -> HttpResponse:
    visits[name] += 1
    if name not in PAGES:
        raise Http404(name)
    return html(f"<h1>{name.title()}</h1><p>{PAGES[name]}</p>", title=name.title())


def with_etag(request: HttpRequest) -> HttpResponse:
    return html(f"<p>At {time.monotonic_ns()}.</p>", ETag='"one"')


def with_form(request: HttpRequest) -> HttpResponse:
    token = get_token(request)
    hidden = f'<input type="hidden" name="csrfmiddlewaretoken" value="{token}">'
    return html(
        f"<p>Write to us.</p><form>{hidden}</form>", head=f'<script nonce="{time.monotonic_ns()}"></script>'
    )


def who(request: Any) -> HttpResponse:
    seen.update(
        cookies=dict(request.COOKIES),
        user=request.user.username,
        session=dict(request.session),
        language=get_language(),
        host=request.get_host(),
        is_secure=request.is_secure(),
        agent=request.headers["User-Agent"],
        authorization=request.headers.get("Authorization"),
        zone=timezone.get_current_timezone_name(),
    )
    translation.activate("de")
    timezone.activate("Asia/Tokyo")
    request.session["basket"] = ["shoe"]
    return html(f"<p>Hello {request.user.username or 'visitor'}.</p>")


def crash(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("the shelf fell over")


def exits(request: HttpRequest) -> HttpResponse:
    raise SystemExit(3)


def dies(request: HttpRequest) -> HttpResponse:
    os._exit(9)


def hangs(request: HttpRequest) -> HttpResponse:
    while True:
        try:
            time.sleep(0.01)
        except Exception:  # noqa: S112 - as some code of a site's does
            continue


def stays(request: HttpRequest) -> HttpResponse:
    while True:
        try:
            time.sleep(0.01)
        except BaseException:  # noqa: S112 - nothing ends it but a kill
            continue


def leaks(request: HttpRequest) -> HttpResponse:
    transaction.atomic().__enter__()
    Note.objects.create(text="never there")
    return html("<p>Leaky.</p>")


def leaks_and_crashes(request: HttpRequest) -> HttpResponse:
    transaction.atomic().__enter__()
    raise RuntimeError("in the middle of it")


def by_hand(request: HttpRequest) -> HttpResponse:
    transaction.set_autocommit(False)
    Note.objects.create(text="never there")
    return html("<p>By hand.</p>")


def interrupts(request: HttpRequest) -> HttpResponse:
    raise KeyboardInterrupt


def is_interrupted(request: HttpRequest) -> HttpResponse:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
    return html("<p>Nobody is patient.</p>")


def forbidden(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied


def sign_in(request: HttpRequest) -> HttpResponse:
    return html('<h1>Sign in</h1><p>To see it.</p><form><input name="p" type="Password"></form>')


def to(location: str, status: int = 302) -> Any:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=status, headers={"Location": location})

    return view


def answer(content: bytes, kind: str, **headers: str) -> Any:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(content, content_type=kind, headers=headers or None)

    return view


def streamed(request: HttpRequest) -> StreamingHttpResponse:
    parts = [
        b"<html><head><title>Streamed</title></head><body><main><p>One.</p>",
        b"<p>Two.</p></main></body></html>",
    ]
    return StreamingHttpResponse(iter(parts))


def endless(request: HttpRequest) -> StreamingHttpResponse:
    def parts() -> Iterator[bytes]:
        while True:
            yield b"<p>More.</p>" * 1_000

    return StreamingHttpResponse(parts())


def events(request: HttpRequest) -> StreamingHttpResponse:
    def parts() -> Iterator[bytes]:
        yield b""
        raise AssertionError("nobody reads what is no page")

    return StreamingHttpResponse(parts(), content_type="text/event-stream")


def download(request: HttpRequest) -> FileResponse:
    return FileResponse(open(__file__, "rb"), content_type="application/pdf")


@login_required(login_url="/enter/")
def private(request: HttpRequest) -> HttpResponse:
    return html("<p>Yours.</p>")


def notes(request: HttpRequest) -> HttpResponse:
    return html("".join(f"<p>{note.text}</p>" for note in Note.objects.order_by("pk")))


def robots(request: HttpRequest) -> HttpResponse:
    if callable(ROBOTS):
        return ROBOTS()
    if ROBOTS == "503":
        return HttpResponse(status=503)
    if not ROBOTS:
        raise Http404
    return HttpResponse(ROBOTS, content_type="text/plain")


def rules(request: HttpRequest, left: int) -> HttpResponse:
    """What disallows one article, so many redirects away."""
    if left:
        return HttpResponse(status=301, headers={"Location": f"/rules/{left - 1}/"})
    return HttpResponse("User-agent: *\nDisallow: /articles/blue\n", content_type="text/plain")


def spoken(request: HttpRequest) -> HttpResponse:
    words = {"en": "Good morning.", "nl": "Goedemorgen.", "de": "Guten Morgen."}
    return html(f"<p>{words[get_language()]}</p>", title="Greeting")


def same_everywhere(request: HttpRequest) -> HttpResponse:
    return html("<p>Always the same.</p>")


class Articles(Sitemap):
    def items(self) -> list[str]:
        return list(PAGES)

    def location(self, item: str) -> str:
        return f"/articles/{item}/"


class Paths(Sitemap):
    def __init__(self, *paths: str) -> None:
        self.paths = list(paths)

    def items(self) -> list[str]:
        return self.paths

    def location(self, item: str) -> str:
        return item


sitemaps: dict[str, Any] = {"articles": Articles}

urlpatterns = [
    path("", same_everywhere),
    path("articles/<str:name>/", article),
    path("etag/", with_etag),
    path("form/", with_form),
    path("who/", who),
    path("crash/", crash),
    path("exits/", exits),
    path("dies/", dies),
    path("hangs/", hangs),
    path("stays/", stays),
    path("leaks/", leaks),
    path("leaks-and-crashes/", leaks_and_crashes),
    path("by-hand/", by_hand),
    path("interrupts/", interrupts),
    path("is-interrupted/", is_interrupted),
    path("sign-in/", sign_in),
    path("mine/", to("/sign-in/?return_to=/mine/")),
    path("ours/", to("/sign-in/?return_to=https%3A//shop.example/ours/", 301)),
    path("old-sign-in/", to("/sign-in/", 301)),
    path("with-box/", to("/box/")),
    path("box/", lambda request: HttpResponse("<header><input type=password></header><main><p>Hi</main>")),
    path("forbidden/", forbidden),
    path("private/", private),
    path("enter/", same_everywhere),
    path("to-login/", to("/enter/?next=/to-login/")),
    path("moved/", to("/articles/red/", 301)),
    path("moved-relative/", to("../articles/red/?ref=1", 308)),
    path("loop/", to("/loop/")),
    path("away/", to("https://elsewhere.example/")),
    path("away-2/", to("//elsewhere.example/x")),
    path("guide.md", answer(b"# Guide\n\nRead *this*.\n", "text/markdown; charset=utf-8")),
    path("plain/", answer("Bonjour, ça va".encode("latin-1"), "text/plain; charset=iso-8859-1")),
    path("data/", answer(b"{}", "application/json")),
    path("zipped/", answer(b"\x1f\x8b", "text/html", **{"Content-Encoding": "gzip"})),
    path("tag/", answer(b"<p>Hi</p>", "text/html", **{"X-Robots-Tag": "otherbot: nofollow, noindex"})),
    path("tag-2/", answer(b"<p>Hi</p>", "text/html", **{"X-Robots-Tag": "noarchive, NOINDEX"})),
    path("meta/", lambda request: html("<p>Hi</p>", head='<meta name="robots" content="noindex">')),
    path("until/", lambda request: html("<p>Hi</p>", head=UNTIL, ETag='"same"')),
    path("said/", lambda request: HttpResponse("<p>é</p>".encode(), content_type=SAID)),
    path("empty/", lambda request: html("")),
    path("teapot/", lambda request: HttpResponse(status=418)),
    path("busy/", lambda request: HttpResponse(status=503)),
    path("download/", download),
    path("streamed/", streamed),
    path("endless/", endless),
    path("events/", events),
    path("notes/", notes),
    path("spoken/", spoken),
    path("robots.txt", robots),
    path("rules/<int:left>/", rules),
    path("", include("agentweb.urls")),
]
