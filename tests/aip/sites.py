"""A site with pages for the tests of manifests: what it shows depends on who looks."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import include, path, re_path

from agentweb import action, page

ORIGIN = "https://shop.example"


def own_page(request: Any, **captured: Any) -> HttpResponse:
    return HttpResponse("<title>the site's own page</title>")


def own_feed(request: Any, **captured: Any) -> HttpResponse:
    return HttpResponse("the site's own feed", content_type="text/plain")


PAGES = (
    path("", own_page),
    path("control-panel/", own_page),
    path("cart/", own_page),
    path("orders/<int:pk>/", own_page),
    path("staff/", own_page),
    path("p/<slug:slug>", own_page),
)


urlpatterns = [path("", include("agentweb.urls")), *PAGES, path("p/feed.json", own_feed)]
"""The site at the root of its host."""


class UnderAPath:
    urlpatterns = (
        path("for/agents/", include("agentweb.urls")),
        path("for/agents/", include(list(PAGES))),
    )


class WithAFrontEnd:
    urlpatterns = (path("", include("agentweb.urls")), *PAGES, re_path("", own_page))


class WithItsOwnManifest:
    urlpatterns = (path("", include("agentweb.urls")), *PAGES, path("cart.json", own_feed))


class BehindAFrontEnd:
    urlpatterns = (path("", include("agentweb.urls")),)


def declare_control_panel(state: Any = None) -> None:
    """The page of the specification's own example."""

    @action(
        "approve_request",
        effect="write",
        scope="requests:approve",
        consequential=True,
        description="Approve one pending request",
        input={
            "type": "string",
            "description": "The request ID itself; do not wrap it in an object",
            "minLength": 1,
        },
        example="req-3",
    )
    def approve_request(inp: Any, ctx: Any) -> Any:
        return {"approved": inp}

    def shown(ctx: Any) -> Any:
        return {
            "authenticated": ctx.user.is_authenticated,
            "view": "control-panel",
            "requests": [{"id": "req-3", "amount": 4200, "status": "pending"}],
        }

    page("/control-panel", title="Control panel", state=state or shown, actions=["approve_request"])


def declare_shop() -> None:
    """Pages of every kind: open, with parameters, guarded; each shows what is its visitor's alone."""
    declare_control_panel(state=lambda ctx: {"mark": f"MARK-{ctx.user.get_username()}-panel"})

    @action(description="Find products.", input=None, pages=["/"])
    def search(_inp: Any, ctx: Any) -> Any:
        return {}

    @action(effect="write", scope="cart:write", description="Empty the cart.", input=None, pages=["/cart"])
    def empty_cart(_inp: Any, ctx: Any) -> Any:
        return {}

    @action(description="For staff.", input=None, pages=["/cart"], visible=lambda user: user.is_staff)
    def audit_cart(_inp: Any, ctx: Any) -> Any:
        return {}

    def mark(ctx: Any) -> Any:
        return {"mark": f"MARK-{ctx.user.get_username()}", "at": ctx.kwargs, "password": "hunter2"}

    page("/", title="Front", state=mark)
    page("/cart/", title="Cart", state=mark)
    page("/orders/<int:pk>", title="Order", state=mark, permission=may_see_order)
    page("/staff", title="Staff", state=mark, permission=lambda user: user.is_staff)
    page("/p/<slug:slug>", title="Product", state=mark)


def may_see_order(user: Any, pk: int) -> bool:
    """Whoever's primary key the order has."""
    return bool(user.pk == pk)
