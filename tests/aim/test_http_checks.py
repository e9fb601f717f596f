"""``manage.py check`` says what keeps the messenger from answering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path

from agentweb import action, urls
from agentweb.aim.checks import CHECKS, check_addresses
from agentweb.catalog.registry import registry
from agentweb.conf import runs
from agentweb.http import doors


def own(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"own")


OURS = path("", include("agentweb.urls"))


class Sound:
    urlpatterns = (OURS, path("v2/products", own), path("docs/handbook", own), re_path("", own))


class Behind:
    urlpatterns = (OURS, path("openapi.json", own))


class Before:
    urlpatterns = (path("v2/inbox/", own), path("v2/contacts/<slug:name>", own), OURS)


class CatchAllFirst:
    urlpatterns = (re_path("", own), OURS)


class CatchesOfEveryLength:
    """As a site with pages that its staff name has them."""

    urlpatterns = (
        OURS,
        path("<str:page>", own),
        path("<slug:shelf>/<str:page>", own),
        path("<slug:shelf>/<slug:board>/<str:page>", own),
        re_path(r"^(?P<name>\w+)\.json$", own),
    )


class ShortCatchFirst:
    urlpatterns = (path("<str:page>", own), OURS)


class WellKnownBehind:
    urlpatterns = (path("chat/", include("agentweb.urls")), re_path("", own), *urls.well_known)


class UnderAPath:
    urlpatterns = (path("chat/", include("agentweb.urls")),)


class UnderAPathAndKnown:
    urlpatterns = (path("chat/", include("agentweb.urls")), *urls.well_known)


class NotIncluded:
    urlpatterns = (path("v2/inbox", own),)


@pytest.fixture(autouse=True)
def _no_actions() -> Iterator[None]:
    with registry.only():
        yield


def found() -> list[CheckMessage]:
    return [message for check in CHECKS for message in check(None)]


def test_a_site_with_addresses_beside_the_messengers_is_sound(settings: Any) -> None:
    settings.ROOT_URLCONF = Sound
    assert found() == []


def test_a_view_behind_an_address_of_the_messenger_is_named(settings: Any) -> None:
    settings.ROOT_URLCONF = Behind
    [message] = found()
    assert message.id == "agentweb.W080"
    assert "test_http_checks.own answers at /openapi.json too" in message.msg


def test_views_before_addresses_of_the_messenger_are_named(settings: Any) -> None:
    settings.ROOT_URLCONF = Before
    messages = found()
    assert {message.id for message in messages} == {"agentweb.W080"}
    assert {message.msg.split(" at ")[1].split(" ")[0] for message in messages} == {
        "/v2/inbox",
        "/v2/contacts/{name}",
    }


@pytest.mark.parametrize(
    "address", ["/v2/inbox", "/v2/contacts/{who}", "/docs/authentication.md", "/{a}/{b}"]
)
def test_an_action_at_an_address_of_the_messenger_is_named(settings: Any, address: str) -> None:
    settings.ROOT_URLCONF = Sound
    names = [part[1:-1] for part in address.split("/") if part.startswith("{")]
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
    }
    action(description="Clash.", method="GET", path=address, input=schema)(clash)
    [message] = found()
    assert message.id == "agentweb.W080"
    assert f"The action 'clash' has the address {address}" in message.msg


def clash(inp: Any, ctx: Any) -> Any:
    return {}


def test_an_action_elsewhere_is_no_clash(settings: Any) -> None:
    settings.ROOT_URLCONF = Sound
    action(description="None.", method="GET", path="/v2/products/list", input=None)(clash)
    assert found() == []


def test_a_pattern_that_takes_everything_first_is_named_once(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ROOT_URLCONF = CatchAllFirst
    # The other room says it, where it is on.
    assert [message.id for message in check_addresses(None)] == []
    monkeypatch.setattr(doors, "_doors", {})
    assert [message.id for message in check_addresses(None)] == ["agentweb.W080"]


def test_patterns_behind_that_take_any_path_of_their_length_are_no_clash(settings: Any) -> None:
    settings.ROOT_URLCONF = CatchesOfEveryLength
    assert found() == []


def test_one_before_that_takes_an_address_is_named(settings: Any) -> None:
    settings.ROOT_URLCONF = ShortCatchFirst
    [message] = found()
    assert message.id == "agentweb.W080"
    assert "own answers at /openapi.json too" in message.msg


def test_of_a_pattern_that_takes_everything_first_the_manifest_is_not_told_beside(settings: Any) -> None:
    settings.ROOT_URLCONF = CatchAllFirst
    assert found() == []


def test_a_manifest_behind_a_pattern_that_takes_everything_is_told_once(settings: Any) -> None:
    settings.ROOT_URLCONF = WellKnownBehind
    [message] = found()
    assert message.id == "agentweb.W080"
    assert "own answers at /.well-known/aim.json too" in message.msg
    assert "above one that takes many paths" in str(message.hint)


def test_the_manifest_has_to_be_at_the_root(settings: Any) -> None:
    settings.ROOT_URLCONF = UnderAPath
    assert [message.id for message in found()] == ["agentweb.W081"]
    settings.ROOT_URLCONF = UnderAPathAndKnown
    assert found() == []


def test_cors_of_the_site_is_kept_off(settings: Any) -> None:
    settings.ROOT_URLCONF = Sound
    settings.MIDDLEWARE = ["corsheaders.middleware.CorsMiddleware", *settings.MIDDLEWARE]
    [message] = found()
    assert message.id == "agentweb.W082"
    assert message.hint is not None
    settings.CORS_URLS_REGEX = message.hint.split('r"')[1].rstrip('"')
    assert found() == []


def test_nothing_is_said_of_a_site_that_does_not_include_it(settings: Any) -> None:
    settings.ROOT_URLCONF = NotIncluded
    assert found() == []


@pytest.mark.requirement("AIM-S1.1")
@pytest.mark.parametrize(
    ("origin", "debug", "tests", "expected"),
    [
        ("http://shop.example", False, False, ["agentweb.E080"]),
        ("http://shop.example", True, False, []),
        ("http://shop.example", False, True, []),
        ("https://shop.example", False, False, []),
        ("http://127.0.0.1:8000", False, False, []),
        ("http://localhost:8000", False, False, []),
        (None, False, False, []),
    ],
)
def test_the_messenger_is_served_by_https(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    origin: str | None,
    debug: bool,
    tests: bool,
    expected: list[str],
) -> None:
    monkeypatch.setattr(runs, "is_test", lambda: tests)
    settings.ROOT_URLCONF = Sound
    settings.DEBUG = debug
    settings.AGENTWEB = {"ORIGIN": origin}
    assert [message.id for message in found()] == expected
