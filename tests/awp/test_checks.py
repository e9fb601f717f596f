"""The system checks of AWP: what is said of settings, texts and addresses, and to whom it is not said."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path

from agentweb.awp.checks import (
    check_addresses,
    check_budgets,
    check_cors,
    check_llms,
    check_manifest,
    check_sources,
    check_well_known,
)
from agentweb.catalog.words import action

pytestmark = pytest.mark.usefixtures("catalog")


def own(request: HttpRequest, **captured: str) -> HttpResponse:
    return HttpResponse("own")


def below(prefix: str = "", *before: Any, after: tuple[Any, ...] = ()) -> Any:
    class Urls:
        urlpatterns = (*before, path(prefix, include("agentweb.urls")), *after)

    return Urls


def set_awp(settings: Any, **values: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "AWP": values}


def handler(inp: None, ctx: Any) -> Any:
    return {}


def ids(found: list[CheckMessage]) -> list[str | None]:
    return [each.id for each in found]


def test_a_site_without_settings_has_a_valid_manifest_and_short_texts() -> None:
    for check in (check_manifest, check_budgets, check_addresses, check_well_known, check_cors, check_llms):
        assert check(None) == []


@pytest.mark.parametrize("key", ["DESCRIPTION"])
@pytest.mark.requirement("AWP-2.7")
def test_a_manifest_that_settings_break_is_an_error_that_names_the_setting(settings: Any, key: str) -> None:
    set_awp(settings, **{key: "Shop."})
    (found,) = check_manifest(None)
    assert found.id == "agentweb.E090"
    assert "/description" in found.msg
    assert found.hint == "Change AGENTWEB['AWP']['DESCRIPTION']."


def test_wrong_settings_are_said_once_by_the_check_of_settings(settings: Any) -> None:
    set_awp(settings, DESCRIPTION=5)
    assert check_manifest(None) == check_budgets(None) == []


@pytest.mark.parametrize(
    ("values", "ident", "said"),
    [
        ({"SITEMAPS": "tests.awp.content.site.sitmaps"}, "E091", "has no attribute 'sitmaps'"),
        ({"SITEMAPS": "tests.awp.content.sight.sitemaps"}, "E091", "ModuleNotFoundError"),
        ({"SITEMAPS": "tests.awp.content.site.html"}, "E091", "a function is no dict of sitemaps"),
        ({"SELECTOR": "main >"}, "E092", "'main >' is no CSS selector"),
    ],
)
def test_a_source_that_no_run_could_use_is_an_error(
    settings: Any, values: dict[str, str], ident: str, said: str
) -> None:
    set_awp(settings, **values)
    (found,) = check_sources(None)
    assert found.id == f"agentweb.{ident}"
    assert said in found.msg
    assert found.hint


def test_sources_that_a_run_can_use_are_none(settings: Any) -> None:
    set_awp(settings, SITEMAPS="tests.awp.content.site.sitemaps", SELECTOR="#main, main > .text")
    assert check_sources(None) == []


@pytest.mark.parametrize(("key", "budget"), [("DESCRIPTION", 200), ("SUMMARY", 500), ("INSTRUCTIONS", 300)])
def test_a_text_over_its_budget_is_warned_of_with_count_and_overflow(
    settings: Any, key: str, budget: int
) -> None:
    text = " ".join(f"Number {number} is a sentence of a few words." for number in range(70))
    set_awp(settings, **{key: text})
    found = [each for each in check_budgets(None) if key in each.msg]
    (warning,) = found
    assert warning.id == "agentweb.W090"
    assert f"{budget} are its budget" in warning.msg
    assert "is a sentence of a few words." in warning.msg.partition("Over it: ")[2]


def test_a_long_description_of_an_action_is_warned_of_where_it_is_declared() -> None:
    action(description="It does a lot of things for you. " * 25)(handler)
    (warning,) = check_budgets(None)
    assert warning.id == "agentweb.W090"
    assert "'handler'" in warning.msg
    assert "150 are its budget" in warning.msg
    assert str(warning.obj).endswith("handler")


def test_a_text_within_its_budget_is_not_warned_of(settings: Any) -> None:
    set_awp(settings, DESCRIPTION="A shop for tea.", SUMMARY="# Tea", INSTRUCTIONS="Ask.")
    assert check_budgets(None) == []


@pytest.mark.parametrize("place", ["before", "behind"])
@pytest.mark.parametrize("address", ["awp/manifest.json", "awp/content/summary.md", "awp/anything"])
def test_a_view_of_the_site_at_an_address_of_awp_is_warned_of(
    settings: Any, place: str, address: str
) -> None:
    view = path("awp/<path:rest>", own) if address == "awp/anything" else path(address, own)
    settings.ROOT_URLCONF = below("", view) if place == "before" else below(after=(view,))
    (found,) = check_addresses(None)
    assert found.id == "agentweb.W091"
    assert "own answers at /awp/" in found.msg


@pytest.mark.parametrize("place", ["before", "behind"])
@pytest.mark.parametrize("prefix", ["", "shop/"])
@pytest.mark.parametrize("view", [path("awp/mine", own), re_path(r"^awp/mine\.json$", own)])
def test_a_view_of_the_site_at_any_address_below_awp_is_warned_of(
    settings: Any, place: str, prefix: str, view: Any
) -> None:
    views = (path(prefix, include([view])),)
    settings.ROOT_URLCONF = below(prefix, *views) if place == "before" else below(prefix, after=views)
    (found,) = check_addresses(None)
    assert found.id == "agentweb.W091"
    assert f"own is at /{prefix}awp/mine" in found.msg


def test_a_view_beside_awp_is_not_warned_of(settings: Any) -> None:
    settings.ROOT_URLCONF = below("", path("awpx/mine", own), path("mine/awp/", own))
    assert check_addresses(None) == []


def test_a_view_that_takes_every_path_behind_us_is_none_and_before_us_takes_all(settings: Any) -> None:
    everything = re_path(r"^(?P<rest>.*)$", own)
    settings.ROOT_URLCONF = below(after=(everything,))
    assert check_addresses(None) == []
    settings.ROOT_URLCONF = below("", everything)
    (found,) = check_addresses(None)
    assert found.id == "agentweb.W091"
    assert "takes all of its requests" in found.msg


def test_an_action_below_our_name_is_warned_of() -> None:
    action(description="Clash.", path="/awp/search", method="GET")(handler)
    assert ids(check_addresses(None)) == ["agentweb.W091"]


def test_a_site_under_a_path_needs_the_manifest_at_the_root_of_the_host(settings: Any) -> None:
    from agentweb import urls

    settings.ROOT_URLCONF = below("shop/")
    (found,) = check_well_known(None)
    assert found.id == "agentweb.W092"
    settings.ROOT_URLCONF = below("shop/", *urls.well_known)
    assert check_well_known(None) == []


def test_cors_that_covers_our_addresses_is_warned_of_with_the_regex_that_does_not(settings: Any) -> None:
    settings.MIDDLEWARE = ["corsheaders.middleware.CorsMiddleware", *settings.MIDDLEWARE]
    (found,) = check_cors(None)
    assert found.id == "agentweb.W093"
    settings.CORS_URLS_REGEX = r"^(?!/\.well-known/|/llms|/awp/)"
    assert check_cors(None) == []
    settings.CORS_URLS_REGEX = r"^(?!/\.well-known/|/awp/)"
    assert ids(check_cors(None)) == ["agentweb.W093"]


@pytest.mark.parametrize("name", ["llms.txt", "llms-full.txt"])
def test_a_llms_txt_of_the_site_s_own_is_said(settings: Any, name: str) -> None:
    settings.ROOT_URLCONF = below(after=(path(name, own),))
    (found,) = check_llms(None)
    assert found.id == "agentweb.W094"
    assert f"/{name}" in found.msg
    assert "only if the site sends Access-Control-Allow-Origin: *" in found.msg


def test_where_nothing_of_ours_is_included_the_other_checks_are_silent(settings: Any) -> None:
    class Urls:
        urlpatterns = (path("awp/manifest.json", own),)

    settings.ROOT_URLCONF = Urls
    for check in (check_addresses, check_well_known, check_cors, check_llms):
        assert check(None) == []
