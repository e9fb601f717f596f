"""W050 speaks when a person could not get to the page, and only where one is needed."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.http import HttpResponse
from django.test import override_settings
from django.urls import include, path, re_path, set_script_prefix

from agentweb import action, page
from agentweb.catalog.registry import registry
from agentweb.people.checks import check_approval_pages, check_login


class Included:
    urlpatterns = (path("admin/", admin.site.urls), path("shop/", include("agentweb.urls")))


class NotIncluded:
    urlpatterns = (path("admin/", admin.site.urls),)


class CatchAllFirst:
    urlpatterns = (re_path("", lambda request: HttpResponse()), path("", include("agentweb.urls")))


@pytest.fixture(autouse=True)
def settled(settings: Any) -> Any:
    settings.LOGIN_URL = "admin:login"
    settings.ROOT_URLCONF = Included
    with registry.only():
        action("note", effect="write", scope="a:b", description="Note.", input={}, confirm="person")(
            lambda i, c: None
        )
        yield


def said() -> list[str]:
    found = check_approval_pages(None)
    assert all((each.id, bool(each.hint)) == ("agentweb.W050", True) for each in found)
    return [
        each.msg.removeprefix("The action 'note' waits for a person, and nobody can approve it: ")
        for each in found
    ]


@pytest.mark.parametrize(
    "login", ["admin:login", "/admin/login/?a=b", "https://sso.example/", "//sso.example/"]
)
def test_silent_when_a_person_can_get_there(settings: Any, login: str) -> None:
    settings.LOGIN_URL = login
    assert said() == []


def test_silent_under_a_script_prefix() -> None:
    set_script_prefix("/app/")
    try:
        assert said() == []
    finally:
        set_script_prefix("/")


def test_people_are_needed_to_connect_agents_with_pages_too(settings: Any) -> None:
    with registry.only():
        page("/cart", title="Cart")
        assert said() == []
        settings.LOGIN_URL = "/nowhere/"
        assert said() == [
            "Agents send people to connect them with the site's pages, and nobody can: nothing answers at "
            "LOGIN_URL, '/nowhere/'."
        ]


@override_settings(ROOT_URLCONF=NotIncluded, LOGIN_URL="/nowhere/", MIDDLEWARE=[], TEMPLATES=[])
def test_silent_without_an_action_that_waits() -> None:
    with registry.only():
        assert said() == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            {"MIDDLEWARE": ["django.middleware.csrf.CsrfViewMiddleware"]},
            "no middleware knows who is logged in.",
        ),
        ({"ROOT_URLCONF": NotIncluded}, "its page does not answer."),
        ({"ROOT_URLCONF": CatchAllFirst, "LOGIN_URL": "/in/"}, "its page does not answer."),
        ({"LOGIN_URL": "/accounts/login/"}, "nothing answers at LOGIN_URL, '/accounts/login/'."),
        ({"LOGIN_URL": "login"}, "nothing answers at LOGIN_URL, 'login'."),
        ({"TEMPLATES": []}, "its template is not found."),
    ],
)
def test_says_what_is_in_the_way(change: dict[str, Any], what: str) -> None:
    with override_settings(**change):
        assert said() == [what]


@pytest.mark.parametrize(
    ("login", "ids"),
    [
        ("admin:login", ["agentweb.W059"]),
        ("/admin/login/?a=b", ["agentweb.W059"]),
        ("/in/", []),
        ("/nowhere/", []),
        ("nowhere", []),
        ("https://sso.example/admin/login/", []),
    ],
)
def test_a_login_for_staff_only_is_spoken_of(settings: Any, login: str, ids: list[str]) -> None:
    settings.LOGIN_URL = login
    assert [each.id for each in check_login(None)] == ids
