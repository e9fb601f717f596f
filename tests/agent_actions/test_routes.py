import pytest
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import include, path, re_path, resolve, reverse

from agentweb import urls as agentweb_urls
from agentweb.agent_actions.views import ActionView
from agentweb.catalog.registry import registry
from agentweb.catalog.words import action
from agentweb.http import doors
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop")


def own_page(request, **captured):
    return HttpResponse("the site's own page", content_type="text/html")


class SiteFirst:
    """The site's own URLs around ours."""

    urlpatterns = (
        path("agent/help", own_page),
        path("", include("agentweb.urls")),
        path("agent/help/more", own_page),
        re_path(r"^.*$", own_page),
    )


class UnderAPath:
    urlpatterns = (*agentweb_urls.well_known, path("for/agents/", include("agentweb.urls")))


def answers(path_):
    return send("GET", path_).content


@pytest.mark.parametrize("path_", ["/agent/search_products", "/orders/42", "/orders/open", "/agent/mirror"])
def test_both_slash_forms_answer_without_a_redirect(path_):
    with_slash, without = resolve(f"{path_}/"), resolve(path_)
    assert with_slash.func is without.func
    assert with_slash.func.cls is ActionView
    assert with_slash.kwargs == without.kwargs


def test_a_path_with_two_slashes_at_its_end_is_no_action():
    with override_settings(ROOT_URLCONF=SiteFirst):
        assert b"action_not_found" in answers("/agent/search_products//")
        assert answers("/orders/42//") == b"the site's own page"


@pytest.mark.parametrize("path_", ["/agent-actions", "/agent-actions/", "/agent-actions/nothing"])
@pytest.mark.parametrize("debug", [True, False])
def test_the_name_of_the_room_alone_is_nothing_in_json(path_, debug):
    # Unresolved, a POST without the slash makes CommonMiddleware raise under DEBUG: 500 in HTML.
    with override_settings(DEBUG=debug, APPEND_SLASH=True):
        answer = send("POST", path_)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_a_name_that_begins_like_the_room_is_not_ours():
    with override_settings(ROOT_URLCONF=SiteFirst):
        assert answers("/agent-actions-help") == b"the site's own page"


def test_the_paths_follow_the_catalog():
    def say(inp, ctx):
        return "new"

    assert send("GET", "/agent/new_one").status_code == 404
    with registry.only():
        action("new_one", description="Words.", input=None)(say)
        assert send("GET", "/agent/new_one").status_code == 200
        assert send("GET", "/agent/search_products?query=tea").status_code == 404
    assert send("GET", "/agent/new_one").status_code == 404
    assert send("GET", "/agent/search_products?query=tea").status_code == 200


def test_the_prefix_of_unknown_actions_is_a_setting(settings):
    settings.AGENTWEB = {**settings.AGENTWEB, "ACTION_PREFIX": "do/it"}
    answer = send("GET", "/do/it/nope")
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/json; charset=utf-8")


def test_the_site_s_own_urls_are_not_shadowed():
    with override_settings(ROOT_URLCONF=SiteFirst):
        for path_ in (
            "/agent/help",
            "/agent/help/more",
            "/agent/",
            "/agent",
            "/orders",
            "/orders/1/2",
            "/",
            "/x",
        ):
            assert answers(path_) == b"the site's own page", path_
        assert b'"order"' in answers("/orders/42")
        assert b"action_not_found" in answers("/agent/nope")


UNKNOWN = [
    "/agent",
    "/agent/",
    "/agent/x/y",
    "/agent/x/y/z/",
    "/agent//",
    "/agent/x%0Ay/z",
    "/agent/%2e%2e/x",
]


@pytest.mark.parametrize("path_", UNKNOWN)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("debug", [True, False])
def test_everything_under_the_prefix_that_is_nothing_is_404_in_json(path_, method, debug):
    with override_settings(DEBUG=debug):
        answer = send(method, path_)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/json; charset=utf-8")
    assert answer.json()["error"]["code"] == "action_not_found"


def test_a_name_that_begins_like_the_prefix_is_not_ours():
    with override_settings(ROOT_URLCONF=SiteFirst):
        assert answers("/agents") == answers("/agent-x/y") == b"the site's own page"


