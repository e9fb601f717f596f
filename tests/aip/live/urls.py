"""The page of the site, its script, and a way to log in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import include, path
from django.views.static import serve

import agentweb
from agentweb.catalog.pages import page

HERE = Path(__file__).parent
CSP = "default-src 'none'; script-src 'self'; connect-src 'self'"
COLOUR = {
    "type": "object",
    "required": ["colour"],
    "properties": {"colour": {"type": "string", "enum": ["red", "green"]}, "coats": {"type": "integer"}},
    "additionalProperties": False,
}


def _browser(name: str, effect: str = "read", scope: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"To {name} the board.", "effect": effect, "scope": scope, **more}


page(
    "/board",
    title="Board",
    state=lambda ctx: {"of": ctx.user.get_username()},
    browser_actions=[
        _browser("paint", "write", "board:write", input=COLOUR),
        _browser("look"),
        _browser("dawdle", "write", "board:write"),
        _browser("dawdle_and_look"),
        _browser("hold", "write", "board:write"),
        _browser("cut", "write", "board:write"),
        _browser("refuse", "write", "board:write"),
        _browser("fail", "write", "board:write"),
        _browser("absent"),
    ],
)


def board(request: HttpRequest, number: int = 0) -> HttpResponse:
    template = engines["django"].from_string((HERE / "board.html").read_text())
    return HttpResponse(template.render({}, request), headers={"Content-Security-Policy": CSP})


@login_not_required
def script(request: HttpRequest) -> HttpResponse:
    return HttpResponse((HERE / "board.js").read_bytes(), content_type="text/javascript")


@login_not_required
def enter(request: HttpRequest, name: str) -> HttpResponse:
    login(request, User.objects.get(username=name), backend="django.contrib.auth.backends.ModelBackend")
    return HttpResponse("in")


def leave(request: HttpRequest) -> HttpResponse:
    logout(request)
    return HttpResponse("out")


def empty(request: HttpRequest) -> HttpResponse:
    """What some sites have for a logout: no signal tells of it."""
    request.session.flush()
    return HttpResponse("emptied")


urlpatterns = [
    path("board", board),
    path("board-script", script),
    path("enter/<name>", enter),
    path("leave", leave),
    path("empty", empty),
    path(
        "static/<path:path>",
        login_not_required(serve),
        {"document_root": Path(agentweb.__file__).parent / "static"},
    ),
    path("", include("agentweb.urls")),
]
