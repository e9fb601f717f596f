"""``manage.py check`` says what keeps the index from working, or from being safe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from agentweb.catalog.registry import registry
from agentweb.catalog.words import action
from agentweb.conf import runs
from agentweb.index import checks, urls


def own(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"own")


class Before:
    urlpatterns = (
        path("agent-index/<slug:what>", own),
        *urls.urlpatterns,
        path("", include("agentweb.urls")),
    )


class CatchAllBehind:
    urlpatterns = (*urls.urlpatterns, path("", include("agentweb.urls")), path("<path:page>", own))


@pytest.fixture(autouse=True)
def _as_a_site_has_it(_with_the_index: None, settings: Any) -> Iterator[None]:
    settings.AGENTWEB = {**settings.AGENTWEB, "INDEX": {}}
    with registry.only():
        yield


def ids(found: list[CheckMessage]) -> list[str | None]:
    return [each.id for each in found]


def test_a_site_without_httpx_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.check_client(None) == []
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    [found] = checks.check_client(None)
    assert (found.id, "agentweb-django[client]" in str(found.hint)) == ("agentweb.E110", True)


def test_nothing_is_said_of_a_sound_site() -> None:
    assert [message for check in checks.CHECKS for message in check(None)] == []


def test_a_view_at_an_address_of_the_index_is_named(settings: Any) -> None:
    settings.ROOT_URLCONF = Before
    found = checks.check_addresses(None)
    assert ids(found) == ["agentweb.W110"] * 2
    assert "/agent-index/find too" in found[0].msg
    assert "/agent-index/manifests too" in found[1].msg


def test_a_page_for_every_address_is_none_of_the_index_s_business(settings: Any) -> None:
    settings.ROOT_URLCONF = CatchAllBehind
    assert checks.check_addresses(None) == []


@pytest.mark.parametrize("address", ["/agent-index/look", "/agent-index"])
def test_an_action_at_or_below_the_index_s_addresses_is_named(address: str) -> None:
    action("look", description="Look.", path=address)(lambda _, ctx: None)
    action("see", description="See.", path="/agent-indexes/see")(lambda _, ctx: None)
    [found] = checks.check_addresses(None)
    assert found.id == "agentweb.W110"
    assert f"'look' has the address {address}" in found.msg


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST", "::1"])
def test_an_index_that_strangers_may_turn_on_its_own_machine_is_warned_of(
    settings: Any, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr(runs, "is_test", lambda: False)
    index = {"ALLOW_HOSTS": ["intranet.example", host]}
    settings.AGENTWEB = {**settings.AGENTWEB, "INDEX": index}
    [found] = checks.check_hosts(None)
    assert (found.id, host.lower() in found.msg) == ("agentweb.W111", True)
    settings.AGENTWEB = {**settings.AGENTWEB, "INDEX": {**index, "SUBMISSIONS": False}}
    assert checks.check_hosts(None) == []
    settings.AGENTWEB = {**settings.AGENTWEB, "INDEX": index}
    settings.DEBUG = True
    assert checks.check_hosts(None) == []
    settings.DEBUG = False
    monkeypatch.setattr(runs, "is_test", lambda: True)
    assert checks.check_hosts(None) == [], "DEBUG is off in every test run"
