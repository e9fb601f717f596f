"""The text that a page's declaration gives for itself: a text, a template, a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from agentweb import AgentError, page
from agentweb.awp.content import published, running
from agentweb.awp.content.declared import is_template
from agentweb.awp.content.models import ContentPage


@pytest.fixture(autouse=True)
def _no_sitemap(site: Any) -> None:
    site.sitemaps = {}


def text(slug: str) -> str | None:
    found = published.page_part(slug, 1)
    return None if found is None else found.text


def why() -> dict[str, str]:
    summary = running.run()
    assert summary is not None
    return {each.path: str(each.why.reason) for each in summary.reports}


@pytest.mark.parametrize("markdown", ["about.md", "shop/about.markdown", "about.txt"])
def test_one_word_with_the_ending_of_a_text_is_a_template(markdown: str) -> None:
    assert is_template(markdown)


@pytest.mark.parametrize(
    "markdown", ["About us.", "# about.md", "See about.md", "about.html", "a\nb.md", "**a**.md"]
)
def test_every_other_text_is_the_text(markdown: str) -> None:
    assert not is_template(markdown)


def test_a_template_is_given_the_page_and_its_visitor_and_escapes_nothing(
    settings: Any, tmp_path: Path
) -> None:
    (tmp_path / "shop").mkdir()
    template = (
        "{% load i18n %}# {{ page.title }}\n\nFor {{ ctx.user.is_authenticated }} & {{ request.path }}."
    )
    (tmp_path / "shop" / "about.md").write_text(template, encoding="utf-8")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [str(tmp_path)]}]
    page("/about", title="Us & 'them'", markdown="shop/about.md")
    assert why() == {}
    assert text("about") == "# Us & 'them'\n\nFor False & /about."


def test_a_template_that_is_not_there_is_told(site: Any) -> None:
    page("/about", title="About", markdown="nowhere.md")
    summary = running.run()
    assert summary is not None
    [report] = summary.reports
    assert report.why.detail.startswith("TemplateDoesNotExist: nowhere.md")


def test_an_async_function_is_awaited(site: Any) -> None:
    async def told(ctx: Any) -> str:
        user = await ctx.request.auser()
        return f"For {user.username or 'anybody'}, {ctx.request.COOKIES}."

    page("/told", title="Told", markdown=told)
    assert why() == {}
    assert text("told") == "For anybody, {}."


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Http404(), "gone"),
        (PermissionDenied(), "login"),
        (AgentError("gone", "It is over.", status=410), "gone"),
        (RuntimeError("no shelf"), "raised"),
        (SystemExit(1), "raised"),
    ],
    ids=["Http404", "PermissionDenied", "410", "RuntimeError", "SystemExit"],
)
def test_a_function_that_raises_says_why_there_is_no_text(
    site: Any, error: BaseException, reason: str
) -> None:
    def told(ctx: Any) -> str:
        raise error

    page("/told", title="Told", markdown=told)
    page("/about", title="About", markdown="We are us.")
    assert why() == {"/told": reason}
    assert text("about") == "We are us."


@pytest.mark.parametrize(
    ("said", "reason"), [(None, "empty"), ("", "empty"), ("  \n", "empty"), ({}, "raised")]
)
def test_what_is_no_text_is_none(site: Any, said: Any, reason: str) -> None:
    page("/told", title="Told", markdown=lambda ctx: said)
    assert why() == {"/told": reason}


def test_characters_that_no_database_takes_are_left_out(site: Any) -> None:
    page("/told", title="Told", markdown=lambda ctx: "One\0 two\ud800.")
    assert why() == {}
    assert text("told") == "One two?."


def test_a_text_of_many_parts_is_whole_when_they_are_joined(site: Any) -> None:
    whole = "\n\n".join(f"Paragraph {number} has some words of its own to say." for number in range(900))
    page("/long", title="Long", markdown=whole)
    assert why() == {}
    row = ContentPage.objects.get()
    parts = list(row.content_parts.order_by("number"))
    assert row.parts == len(parts) > 3
    assert "".join(part.text for part in parts) == whole
    assert max(part.tokens for part in parts) <= 2_000
    assert row.tokens == sum(part.tokens for part in parts)
