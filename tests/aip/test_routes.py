"""Where manifests answer: beside the site's own URLs, under a prefix, in several languages; and what the checks say."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.auth.models import User
from django.core.checks import CheckMessage
from django.http import HttpResponse
from django.test import Client
from django.urls import include, path, re_path, register_converter, set_script_prefix

from agentweb import action, exports, page, rooms
from agentweb.aip import checks
from agentweb.catalog.pages import page_at
from agentweb.http import mount
from agentweb.testing import TestAgent
from tests.aip import sites
from tests.aip.sites import ORIGIN, declare_shop
from tests.support.web import send

pytestmark = [
    pytest.mark.usefixtures("catalog", "many_callers", "site_key"),
    pytest.mark.urls("tests.aip.sites"),
]


def own(answer: HttpResponse) -> bool:
    return answer.status_code == 200 and b"own" in answer.content


def found(ident: str = "") -> list[CheckMessage]:
    return [message for check in checks.CHECKS for message in check(None) if message.id.endswith(ident)]


def serve(settings: Any, urlconf: Any) -> None:
    settings.ROOT_URLCONF = urlconf


# -- the site's own URLs


def test_nothing_but_the_addresses_of_pages_is_taken() -> None:
    declare_shop()
    for address in (
        "/other.json",
        "/cart/x.json",
        "/cart.xml",
        "/package.json",
        "/sitemap.json",
        "/cart.jsonx",
    ):
        answer = send("GET", address)
        assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (404, "text/html"), address


def test_a_url_that_the_site_made_goes_before_a_page_with_parameters() -> None:
    page("/p/<str:slug>", title="Product")
    assert own(send("GET", "/p/feed.json"))
    assert send("GET", "/p/tea.json").json()["page"] == "/p/tea"
    assert found() == []


def test_a_page_of_any_text_does_not_take_its_own_manifest_for_a_page(settings: Any) -> None:
    class Anything:
        urlpatterns = (path("", include("agentweb.urls")), path("p/<str:slug>", sites.own_page))

    serve(settings, Anything)
    page("/p/<str:slug>", title="Product")
    assert send("GET", "/p/tea.json").json()["page"] == "/p/tea"
    assert own(send("GET", "/p/tea.xml"))
    assert found() == []


def test_a_front_end_that_takes_every_path_takes_no_manifest(settings: Any) -> None:
    serve(settings, sites.WithAFrontEnd)
    declare_shop()
    assert send("GET", "/cart.json").json()["page"] == "/cart"
    assert send("GET", "/p/tea.toon").status_code == 200
    assert own(send("GET", "/other.json"))
    assert found() == []


def test_a_page_is_more_exact_than_the_path_of_an_action() -> None:
    schema = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}
    action("order", description="One.", input=schema, path="/orders/{id}")(lambda inp, ctx: inp)
    page("/orders/<int:pk>", title="Order")
    assert send("GET", "/orders/7.json").json()["page"] == "/orders/7"
    assert send("GET", "/orders/7").json() == {"id": "7"}


@pytest.mark.parametrize(
    "address", ["/p/%00.json", "/p/..%2f..%2fetc.json", "/p/%2e%2e.json", "/p/a%0a.json"]
)
def test_odd_paths_are_no_pages(address: str) -> None:
    page("/p/<str:slug>", title="Product")
    answer = send("GET", address)
    assert answer.status_code in {200, 400, 404}
    assert b"Traceback" not in answer.content


@pytest.mark.parametrize("name", ["format", "args", "kwargs", "captured", "page", "form", "user", "ctx"])
def test_a_parameter_may_be_named_like_something_of_ours(name: str) -> None:
    page(f"/p/<str:{name}>", title="Product", state=lambda ctx: ctx.kwargs)
    assert send("GET", "/p/tea.json").json()["page"] == "/p/tea"
    assert TestAgent.with_session(scopes=["a"]).get("/p/tea.json").json()["state"] == {name: "tea"}


def test_a_path_with_other_letters_is_published_percent_encoded() -> None:
    page("/p/<str:slug>", title="Product", state=lambda ctx: {"slug": ctx.kwargs["slug"]})
    assert send("GET", "/p/t%C3%A9%20x.json").json()["page"] == "/p/t%C3%A9%20x"
    agent = TestAgent.with_session(scopes=["a"])
    assert agent.get("/p/t%C3%A9%20x.json").json()["state"] == {"slug": "té x"}


# -- where the site is mounted


@pytest.mark.requirement("AIP-2.4", "AIP-2.8")
def test_under_a_path_of_the_site_every_address_has_the_prefix(settings: Any) -> None:
    serve(settings, sites.UnderAPath)
    declare_shop()
    start = "/for/agents"
    manifest = send("GET", f"{start}/cart.json").json()
    assert manifest["page"] == f"{start}/cart"
    assert manifest["sitemap"] == f"{ORIGIN}{start}/sitemap.toon"
    assert manifest["invoke_url"] == f"{ORIGIN}{start}/__aim/invoke"
    assert send("GET", f"{start}/index.json").json()["page"] == f"{start}/"
    rows = send("GET", f"{start}/sitemap.agents.json").json()["pages"]
    assert {"page": f"{start}/p/{{slug}}", "manifest": f"{ORIGIN}{start}/p/{{slug}}.json"}.items() <= rows[
        -1
    ].items()
    assert send("GET", "/cart.json").status_code == 404
    assert found() == []


def test_under_script_name_too() -> None:
    declare_shop()
    set_script_prefix("/shop/")  # as a WSGI handler does, and the test client does not
    try:
        manifest = Client(SCRIPT_NAME="/shop").get("/p/tea.json").json()
    finally:
        set_script_prefix("/")
    assert manifest["page"] == "/shop/p/tea"
    assert manifest["invoke_url"] == f"{ORIGIN}/shop/__aim/invoke"
    assert manifest["auth"]["connect_url"] == f"{ORIGIN}/shop/agent-access/connect"


class Translated:
    urlpatterns = (*i18n_patterns(path("", include("agentweb.urls")), *sites.PAGES),)


def test_in_several_languages_a_page_has_one_published_address(settings: Any) -> None:
    settings.MIDDLEWARE = [
        "django.middleware.locale.LocaleMiddleware",
        "django.middleware.common.CommonMiddleware",
    ]
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    settings.LANGUAGE_CODE = "en"
    serve(settings, Translated)
    mount._path.cache_clear()
    declare_shop()
    answers = [
        Client().get(f"/{at}/cart.json", headers={"Accept-Language": reader})
        for at in ("en", "de")
        for reader in ("en", "de")
    ]
    assert {answer.content for answer in answers} == {answers[0].content}
    assert answers[0].json()["page"] == "/en/cart"
    assert answers[0].json()["invoke_url"] == f"{ORIGIN}/en/__aim/invoke"
    assert {answer["Content-Language"] for answer in answers} == {"en"}
    assert found() == []


# -- the site map


@pytest.mark.requirement("AIP-2.5")
def test_the_site_map_leads_to_the_manifest_of_every_page() -> None:
    declare_shop()
    answer = send("GET", "/sitemap.toon")
    assert answer["Content-Type"] == "text/toon; charset=utf-8"
    document = send("GET", "/sitemap.agents.json").json()
    assert document["sitemap"] == f"{ORIGIN}/sitemap.toon"
    assert [row["page"] for row in document["pages"]] == ["/", "/cart", "/control-panel", "/p/{slug}"]
    for row in document["pages"]:
        address = row["manifest"].removeprefix(ORIGIN).replace("{slug}", "tea")
        assert send("GET", address).json()["page"] == row["page"].replace("{slug}", "tea")
    assert (answer["Cache-Control"], answer["Access-Control-Allow-Origin"]) == ("public, max-age=60", "*")
    assert send("GET", "/sitemap.toon", If_None_Match=answer["ETag"]).status_code == 304
    assert send("POST", "/sitemap.toon").status_code == 405


def test_the_site_map_lists_guarded_pages_for_those_who_may_see_them() -> None:
    declare_shop()
    staff = User.objects.create_user("ada", is_staff=True)
    answer = TestAgent.with_session(scopes=["a"], user=staff).get("/sitemap.agents.json")
    assert [row["page"] for row in answer.json()["pages"]] == [
        "/",
        "/cart",
        "/control-panel",
        "/p/{slug}",
        "/staff",
    ]
    assert answer["Cache-Control"] == "no-store"


def test_public_manifests_are_exported() -> None:
    declare_shop()
    written = dict(exports.contents(exports.here()))
    elsewhere = (".well-known", "docs/", "openapi", "llms", "awp/")
    names = {name for name in written if not name.startswith(elsewhere)}
    assert names == {
        *(f"{stem}.{form}" for stem in ("index", "cart", "control-panel") for form in ("json", "toon")),
        "sitemap.toon",
        "sitemap.agents.json",
    }
    for name in names:
        assert send("GET", f"/{name}").content == written[name]


# -- finding a page by a path


def test_a_page_is_found_by_either_slash_form_what_is_written_out_first() -> None:
    page("/orders/<int:pk>", title="Order")
    page("/orders/<str:name>", title="Named")
    page("/orders/open", title="Open")
    page("/", title="Front")

    def title(path: str) -> tuple[str, dict[str, Any]] | None:
        answer = page_at(path)
        return None if answer is None else (answer[0].title, answer[1])

    assert title("/orders/7") == title("/orders/7/") == ("Order", {"pk": 7})
    assert title("/orders/open/") == ("Open", {})
    assert title("/orders/x") == ("Named", {"name": "x"})
    assert title("/") == ("Front", {})
    assert title("/orders") is None


# -- the checks


def test_a_sound_site_has_nothing_to_say() -> None:
    declare_shop()
    assert found() == []
    assert [message for check in rooms.checks() for message in check(None)] == []


def test_another_view_at_the_address_of_a_manifest_is_an_error(settings: Any) -> None:
    serve(settings, sites.WithItsOwnManifest)
    declare_shop()
    [told] = found("E070")
    assert (
        told.msg
        == "tests.aip.sites.own_feed answers at /cart.json too, the address of the manifest of the page /cart."
    )
    assert told.obj == "tests.aip.sites: page '/cart/'"


@pytest.mark.parametrize(
    "pattern",
    [
        path("cart.json/", sites.own_feed),
        path("cart.toon", sites.own_feed),
        path("<slug:name>.json", sites.own_feed),
        re_path(r"^(?P<name>[a-z]+)\.json$", sites.own_feed),
        # The same view as at the page, by a pattern of its own: so do format suffixes.
        path("<slug:name>.<str:format>", sites.own_page),
    ],
    ids=["slash", "toon", "slug", "regex", "suffix"],
)
@pytest.mark.parametrize("is_first", [False, True])
def test_a_url_of_the_site_s_own_for_a_manifest_is_an_error_whatever_its_pattern(
    settings: Any, pattern: Any, is_first: bool
) -> None:
    ours = path("", include("agentweb.urls"))

    class WithIt:
        urlpatterns = (
            *((pattern, ours) if is_first else (ours, pattern)),
            path("<slug:name>", sites.own_page),
            re_path("^(?P<url>.*/)$", sites.own_page),
        )

    serve(settings, WithIt)
    page("/cart", title="Cart")
    assert any("the address of the manifest of the page /cart." in each.msg for each in found("E070"))


def test_an_action_at_the_address_of_a_manifest_is_an_error() -> None:
    page("/cart", title="Cart")
    action("cart_data", description="W.", input=None, path="/cart.json")(lambda inp, ctx: None)
    [told] = found("E070")
    assert (
        told.msg
        == "The action 'cart_data' answers at /cart.json too, the address of the manifest of the page /cart."
    )


def test_a_front_end_before_us_is_silent_here(settings: Any) -> None:
    class Before:
        urlpatterns = (path("<path:anything>", sites.own_page), path("", include("agentweb.urls")))

    serve(settings, Before)
    page("/cart", title="Cart")
    # Nothing of ours answers, which is W040 of the other room.
    assert found() == []


def test_another_view_at_the_site_map_is_an_error(settings: Any) -> None:
    class Mapped:
        urlpatterns = (path("", include("agentweb.urls")), *sites.PAGES, path("sitemap.toon", sites.own_feed))

    serve(settings, Mapped)
    page("/cart", title="Cart")
    [told] = found("E070")
    assert "/sitemap.toon too, the address of the site map for agents." in told.msg


def test_a_page_that_the_site_does_not_have_is_a_warning() -> None:
    page("/kart", title="Cart")
    page("/cart", title="Cart")
    page("/orders/<int:pk>", title="Order")
    [told] = found()
    assert (told.id, "/kart" in told.msg) == ("agentweb.W070", True)


def test_an_action_that_names_no_page_is_a_warning_where_there_are_pages() -> None:
    action("work", description="W.", input=None, pages=["/kart", "/cart/"])(lambda inp, ctx: None)
    assert found() == []
    page("/cart", title="Cart")
    [told] = found()
    assert (told.id, "'work' is offered on /kart" in told.msg) == ("agentweb.W071", True)


def test_a_converter_that_nothing_registered_is_an_error_until_it_is() -> None:
    page("/orders/<agentwebtest:code>", title="Order")
    [told] = found()
    assert told.id == "agentweb.E071"
    assert send("GET", "/orders/ab.json").status_code == 404

    class TwoLetters:
        regex = "[a-z]{2}"

        def to_python(self, value: str) -> str:
            return value.upper()

        def to_url(self, value: str) -> str:
            return value.lower()

    register_converter(TwoLetters, "agentwebtest")
    assert found() == []
    assert send("GET", "/orders/ab.json").json()["page"] == "/orders/ab"
    assert page_at("/orders/ab/") is not None


@pytest.mark.parametrize("urlconf", ["tests.aip.sites", sites.UnderAPath])
def test_a_cors_policy_of_the_site_that_covers_manifests_is_a_warning(settings: Any, urlconf: Any) -> None:
    serve(settings, urlconf)
    declare_shop()
    settings.MIDDLEWARE = ["corsheaders.middleware.CorsMiddleware", *settings.MIDDLEWARE]
    [told] = found()
    assert told.id == "agentweb.W073"
    assert told.hint is not None
    settings.CORS_URLS_REGEX = told.hint.partition('r"')[2].rstrip('"')
    assert found() == []
    settings.CORS_URLS_REGEX = r"^/api/"
    assert found() == []


def test_without_a_urlconf_the_checks_are_silent(settings: Any) -> None:
    declare_shop()
    del settings.ROOT_URLCONF
    assert [told.id for told in found()] == []
