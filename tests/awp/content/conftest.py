"""The test site of the content, and runs over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentweb.catalog.registry import registry
from tests.awp.content import site as the_site


@pytest.fixture
def site(settings: Any, db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the site, with two articles in its sitemap and nothing registered."""
    settings.ROOT_URLCONF = "tests.awp.content.site"
    settings.AGENTWEB = {
        "ORIGIN": "https://shop.example",
        "AWP": {"SITEMAPS": "tests.awp.content.site.sitemaps"},
    }
    monkeypatch.setattr(the_site, "PAGES", {"red": "A red shoe.", "blue": "A blue shoe."})
    monkeypatch.setattr(the_site, "sitemaps", {"articles": the_site.Articles})
    monkeypatch.setattr(the_site, "ROBOTS", "")
    the_site.visits.clear()
    the_site.seen.clear()
    with registry.only():
        yield the_site
