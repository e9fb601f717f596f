"""The content and its runs in the admin: what is shown, and that nothing can be changed."""

from __future__ import annotations

from typing import Any

import pytest

from agentweb.awp.content import running
from agentweb.awp.content.models import ContentPage, ContentRun
from tests.support.staff import boss, browser, page, text_of


@pytest.fixture
def client(site: Any, settings: Any) -> Any:
    site.sitemaps = {"shoes": site.Paths("/articles/red/", "/private/", "/crash/")}
    running.run()
    settings.ROOT_URLCONF = "tests.urls"
    return browser(boss())


def test_pages_are_listed_and_show_what_agents_read(client: Any) -> None:
    listed = text_of(client.get(page("contentpage")))
    assert "/articles/red/" in listed
    row = ContentPage.objects.get()
    shown = text_of(client.get(page("contentpage", "change", str(row.pk))))
    assert "A red shoe." in shown
    assert client.post(page("contentpage", "change", str(row.pk)), {"title": "x"}).status_code == 403
    assert client.get(page("contentpage", "add")).status_code == 403


def test_pages_are_found_by_section_and_path(client: Any) -> None:
    assert "/articles/red/" in text_of(
        client.get(page("contentpage") + "?of_section=shoes&of_language=en-us")
    )
    assert "/articles/red/" not in text_of(client.get(page("contentpage") + "?of_section=none"))
    assert "/articles/red/" in text_of(client.get(page("contentpage") + "?q=/articles"))
    assert "/articles/red/" not in text_of(client.get(page("contentpage") + "?q=/other"))


def test_a_run_shows_what_was_left_out_and_why(client: Any) -> None:
    run = ContentRun.objects.get()
    listed = text_of(client.get(page("contentrun")))
    assert "incomplete" in listed
    assert "1 new, 1 left out, 1 failed" in listed
    shown = text_of(client.get(page("contentrun", "change", str(run.pk))))
    assert "it needs a login (/enter/?next=/private/)" in shown
    assert "RuntimeError: the shelf fell over" in shown
