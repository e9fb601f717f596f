"""From a page of the site to its manifest: the Link header, the template tag, and the page's own URL by Accept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse, JsonResponse
from django.template import Context, Template
from django.test import AsyncClient, Client, RequestFactory
from django.urls import include, path

from agentweb import page
from agentweb.aip.checks import check_negotiation
from agentweb.middleware import PageLinksMiddleware
from agentweb.testing import TestAgent
from tests.aip import sites
from tests.aip.sites import declare_shop
from tests.support.web import send

MIDDLEWARE = "agentweb.middleware.PageLinksMiddleware"
LINK = (
    '</cart.json>; rel="alternate"; type="application/json", </cart.toon>; rel="alternate"; type="text/toon"'
)
TAG = (
    '<link rel="alternate" type="application/json" href="{0}.json">\n'
    '<link rel="alternate" type="text/toon" href="{0}.toon">'
)

pytestmark = [
    pytest.mark.usefixtures("catalog", "many_callers", "site_key", "linked"),
    pytest.mark.urls("tests.aip.sites"),
]


@pytest.fixture
def linked(settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, MIDDLEWARE]


@pytest.fixture
def negotiating(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "PAGE_NEGOTIATION": True}


def get(address: str, accept: str = "", **headers: str) -> HttpResponse:
    answer: HttpResponse = Client().get(address, headers={"Accept": accept, **headers} if accept else headers)
    return answer


# -- the header


def test_a_page_s_own_answer_names_its_manifest_in_both_forms() -> None:
    declare_shop()
    answer = get("/cart/")
    assert answer["Link"] == LINK
    assert "Accept" not in answer.get("Vary", "")
    assert "Link" in Client().head("/cart/")
    assert get("/")["Link"].startswith("</index.json>; ")
    assert get("/orders/7/")["Link"].startswith("</orders/7.json>; ")


def test_nothing_else_gets_the_header() -> None:
    declare_shop()
    for answer in (
        get("/p/feed.json"),
        get("/nowhere/"),
        get("/cart"),
        get("/cart.json"),
        Client().post("/cart/"),
    ):
        assert "Link" not in answer


def other(request: Any, **captured: Any) -> HttpResponse:
    answer = JsonResponse({}) if "json" in request.GET else HttpResponse("a page")
    answer["Link"] = '</style.css>; rel="preload"'
    return answer


class Others:
    urlpatterns = (path("", include("agentweb.urls")), path("cart/", other))


def test_other_links_stay_and_what_is_no_html_is_left_alone(settings: Any) -> None:
    settings.ROOT_URLCONF = Others
    declare_shop()
    assert get("/cart/")["Link"] == f'</style.css>; rel="preload", {LINK}'
    assert get("/cart/?json=1")["Link"] == '</style.css>; rel="preload"'


def test_the_links_lead_somewhere_under_a_path_too(settings: Any) -> None:
    settings.ROOT_URLCONF = sites.UnderAPath
    declare_shop()
    link = get("/for/agents/cart/")["Link"]
    assert link == LINK.replace("</", "</for/agents/")
    assert get("/for/agents/cart.json").status_code == 200
    assert "Link" not in get("/cart/")


class AnyText:
    urlpatterns = (path("", include("agentweb.urls")), path("p/<str:slug>", sites.own_page))


def test_odd_letters_are_percent_encoded(settings: Any) -> None:
    settings.ROOT_URLCONF = AnyText
    page("/p/<str:slug>", title="Product")
    assert get("/p/a%22%3E%3B%2Cb")["Link"].startswith("</p/a%22%3E;,b.json>; ")


def test_it_works_in_async_servers() -> None:
    declare_shop()

    async def ask() -> Any:
        return await AsyncClient().get("/cart/")

    assert asyncio.run(ask())["Link"] == LINK


# -- the template tag


def rendered(address: str, **context: Any) -> str:
    text = "{% load agentweb %}{% agent_links %}"
    return Template(text).render(Context({"request": RequestFactory().get(address), **context}))


def test_the_tag_writes_links_for_the_page_that_is_rendered() -> None:
    declare_shop()
    assert rendered("/cart/") == TAG.format("/cart")
    assert rendered("/") == TAG.format("/index")
    assert rendered("/elsewhere/") == ""
    assert rendered("/cart/", request=None) == ""


def test_the_tag_escapes_what_a_path_holds() -> None:
    page("/p/<str:slug>", title="Product")
    assert "<script" not in rendered("/p/%3Cscript%3E%22")
    assert rendered("/p/%3Cscript%3E%22").count("<link") == 2


# -- the page's own URL


@pytest.mark.usefixtures("negotiating")
@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/json", "application/json"),
        ("text/toon", "text/toon"),
        ("text/toon, application/json;q=0.5", "text/toon"),
        ("application/json, text/toon", "application/json"),
        ("text/html;q=0.5, application/json", "application/json"),
        ("APPLICATION/JSON", "application/json"),
        ("application/json, */*;q=0.1", "application/json"),
        ("text/html, application/json;q=0.9", "text/html"),
        ("text/html, application/json", "text/html"),
        ("text/*, application/json;q=0.2", "text/html"),
        ("*/*", "text/html"),
        ("application/json, */*", "text/html"),
        ("application/json;q=0", "text/html"),
        ("application/json;q=nonsense", "text/html"),
        ("application/jsonlines", "text/html"),
        ("", "text/html"),
        (",;,/,", "text/html"),
    ],
)
def test_who_prefers_the_manifest_to_html_gets_it(accept: str, media_type: str) -> None:
    declare_shop()
    answer = get("/cart/", accept)
    assert answer["Content-Type"] == f"{media_type}; charset=utf-8"
    assert "Accept" in answer["Vary"]
    if media_type != "text/html":
        suffix = media_type.rpartition("/")[2]
        assert answer.content == send("GET", f"/cart.{suffix}").content


@pytest.mark.usefixtures("negotiating")
def test_the_manifest_at_the_page_is_that_of_the_session_too() -> None:
    declare_shop()
    agent = TestAgent.with_session(scopes=["cart:write"], user=User.objects.create_user("ada"))
    answer = agent.get("/cart/", headers={"Accept": "application/json"})
    assert answer.json()["state"]["mark"] == "MARK-ada"
    assert answer["Cache-Control"] == "no-store"
    assert get("/", "application/json").json()["page"] == "/"
    assert get("/p/feed.json", "application/json").content == b"the site's own feed"


@pytest.mark.usefixtures("negotiating")
def test_a_form_of_the_page_goes_to_the_site() -> None:
    declare_shop()
    answer = Client().post("/cart/", headers={"Accept": "application/json"})
    assert answer["Content-Type"].startswith("text/html")


@pytest.mark.usefixtures("negotiating")
def test_negotiation_works_in_async_servers() -> None:
    declare_shop()

    async def ask() -> Any:
        return await AsyncClient().get("/cart/", headers={"Accept": "text/toon"})

    assert asyncio.run(ask())["Content-Type"] == "text/toon; charset=utf-8"


def test_without_the_setting_a_page_is_html_for_everybody() -> None:
    declare_shop()
    assert get("/cart/", "application/json")["Content-Type"].startswith("text/html")


@pytest.mark.usefixtures("negotiating")
@pytest.mark.parametrize("debug", [True, False])
def test_a_page_that_the_caller_may_not_see_answers_itself(debug: bool, settings: Any) -> None:
    settings.DEBUG = debug
    declare_shop()
    answer = get("/staff/", "application/json")
    assert (answer.status_code, answer.content) == (200, get("/staff/").content)
    assert "Accept" in answer["Vary"]


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("urls", [sites.WithAFrontEnd, sites.BehindAFrontEnd])
def test_a_hidden_manifest_is_nowhere_whatever_else_the_site_answers(
    urls: Any, debug: bool, settings: Any
) -> None:
    settings.DEBUG, settings.ROOT_URLCONF = debug, urls
    declare_shop()
    assert get("/staff.json").status_code == 404


class OwnLinks(PageLinksMiddleware):
    """As a site may have one."""


@pytest.mark.parametrize(
    ("is_on", "middleware", "found"),
    [
        (True, "django.middleware.common.CommonMiddleware", ["agentweb.W075"]),
        (True, "agentweb.middleware.PageLinksMiddleware", []),
        (True, f"{__name__}.OwnLinks", []),
        (False, "django.middleware.common.CommonMiddleware", []),
    ],
)
def test_a_negotiation_that_nothing_does_is_told(
    settings: Any, is_on: bool, middleware: str, found: list[str]
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "PAGE_NEGOTIATION": is_on}
    settings.MIDDLEWARE = [middleware]
    assert [each.id for each in check_negotiation(None)] == found
