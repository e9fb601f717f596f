"""A site in several languages: its documents have one, and the addresses in them answer everybody."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.middleware.locale import LocaleMiddleware
from django.test import Client, override_settings
from django.urls import include, path, re_path
from django.utils import translation
from django.utils.translation import gettext_lazy

from agentweb import action, flow, rooms
from agentweb import urls as agentweb_urls
from agentweb.agent_actions import published
from agentweb.http import mount

pytestmark = pytest.mark.usefixtures("shop")

MANIFEST = "/.well-known/agent-actions.json"
LOCALE = "django.middleware.locale.LocaleMiddleware"
COMMON = "django.middleware.common.CommonMiddleware"


def own_page(request: Any, **captured: Any) -> HttpResponse:
    return HttpResponse("the site's own page")


class Translated:
    urlpatterns = (
        *agentweb_urls.well_known,
        *i18n_patterns(path("", include("agentweb.urls")), path("agent/help", own_page)),
    )


class TranslatedBeforeAFrontEnd:
    urlpatterns = (
        *agentweb_urls.well_known,
        *i18n_patterns(path("", include("agentweb.urls")), re_path(r"^.*$", own_page)),
    )


class TranslatedButTheFirst:
    urlpatterns = (
        *agentweb_urls.well_known,
        *i18n_patterns(path("", include("agentweb.urls")), prefix_default_language=False),
    )


@pytest.fixture
def languages(settings: Any) -> Any:
    settings.MIDDLEWARE = [LOCALE, COMMON]
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    settings.LANGUAGE_CODE = "en"
    settings.ROOT_URLCONF = Translated
    return settings


def manifest(language: str) -> Any:
    published.forget()
    return Client().get(MANIFEST, headers={"Accept-Language": language})


@pytest.mark.parametrize(
    ("code", "urlconf", "prefix"),
    [
        ("en", Translated, "/en"),
        ("de", Translated, "/de"),
        ("en-us", Translated, "/en"),
        ("en", TranslatedButTheFirst, ""),
        ("de", TranslatedButTheFirst, ""),
        ("en-us", TranslatedButTheFirst, ""),
    ],
)
@pytest.mark.parametrize("order", [("de", "en"), ("en", "de")])
def test_every_reader_gets_the_same_paths_and_they_answer(
    languages: Any, code: str, urlconf: type, prefix: str, order: tuple[str, str]
) -> None:
    languages.LANGUAGE_CODE = code
    languages.ROOT_URLCONF = urlconf
    mount._path.cache_clear()
    answers = [manifest(language) for language in order]
    assert answers[0].content == answers[1].content
    assert answers[0]["ETag"] == answers[1]["ETag"]
    paths = {entry["name"]: entry["path"] for entry in answers[0].json()["actions"]}
    assert paths["search_products"] == f"{prefix}/agent/search_products"
    for language in order:
        called = Client().get(f"{paths['search_products']}?query=tea", headers={"Accept-Language": language})
        assert called.status_code == 200, (language, called.content)
    receipts = answers[0].json()["endpoints"]["receipts"].removeprefix("https://shop.example")
    assert Client().get(receipts).status_code == 401


class OwnLocale(LocaleMiddleware):
    """As a site may have one, that looks at its users first."""


@pytest.mark.parametrize(
    ("code", "middleware", "prefix"),
    [
        ("en-us", COMMON, "/en-us"),
        ("en", COMMON, "/en"),
        ("de", COMMON, "/de"),
        ("en-us", f"{__name__}.OwnLocale", "/en"),
    ],
)
def test_the_paths_are_those_of_the_language_that_requests_have(
    languages: Any, code: str, middleware: str, prefix: str
) -> None:
    languages.LANGUAGE_CODE = code
    languages.MIDDLEWARE = [middleware]
    mount._path.cache_clear()
    published.forget()
    document = Client().get(MANIFEST).json()
    paths = {entry["name"]: entry["path"] for entry in document["actions"]}
    assert paths["search_products"] == f"{prefix}/agent/search_products"
    assert Client().get(f"{paths['search_products']}?query=tea").status_code == 200
    receipts = document["endpoints"]["receipts"].removeprefix("https://shop.example")
    assert Client().get(receipts).status_code == 401
    assert [message for check in rooms.checks() for message in check(None)] == []


def test_under_any_language_an_action_answers_and_a_page_of_the_site_stays_its_own(languages: Any) -> None:
    for language in ("en", "de"):
        assert Client().get(f"/{language}/agent/search_products?query=tea").status_code == 200
        assert Client().get(f"/{language}/agent/help").content == b"the site's own page"
        assert b"action_not_found" in Client().get(f"/{language}/agent/x/y").content


def test_a_front_end_in_every_language_does_not_take_what_is_called(languages: Any) -> None:
    languages.ROOT_URLCONF = TranslatedBeforeAFrontEnd
    for language in ("en", "de"):
        assert b"action_not_found" in Client().get(f"/{language}/agent/x/y").content
        assert Client().get(f"/{language}/agent").content == b"the site's own page"
        assert Client().get(f"/{language}/agents/x").content == b"the site's own page"


@pytest.mark.parametrize("code", ["en", "en-us", "de"])
@pytest.mark.parametrize("active", ["en", "de", None])
def test_the_checks_look_where_the_published_addresses_are(
    languages: Any, code: str, active: str | None
) -> None:
    languages.LANGUAGE_CODE = code
    with translation.override(active):
        assert [message for check in rooms.checks() for message in check(None)] == []


def test_translated_words_are_published_in_the_site_s_language(languages: Any) -> None:
    with translation.override("de"):
        assert str(gettext_lazy("Yes")) == "Ja"

        @action(title=gettext_lazy("Yes"), description=gettext_lazy("Please correct the error below."))
        def agree(_inp: Any, ctx: Any) -> Any:
            return {}

        flow("agreeing", description=gettext_lazy("Enter a whole number."), steps=[{"action": "agree"}])
    for language in ("de", "en"):
        document = manifest(language).json()
        [entry] = [each for each in document["actions"] if each["name"] == "agree"]
        assert (entry["title"], entry["description"]) == ("Yes", "Please correct the error below.")
        [told] = [each for each in document["flows"] if each["name"] == "agreeing"]
        assert told["description"] == "Enter a whole number."


def test_the_document_says_its_language_and_not_the_reader_s(languages: Any) -> None:
    with override_settings(LANGUAGE_CODE="en"):
        assert manifest("de")["Content-Language"] == "en"
