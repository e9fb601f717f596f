"""agentweb's own documents and pages pass every line of the checklist, wherever the site is mounted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from agentweb.access.models import Bucket
from agentweb.awp.compliance.items import Line, Outcome
from agentweb.awp.compliance.report import Report, analyze
from agentweb.awp.compliance.site import own_site
from agentweb.awp.content.models import ContentPage, ContentRun
from agentweb.awp.publishing import published
from agentweb.urls import well_known
from tests.awp.conftest import awp, catalog, shop
from tests.awp.pages import end_run, write_page

__all__ = ["awp", "catalog", "shop"]

pytestmark = pytest.mark.usefixtures("content")


class UnderAPath:
    urlpatterns = (*well_known, path("shop/", include("agentweb.urls")))


@pytest.fixture
def content(awp: None) -> None:
    write_page("tea", "# Tea\n\nAssam.", "Darjeeling.", section="teas")
    write_page("pot", "# A pot", section="pots")
    end_run()


def lines(report: Report) -> dict[str, Line]:
    return {line.item.id: line for line in report.lines}


def test_every_line_passes() -> None:
    report = analyze(own_site())
    assert [line.problems for line in report.lines if line.problems] == []
    assert report.score == 100
    assert (report.pages_read, report.pages_listed) == (2, 2)
    counted = {row.budget.name: row.texts for row in report.budgets}
    assert counted["page"] == 3
    assert counted["function_description"] > 3


def test_the_texts_of_every_language_are_measured(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "AWP": {"LANGUAGES": ["en-us", "nl"]}}
    write_page("tea", "# Thee\n\n" + "thee " * 3_000, language="nl", section="teas")
    end_run()
    report = analyze(own_site())
    counted = {row.budget.name: row.texts for row in report.budgets}
    assert (counted["page"], counted["summary"]) == (4, 2)
    [problem] = [each for each in report.problems if each.code == "over_budget"]
    assert "in nl, has" in problem.message
    assert problem.address == "/awp/content/tea.md"


def test_every_line_passes_under_a_path(settings: Any) -> None:
    settings.ROOT_URLCONF = UnderAPath
    report = analyze(own_site())
    assert report.prefix == "/shop"
    assert [line.problems for line in report.lines if line.problems] == []


def test_every_line_passes_where_the_server_mounts_it(script_name: None) -> None:
    report = analyze(own_site())
    assert [
        line.problems for line in report.lines if line.item.id != "awp/manifest-json" and line.problems
    ] == []


def test_a_site_without_content_is_compliant_and_told_that_it_was_not_looked_through(awp: None) -> None:
    ContentPage.objects.all().delete()
    ContentRun.objects.all().delete()
    published.forget()
    report = analyze(own_site())
    assert report.is_compliant
    assert [line.item.id for line in report.with_outcome(Outcome.WARNED)] == ["awp/updated-at"]
    assert "agentweb_content" in lines(report)["awp/updated-at"].problems[0].fix


def test_nothing_is_written_and_nobody_s_limit_is_used() -> None:
    analyze(own_site())
    assert not Bucket.objects.exists()


def own_404(get_response: Any) -> Any:
    def middleware(request: HttpRequest) -> HttpResponse:
        response: HttpResponse = get_response(request)
        return HttpResponse("gone", status=404) if response.status_code == 404 else response

    return middleware


def test_a_middleware_that_answers_in_our_place_is_seen(settings: Any) -> None:
    settings.MIDDLEWARE = [f"{__name__}.own_404", *settings.MIDDLEWARE]
    report = analyze(own_site())
    assert lines(report)["awp/version-header"].outcome is Outcome.FAILED
    assert lines(report)["awp/cors"].outcome is Outcome.FAILED
    addresses = {problem.address for problem in lines(report)["awp/version-header"].problems}
    assert "/awp/agentweb-check/no-such-path" in addresses


def test_pages_that_keep_updated_at_back_are_named_and_nobody_is_sent_to_write_it_by_hand() -> None:
    failed = {"path": "/crash/", "language": "", "reason": "raised", "detail": "", "is_failure": True}
    ContentRun.objects.update(is_complete=False, reports=json.dumps([failed]))
    published.forget()
    (problem,) = lines(analyze(own_site()))["awp/updated-at"].problems
    assert problem.message.endswith("The last run failed at /crash/ (it raised an error).")
    assert problem.fix.startswith("Correct these pages, or leave them out")


def own_llms(request: HttpRequest) -> HttpResponse:
    return HttpResponse("# Our own", content_type="text/plain; charset=utf-8")


class WithItsOwnLlms:
    urlpatterns = (path("llms.txt", own_llms), path("", include("agentweb.urls")))


def test_an_llms_txt_of_the_site_s_own_needs_its_own_header(settings: Any) -> None:
    settings.ROOT_URLCONF = WithItsOwnLlms
    line = lines(analyze(own_site()))["awp/cors"]
    assert (line.outcome, [each.address for each in line.problems]) == (Outcome.FAILED, ["/llms.txt"])
    assert "the site's own" in line.problems[0].fix


def test_titles_that_repeat_are_remarked_on_and_cost_nothing() -> None:
    for slug in ("red", "blue"):
        write_page(slug, "Text.", title="Welcome")
    end_run()
    report = analyze(own_site())
    (remark,) = lines(report)["awp/structure"].problems
    assert remark.message.startswith('2 of 4 listed pages have the title "Welcome"')
    assert report.score == 100