class Pages:
    """Pages of the site behind our include, and no catch-all."""

    urlpatterns = (
        path("", include("agentweb.urls")),
        path("agent/", own_page),
        path("agent/help/", own_page),
        path("agent/help/<int:page>", own_page),
    )


class PagesUnderAPath:
    urlpatterns = (
        path("for/ag ents/", include("agentweb.urls")),
        path("for/ag ents/agent/help", own_page),
        path("agent/help", own_page),
    )


def test_pages_of_the_site_behind_us_are_its_own():
    with override_settings(ROOT_URLCONF=Pages):
        for path_ in ("/agent/", "/agent/help/", "/agent/help/7"):
            assert answers(path_) == b"the site's own page", path_
        for path_ in ("/agent/help/x", "/agent/nope", "/agent/help/7/8"):
            assert b"action_not_found" in answers(path_), path_
        assert b'"found"' in answers("/agent/search_products?query=tea")


@pytest.mark.parametrize("path_", ["/agent", "/agent/help"])
def test_append_slash_still_leads_to_a_page_of_the_site(path_):
    with override_settings(ROOT_URLCONF=Pages, APPEND_SLASH=True):
        answer = send("GET", path_)
        assert (answer.status_code, answer["Location"]) == (301, f"{path_}/")
    with override_settings(ROOT_URLCONF=Pages, APPEND_SLASH=False):
        assert b"action_not_found" in answers(path_)


def test_pages_of_the_site_are_its_own_where_we_are_included_under_a_path():
    with override_settings(ROOT_URLCONF=PagesUnderAPath):
        assert answers("/for/ag%20ents/agent/help") == answers("/agent/help") == b"the site's own page"
        assert b"action_not_found" in answers("/for/ag%20ents/agent/nope")
        assert b"action_not_found" in answers("/for/ag%20ents/agent/x/y")


def test_a_site_that_a_server_mounts_under_a_path_keeps_its_pages_too():
    with override_settings(ROOT_URLCONF=Pages):
        mounted = Client(SCRIPT_NAME="/shop")
        assert mounted.get("/agent/help/").content == b"the site's own page"
        assert b"action_not_found" in mounted.get("/agent/x/y").content


def test_a_site_may_include_us_under_a_path_of_its_own():
    with override_settings(ROOT_URLCONF=UnderAPath):
        assert reverse("agentweb:receipts") == "/for/agents/agent-actions/receipts"
        manifest = send("GET", "/.well-known/agent-actions.json").json()
        assert {"receipts", "refunds", "revocations"} <= set(manifest["endpoints"])
        assert manifest["endpoints"] == {
            name: f"https://shop.example/for/agents/agent-actions/{name}" for name in manifest["endpoints"]
        }
        paths = {entry["name"]: entry["path"] for entry in manifest["actions"]}
        assert paths["search_products"] == "/for/agents/agent/search_products"
        assert send("GET", f"{paths['search_products']}?query=tea").status_code == 200
        assert send("GET", "/agent/search_products?query=tea").status_code == 404


class OnlyWellKnown:
    urlpatterns = tuple(agentweb_urls.well_known)


def test_where_nothing_but_the_manifest_is_included_it_still_answers():
    with override_settings(ROOT_URLCONF=OnlyWellKnown):
        assert send("GET", "/.well-known/agent-actions.json").status_code == 200


@pytest.mark.parametrize("value", ["a b", "%2e%2e", "é", "\n", "%", "a?b", "{id}", "p0"])
def test_a_parameter_of_a_path_arrives_decoded(value):
    from urllib.parse import quote

    @action("named", description="Words.", path="/named/{self}/{p0}",
            input={"type": "object", "required": ["self", "p0"],
                   "properties": {"self": {"type": "string"}, "p0": {"type": "string"}}})  # fmt: skip
    def named(inp, ctx):
        return inp

    answer = send("GET", f"/named/{quote(value, safe='')}/x")
    assert answer.json() == {"self": value, "p0": "x"}


def test_the_doors_of_the_room_are_advertised():
    found = doors.advertised("agent_actions")
    assert found is not None
    assert (found.path, found.media_type) == ("/.well-known/agent-actions.json", "application/json")
    assert found.is_well_known
    assert doors.advertised("no_such_room") is None
    assert [door.name for door in doors.all_doors()] == sorted(door.name for door in doors.all_doors())
    for door in doors.all_doors():
        assert send("GET", door.path).status_code != 404
