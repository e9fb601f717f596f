"""What docs/how-to/pages-for-agents.md shows works as it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.http import HttpResponse
from django.template import engines
from django.test import Client
from django.urls import include, path

from agentweb.access import site_keys
from agentweb.testing import TestAgent
from tests.docs.pages import blocks
from tests.docs.running import running
from tests.support.web import send

PAGE = "how-to/pages-for-agents.md"

pytestmark = pytest.mark.django_db


def view(request: Any) -> HttpResponse:
    [shown] = blocks(PAGE, "html")
    return HttpResponse(engines["django"].from_string(shown.text).render({}, request))


class Site:
    urlpatterns = (path("", include("agentweb.urls")), path("profile/", view))


@pytest.fixture
def site(settings: Any) -> Iterator[Any]:
    settings.AGENTWEB = {"ORIGIN": "https://shop.example"}
    settings.ROOT_URLCONF = Site
    site_keys.ensure_active_key()
    with running(PAGE) as module:
        yield module


@pytest.fixture
def ada() -> User:
    user = User.objects.create_user("ada", first_name="Ada", last_name="L", password="hunter2")
    user.groups.add(Group.objects.create(name="tea"))
    return user


def test_a_profile_is_shown_to_its_person_and_changed(site: Any, ada: User) -> None:
    [shown] = blocks(PAGE, "json")
    public = send("GET", "/profile.json").json()
    assert public.items() >= json.loads(shown.text).items()
    state = site.state_for(ada, "/profile.json")
    assert state == {
        "signed_in": True,
        "name": "Ada L",
        "groups": [{"id": ada.groups.get().pk, "name": "tea"}],
    }
    agent = TestAgent.with_session(scopes=["profile:write"], user=ada)
    example = agent.get("/profile.json").json()["invoke_example"]
    assert example == {"actionId": "change_name", "input": "Ada"}
    answer = agent.post("/__aim/invoke", {**example, "input": "Augusta"})
    assert answer.json()["result"] == {"first_name": "Augusta"}
    assert site.state_for(ada, "/profile.json")["name"] == "Augusta L"
    assert site.state_for(None, "/profile.json") == {"signed_in": False}


def test_a_member_is_seen_by_themself_and_by_staff(site: Any, ada: User) -> None:
    eve = User.objects.create_user("eve")
    staff = User.objects.create_user("sue", is_staff=True)
    address = f"/members/{ada.pk}.json"
    assert site.state_for(ada, address)["name"] == site.state_for(staff, address)["name"] == "Ada L"
    for agent in (TestAgent.with_session(scopes=["profile:*"], user=eve), TestAgent()):
        assert agent.get(address).status_code == 404
    assert TestAgent.with_session(scopes=["a"], user=staff).get("/members/99999.json").status_code == 404


def test_the_page_says_where_its_manifest_is(site: Any, settings: Any) -> None:
    settings.MIDDLEWARE = site.MIDDLEWARE
    answer = Client().get("/profile/")
    [shown] = blocks(PAGE, "text")
    assert f"Link: {answer['Link']}" == shown.text.strip()
    assert answer.content.decode().count('<link rel="alternate"') == 2
    settings.AGENTWEB = {**settings.AGENTWEB, "PAGE_NEGOTIATION": True}
    assert Client().get("/profile/", headers={"Accept": "application/json"}).json()["page"] == "/profile"
