"""A site in several languages, by its paths (``i18n_patterns``) or by what a visitor asks for."""

from __future__ import annotations

from typing import Any

from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import Sitemap
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path, reverse
from django.utils.translation import get_language

from tests.awp.content.site import html

WORDS: dict[str, str | None] = {"en": "Good morning.", "nl": "Goedemorgen.", "de": "Guten Morgen."}


def greeting(request: HttpRequest) -> HttpResponse:
    word = WORDS[get_language() or "en"]
    if word is None:
        raise Http404
    return html(f"<p>{word}</p>", title="Greeting")


def numbers(request: HttpRequest) -> HttpResponse:
    return html("<p>1 2 3</p>", title="Numbers")


class InEveryLanguage(Sitemap):
    i18n = True

    def items(self) -> list[str]:
        return ["greeting"]

    def location(self, item: str) -> str:
        return reverse(item)


sitemaps: dict[str, Any] = {"greetings": InEveryLanguage}

urlpatterns = [
    path("spoken/", greeting),
    path("numbers/", numbers),
    path("", include("agentweb.urls")),
    *i18n_patterns(path("greeting/", greeting, name="greeting")),
]
