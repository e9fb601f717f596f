"""Pages in several languages: by their paths, or by what a visitor asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.utils.translation import get_language

from agentweb import page
from agentweb.awp.content import languages, published, running
from agentweb.awp.content.models import ContentPage
from agentweb.catalog.registry import registry
from tests.awp.content import site_in_languages
from tests.awp.content.site import Paths

pytestmark = pytest.mark.django_db


@pytest.fixture
def site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    settings.ROOT_URLCONF = "tests.awp.content.site_in_languages"
    settings.LANGUAGE_CODE = "en"
    settings.LANGUAGES = [("de", "German"), ("en", "English"), ("nl", "Dutch")]
    first, *rest = settings.MIDDLEWARE
    settings.MIDDLEWARE = [first, "django.middleware.locale.LocaleMiddleware", *rest]
    settings.AGENTWEB = {
        "ORIGIN": "https://shop.example",
        "AWP": {"SITEMAPS": "tests.awp.content.site_in_languages.sitemaps"},
    }
    monkeypatch.setattr(site_in_languages, "sitemaps", {})
    with registry.only():
        yield site_in_languages


def run() -> dict[tuple[str, str], str]:
    """(slug, language) -> path of every page, after a run."""
    summary = running.run()
    assert summary is not None
    assert summary.reports == []
    return {(row.slug, row.language): row.path for row in ContentPage.objects.all()}


def text(slug: str, *wanted: str) -> str:
    found = published.page_part(slug, 1, wanted)
    assert found is not None
    return (found.text or "").strip().splitlines()[-1]


def test_a_page_that_visitors_ask_for_in_their_language_is_there_in_each(site: Any) -> None:
    site.sitemaps = {"all": Paths("/spoken/")}
    assert run() == {("spoken", code): "/spoken/" for code in ("en", "de", "nl")}
    assert [text("spoken", code) for code in ("nl", "de", "en")] == [
        "Goedemorgen.",
        "Guten Morgen.",
        "Good morning.",
    ]
    assert text("spoken", "fr", "de") == "Guten Morgen."
    assert text("spoken", "fr") == text("spoken") == "Good morning."
    summary = running.run()
    assert summary is not None
    assert summary.counts["unchanged"] == 3


def test_a_page_that_says_the_same_in_every_language_is_there_once(site: Any) -> None:
    site.sitemaps = {"all": Paths("/numbers/")}
    assert run() == {("numbers", "en"): "/numbers/"}
    assert text("numbers", "nl") == "1 2 3"
    assert run() == {("numbers", "en"): "/numbers/"}


def test_a_page_that_is_not_translated_any_more_goes_in_that_language(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.sitemaps = {"all": Paths("/spoken/")}
    run()
    monkeypatch.setitem(site.WORDS, "nl", site.WORDS["en"])
    assert set(run()) == {("spoken", "en"), ("spoken", "de")}


def test_paths_that_say_their_language_are_one_page_in_several_languages(site: Any) -> None:
    site.sitemaps = {"greetings": site.InEveryLanguage}
    assert run() == {("greeting", code): f"/{code}/greeting/" for code in ("en", "de", "nl")}
    assert text("greeting", "nl") == "Goedemorgen."


def test_a_path_without_its_language_redirects_to_each(site: Any) -> None:
    site.sitemaps = {"all": Paths("/greeting/")}
    assert run() == {("greeting", code): f"/{code}/greeting/" for code in ("en", "de", "nl")}


def test_only_the_languages_that_are_to_be_kept_are(site: Any, settings: Any) -> None:
    awp = {**settings.AGENTWEB["AWP"], "LANGUAGES": ["nl", "en"]}
    settings.AGENTWEB = {**settings.AGENTWEB, "AWP": awp}
    site.sitemaps = {"all": Paths("/spoken/", "/de/greeting/")}
    summary = running.run()
    assert summary is not None
    assert {(each.path, str(each.why.reason)) for each in summary.reports} == {("/de/greeting/", "language")}
    assert {row.language for row in ContentPage.objects.all()} == {"en", "nl"}


def test_a_declared_text_is_told_in_each_language(site: Any) -> None:
    page("/told", title="Told", markdown=lambda ctx: site.WORDS[get_language() or "en"])
    page("/fixed", title="Fixed", markdown="As it is.")
    assert set(run()) == {("told", "en"), ("told", "de"), ("told", "nl"), ("fixed", "en")}
    assert text("told", "de") == "Guten Morgen."


def test_without_the_middleware_there_is_one_language(site: Any, settings: Any) -> None:
    settings.MIDDLEWARE = [each for each in settings.MIDDLEWARE if "locale" not in each]
    site.sitemaps = {"all": Paths("/spoken/")}
    assert run() == {("spoken", "en"): "/spoken/"}


def test_djangos_own_list_of_languages_is_no_choice_of_the_site(settings: Any) -> None:
    settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware", *settings.MIDDLEWARE]
    assert len(django_settings.LANGUAGES) > 50
    assert languages.of_the_site().kept == ("en",)


def test_the_site_own_language_is_that_of_its_pages(site: Any, settings: Any) -> None:
    settings.LANGUAGE_CODE = "en-us"
    site.sitemaps = {"all": Paths("/spoken/")}
    assert languages.default() == "en"
    assert ("spoken", "en") in run()


def test_a_page_that_fails_in_one_language_is_hidden_in_another_and_confirmed_in_a_third(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.sitemaps = {"all": Paths("/spoken/")}
    run()
    before = ContentPage.objects.get(language="en").confirmed_at
    monkeypatch.delitem(site.WORDS, "de")
    monkeypatch.setitem(site.WORDS, "nl", None)
    summary = running.run()
    assert summary is not None
    assert [(each.language, str(each.why.reason)) for each in summary.reports] == [
        ("de", "raised"),
        ("nl", "gone"),
    ]
    assert {row.language for row in ContentPage.objects.all()} == {"en", "de"}
    assert ContentPage.objects.get(language="en").confirmed_at > before


def test_a_registered_page_below_the_languages_is_there_in_each(site: Any, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.awp.content.site_below_languages"
    page("/greeting", title="Greeting")
    page(
        "/told",
        title="Told",
        markdown=lambda ctx: f"{site.WORDS[get_language() or 'en']} ({ctx.request.path})",
    )
    assert run() == {
        **{("greeting", code): f"/{code}/greeting/" for code in ("en", "de", "nl")},
        **{("told", code): f"/{code}/told" for code in ("en", "de", "nl")},
    }
    assert text("told", "nl") == "Goedemorgen. (/nl/told)"
