"""Where the pages for people are: below a prefix of the site's choice, wherever the site is mounted."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.urls import include, path

from agentweb.people import urls
from agentweb.testing import TestAgent
from tests.people.conftest import browser


class UnderAPath:
    urlpatterns = (path("shop/", include("agentweb.urls")),)


def test_the_first_part_is_a_setting() -> None:
    try:
        with override_settings(AGENTWEB={"PEOPLE_PREFIX": "me/my.agents"}):
            importlib.reload(urls)
        named = {each.name: each for each in urls.urlpatterns}
        listing, one = named["approvals"], named["approval"]
        assert listing.resolve("me/my.agents/approvals") is not None
        assert one.resolve("me/my.agents/approvals/ap_" + "A" * 22) is not None
        assert listing.resolve("me/my-agents/approvals") is None
        assert listing.resolve("agent-access/approvals") is None
    finally:
        importlib.reload(urls)


@pytest.mark.parametrize("slash", ["", "/"])
def test_both_slash_forms_answer(db: None, ask: Callable[..., str], slash: str) -> None:
    ann = User.objects.create_user("ann")
    client = browser(ann)
    for address in ("/agent-access/approvals", f"/agent-access/approvals/{ask(ann)}"):
        assert client.get(address + slash).status_code == 200


def test_a_site_under_a_path_names_its_page_with_the_path(db: None, site: None, settings: Any) -> None:
    settings.ROOT_URLCONF = UnderAPath
    ann = User.objects.create_user("ann")
    error = (
        TestAgent(scopes=["mail:send"], user=ann)
        .post("/shop/agent/send_letter", {"to": "bob"})
        .json()["error"]
    )
    assert error["approve_url"] == f"https://shop.example/shop/agent-access/approvals/{error['approval']}"
    page = browser(ann).get(error["approve_url"].removeprefix("https://shop.example"))
    assert 'href="/shop/agent-access/approvals"' in page.content.decode()


def test_a_site_under_a_path_sends_people_to_its_own_pages(db: None, site: None, settings: Any) -> None:
    settings.ROOT_URLCONF = UnderAPath
    answer = Client().post("/shop/__aim/sessions", b'{"client_name": "a"}', "application/json")
    asked = answer.json()
    assert asked["verification_url"] == "https://shop.example/shop/agent-access/connect"
    client = browser(User.objects.create_user("ann"))
    page = client.get(asked["verification_url_complete"].removeprefix("https://shop.example"))
    assert 'action="/shop/agent-access/connect"' in page.content.decode()
    form = {"code": asked["user_code"], "decision": "deny"}
    assert client.post("/shop/agent-access/connect", form)["Location"] == "/shop/agent-access?denied=1"
