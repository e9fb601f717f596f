from io import StringIO

import pytest
from django.core.management import call_command
from django.http import HttpResponse
from django.test import override_settings
from django.urls import include, path, re_path, set_script_prefix

from agentweb import rooms
from agentweb import urls as agentweb_urls
from agentweb.catalog.registry import registry
from agentweb.catalog.words import action

CORS = "corsheaders.middleware.CorsMiddleware"


def own_page(request, **captured):
    return HttpResponse("own")


def catch_all(request, **captured):
    return HttpResponse("front-end")


class OursFirst:
    urlpatterns = (
        path("", include("agentweb.urls")),
        path("orders/<int:pk>/", own_page),
        re_path("", catch_all),
    )


class OursLast:
    urlpatterns = (path("shop/", include([path("api/cart", own_page)])), path("", include("agentweb.urls")))


class CatchAllFirst:
    urlpatterns = (re_path("^agent/", catch_all), path("", include("agentweb.urls")))


class EverythingFirst:
    urlpatterns = (re_path("", catch_all), path("", include("agentweb.urls")))


class NotIncluded:
    urlpatterns = (path("", own_page),)


class UnderAPath:
    urlpatterns = (path("agents/", include("agentweb.urls")),)


class UnderAPathWithWellKnown:
    urlpatterns = (*agentweb_urls.well_known, path("agents/", include("agentweb.urls")))


@pytest.fixture(autouse=True)
def catalog():
    with registry.only():
        yield


def declare(name, **written):
    action(name, **{"description": "Words.", "input": None, **written})(lambda inp, ctx: None)
    assert registry.get(name) is not None, registry.faults()


@pytest.fixture(autouse=True)
def _without_messenger(settings):
    settings.AGENTWEB = {**settings.AGENTWEB, "ROOMS": ["aip", "agent_actions"]}


def found():
    return [(message.id, message.msg) for check in rooms.checks() for message in check(None)]


def ids():
    return [each for each, _ in found()]


def test_a_site_that_includes_us_at_its_root_has_nothing_to_correct():
    declare("look")
    declare("order", path="/orders/{id}", input={"type": "object", "required": ["id"],
                                                 "properties": {"id": {"type": "integer"}}})  # fmt: skip
    assert ids() == []


def test_another_view_behind_an_action_s_path_is_an_error_and_a_catch_all_is_not():
    declare("look")
    declare("order", path="/orders/{id}", input={"type": "object", "required": ["id"],
                                                 "properties": {"id": {"type": "integer"}}})  # fmt: skip
    with override_settings(ROOT_URLCONF=OursFirst):
        [(each, text)] = found()
    assert each == "agentweb.E040"
    assert "own_page" in text
    assert "/orders/{id}" in text


def test_another_view_before_an_action_s_path_is_an_error():
    declare("cart", path="/shop/api/cart")
    declare("look")
    with override_settings(ROOT_URLCONF=OursLast):
        assert ids() == ["agentweb.E040"]
    with override_settings(ROOT_URLCONF=CatchAllFirst):
        assert ids() == ["agentweb.E040"]


def test_a_site_that_does_not_include_us_is_told():
    with override_settings(ROOT_URLCONF=NotIncluded):
        assert found() == [("agentweb.W040", "agentweb.urls is not included: nothing answers to agents.")]


def test_a_site_that_includes_us_behind_a_catch_all_is_told_what_shadows_us():
    with override_settings(ROOT_URLCONF=EverythingFirst):
        ((each, said),) = found()
    assert each == "agentweb.W040"
    assert said.startswith("tests.agent_actions.test_checks.catch_all stands before agentweb.urls")


def test_a_manifest_that_is_not_at_the_root_of_the_host_is_told():
    declare("look")
    with override_settings(ROOT_URLCONF=UnderAPath):
        assert ids() == ["agentweb.W041"]
    with override_settings(ROOT_URLCONF=UnderAPathWithWellKnown):
        assert ids() == []


def test_a_site_that_its_server_mounts_under_a_path_is_looked_at_where_the_urlconf_sees_it(settings):
    declare("look")
    settings.MIDDLEWARE = [CORS]
    settings.CORS_URLS_REGEX = r"^(?!/\.well\-known/|/agent\-actions/|/agent/)"
    set_script_prefix("/shop/")
    try:
        assert ids() == []
        settings.CORS_URLS_REGEX = r"^/agent/"
        assert ids() == ["agentweb.W042"]
        with override_settings(ROOT_URLCONF=NotIncluded):
            assert "agentweb.W040" in ids()
    finally:
        set_script_prefix("/")


def test_an_input_named_like_a_secret_in_the_query_string_is_an_error():
    schema = {"type": "object", "properties": {"token": {"type": "string"}, "a": {"type": "string"}}}
    declare("by_get", input=schema, method="GET")
    declare("by_post", input=schema, method="POST")
    assert ids() == ["agentweb.E041"]


def test_cors_headers_over_our_paths_is_a_warning_whose_hint_works(settings):
    declare("look")
    declare("cart", path="/api/cart")
    settings.MIDDLEWARE = [CORS, *settings.MIDDLEWARE]
    [message] = [each for check in rooms.checks() for each in check(None)]
    assert message.id == "agentweb.W042"
    settings.CORS_URLS_REGEX = message.hint.partition('r"')[2].rstrip('"')
    assert ids() == []
    settings.CORS_URLS_REGEX = r"^/api/.*$"
    assert ids() == ["agentweb.W042"]


def test_a_hidden_action_at_a_path_of_its_own_is_a_warning():
    declare("hidden", visible=lambda user: False)
    declare("hidden_elsewhere", visible=lambda user: False, path="/api/hidden")
    declare("hidden_below", visible=lambda user: False, path="/agent/a/b")
    declare("hidden_at_the_prefix", visible=lambda user: False, path="/agent")
    assert ids() == ["agentweb.W043", "agentweb.W043"]


def test_a_site_without_urls_is_not_asked(settings):
    declare("look")
    settings.ROOT_URLCONF = None
    settings.MIDDLEWARE = [CORS]
    assert ids() == ["agentweb.W042"]


def test_manage_py_check_shows_what_the_rooms_say():
    shown = StringIO()
    with override_settings(ROOT_URLCONF=NotIncluded):
        call_command("check", "--tag", "urls", stderr=shown)
    assert "agentweb.W040" in shown.getvalue()
