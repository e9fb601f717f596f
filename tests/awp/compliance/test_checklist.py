"""A sound site passes every line; each fault fails its own line, and the line names the place and the fix."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse

from agentweb.awp.compliance.checklist import CHECKLIST
from agentweb.awp.compliance.items import Line, Outcome
from agentweb.awp.compliance.report import Report, analyze
from agentweb.awp.compliance.site import own_site
from tests.awp.compliance.sites import (
    FULL,
    FUNCTIONS,
    INSTRUCTIONS,
    LLMS,
    OPENAPI,
    POTS,
    STRUCTURE,
    SUMMARY,
    TEAS,
    WELL_KNOWN,
    SoundSite,
)

pytestmark = pytest.mark.django_db

Plant = Callable[[SoundSite], None]
LONG = "tea " * 2_100


def report_on(site: SoundSite) -> Report:
    return analyze(own_site())


def lines(report: Report) -> dict[str, Line]:
    return {line.item.id: line for line in report.lines}


def put(path: str, body: Any) -> Plant:
    return lambda site: site.put(path, body)


def without(path: str) -> Plant:
    return lambda site: site.bodies.pop(path)


def edit(path: str, **members: Any) -> Plant:
    return lambda site: site.edit(path, **members)


def typed(path: str, value: str) -> Plant:
    return lambda site: site.types.update({path: value})


def header(takes: Callable[[HttpRequest, HttpResponse], bool], **headers: str | None) -> Plant:
    """Set headers of the answers that ``takes`` picks, or take them away."""

    def change(request: HttpRequest, response: HttpResponse) -> None:
        if takes(request, response):
            for name, value in headers.items():
                response[name.replace("_", "-")] = value or ""
                if value is None:
                    del response[name.replace("_", "-")]

    def plant(site: SoundSite) -> None:
        site.change = change

    return plant


def answering(path: str, status: int, **headers: str) -> Plant:
    def change(request: HttpRequest, response: HttpResponse) -> HttpResponse | None:
        if request.path != path:
            return None
        kept = {name: value for name, value in response.items() if name.startswith(("X-AWP", "Access"))}
        return HttpResponse(status=status, headers=kept | headers)

    def plant(site: SoundSite) -> None:
        site.change = change

    return plant


def at(path: str) -> Callable[[HttpRequest, HttpResponse], bool]:
    return lambda request, response: request.path == path


def asked_by(method: str) -> Callable[[HttpRequest, HttpResponse], bool]:
    return lambda request, response: request.method == method


def with_status(status: int) -> Callable[[HttpRequest, HttpResponse], bool]:
    return lambda request, response: response.status_code == status


def from_a_page(request: HttpRequest, response: HttpResponse) -> bool:
    return request.method == "GET" and "HTTP_ORIGIN" in request.META


def without_origin(request: HttpRequest, response: HttpResponse) -> bool:
    return "HTTP_ORIGIN" not in request.META


def test_a_sound_site_passes_every_line_and_has_the_whole_score(sound: SoundSite) -> None:
    report = report_on(sound)
    assert {line.item.id: line.problems for line in report.lines} == {item.id: () for item in CHECKLIST}
    assert (report.score, report.is_compliant) == (100, True)
    assert report.met(required=True) == (6, 6)
    assert report.met(required=False) == (8, 8)
    assert [row.texts for row in report.budgets] == [1, 1, 1, 3, 1, 1, 1]


MANIFEST_FAULTS: list[Any] = [
    ("no-manifest", without(WELL_KNOWN), "awp/manifest-json", "answers 404", "Serve the manifest at"),
    (
        "manifest-moved",
        answering(WELL_KNOWN, 302, Location="https://evil.example/x"),
        "awp/manifest-json",
        "leads to https://evil.example/x",
        "status 200",
    ),
    ("manifest-crashes", answering(WELL_KNOWN, 500), "awp/manifest-json", "answers 500", "status 200"),
    (
        "not-json",
        put(WELL_KNOWN, '{"version": "1.0",\n "name": }'),
        "awp/manifest-json",
        "Expecting value",
        "value",
    ),
    ("a-list", put(WELL_KNOWN, "[1]"), "awp/manifest-json", "no object", "Write one object"),
    (
        "a-member-twice",
        put(WELL_KNOWN, '{"name": "Shop",\n  "name": "Store"}'),
        "awp/manifest-json",
        "occurs twice",
        "Keep one",
    ),
    (
        "html",
        typed(WELL_KNOWN, "text/html"),
        "awp/manifest-json",
        "text/html",
        "application/json; charset=utf-8",
    ),
    (
        "no-charset",
        typed(WELL_KNOWN, "application/json"),
        "awp/manifest-json",
        "Content-Type",
        "charset=utf-8",
    ),
    (
        "version-is-a-number",
        edit(WELL_KNOWN, version=1.0),
        "awp/version",
        "'version' must be",
        '"version": "1.0"',
    ),
    (
        "version-has-a-patch",
        edit(WELL_KNOWN, version="1.0.0"),
        "awp/version",
        "'version' must be",
        '"version": "1.0"',
    ),
    (
        "version-of-the-full-one",
        edit(FULL, version="1.1"),
        "awp/version",
        "full manifest",
        '"version": "1.0"',
    ),
    (
        "no-version",
        edit(WELL_KNOWN, version=None),
        "awp/version",
        "'version' is required",
        '"version": "1.0"',
    ),
    ("no-name", edit(WELL_KNOWN, name=None), "awp/members", "'name' is required", 'Add "name"'),
    (
        "no-description",
        edit(WELL_KNOWN, description=None),
        "awp/members",
        "'description' is",
        'Add "description"',
    ),
    (
        "no-capabilities",
        edit(WELL_KNOWN, capabilities=None),
        "awp/members",
        "'capabilities'",
        'Add "capabilities"',
    ),
    ("no-endpoints", edit(WELL_KNOWN, endpoints=None), "awp/members", "'endpoints'", 'Add "endpoints"'),
    ("no-full", edit(WELL_KNOWN, endpoints={}), "awp/members", "'endpoints.manifest'", 'Add "manifest"'),
    (
        "a-short-description",
        edit(WELL_KNOWN, description="Tea"),
        "awp/members",
        "at least 10",
        "Say in one or two",
    ),
    (
        "a-new-capability",
        edit(WELL_KNOWN, capabilities=["tea"]),
        "awp/members",
        "must be one of",
        "Take it out",
    ),
    ("full-is-missing", without(FULL), "awp/members", "full manifest answers 404", "Serve it where"),
    ("full-is-not-json", put(FULL, "{"), "awp/members", "stops being JSON", "Write the member's name"),
    ("full-is-a-list", put(FULL, "[]"), "awp/members", "no JSON object", "Write one object"),
    (
        "full-is-elsewhere",
        edit(WELL_KNOWN, endpoints={"manifest": "//evil.example/awp/manifest.json"}),
        "awp/members",
        "no address of this site",
        "Write the path",
    ),
]
BUDGET_FAULTS: list[Any] = [
    (
        "description",
        edit(WELL_KNOWN, description="tea " * 250),
        "Discovery manifest description",
        "DESCRIPTION",
    ),
    ("summary", put(SUMMARY, "tea " * 501), "Content summary", "Shorten it"),
    ("instructions", put(INSTRUCTIONS, "tea " * 301), "Agent instructions", "Shorten them"),
    ("a-page", put(POTS, [LONG]), "Per-page content", "more parts"),
    ("a-second-part", put(TEAS, ["# Teas", LONG]), "Per-page content", "more parts"),
    (
        "a-function",
        edit(FUNCTIONS, functions=[{"name": "search", "description": "tea " * 151}]),
        'Function description, "search",',
        "Shorten the description of the function",
    ),
    (
        "an-operation",
        edit(OPENAPI, paths={"/teas": {"get": {"description": "tea " * 101}}}),
        'API endpoint description, "GET /teas",',
        "Shorten the description of the operation",
    ),
    (
        "llms-txt",
        put(LLMS, f"# Shop\n\n> {'tea ' * 201}\n\n## Pages\n"),
        "llms.txt intro",
        "before the first list",
    ),
    ("a-text-without-end", put(SUMMARY, "x" * 2_000_000), "more than 500 tokens", "Shorten it"),
]
HEADER_FAULTS: list[Any] = [
    ("the-manifest", at(WELL_KNOWN), WELL_KNOWN),
    ("the-full-manifest", at(FULL), FULL),
    ("the-summary", at(SUMMARY), SUMMARY),
    ("the-structure", at(STRUCTURE), STRUCTURE),
    ("the-instructions", at(INSTRUCTIONS), INSTRUCTIONS),
    ("the-functions", at(FUNCTIONS), FUNCTIONS),
    ("the-search", at("/awp/search"), "/awp/search"),
    ("a-page", at(POTS), POTS),
    ("unchanged", with_status(304), WELL_KNOWN),
    ("not-found", with_status(404), "/awp/agentweb-check/no-such-path"),
    ("wrong-method", with_status(405), WELL_KNOWN),
    ("head", asked_by("HEAD"), WELL_KNOWN),
    ("options", asked_by("OPTIONS"), WELL_KNOWN),
]


@pytest.mark.parametrize(
    ("plant", "item", "said", "fix"),
    [each[1:] for each in MANIFEST_FAULTS],
    ids=[each[0] for each in MANIFEST_FAULTS],
)
@pytest.mark.requirement("AWP-7.1", "AWP-7.2", "AWP-7.3")
def test_a_fault_of_the_manifest_fails_its_line(
    sound: SoundSite, plant: Plant, item: str, said: str, fix: str
) -> None:
    plant(sound)
    report = report_on(sound)
    line = lines(report)[item]
    assert line.outcome is Outcome.FAILED
    assert any(said in problem.message and fix in problem.fix for problem in line.problems), line.problems
    assert not report.is_compliant
    assert report.score < 100


def test_a_fault_of_the_schema_names_line_and_column_of_what_is_served(sound: SoundSite) -> None:
    sound.put(WELL_KNOWN, '{"version": "1.0",\n "name": "Shop",\n "description": "Tea"}')
    found = lines(report_on(sound))["awp/members"].problems
    places = {
        problem.pointer: (problem.address, problem.spot.line, problem.spot.column)
        for problem in found
        if problem.spot
    }
    assert places["/description"] == (WELL_KNOWN, 3, 17)
    assert places["/capabilities"] == (WELL_KNOWN, 1, 1)


@pytest.mark.parametrize(
    ("plant", "said", "fix"), [each[1:] for each in BUDGET_FAULTS], ids=[each[0] for each in BUDGET_FAULTS]
)
@pytest.mark.requirement("AWP-7.4")
def test_a_text_over_its_budget_fails_the_line(sound: SoundSite, plant: Plant, said: str, fix: str) -> None:
    plant(sound)
    report = report_on(sound)
    line = lines(report)["awp/budgets"]
    assert line.outcome is Outcome.FAILED
    [problem] = line.problems
    assert said in problem.message
    assert "tokens; the budget is" in problem.message
    assert fix in problem.fix
    assert sum(row.over for row in report.budgets) == 1


@pytest.mark.parametrize(
    ("takes", "address"), [each[1:] for each in HEADER_FAULTS], ids=[each[0] for each in HEADER_FAULTS]
)
@pytest.mark.requirement("AWP-7.5")
def test_one_answer_without_the_version_fails_the_line(
    sound: SoundSite, takes: Callable[..., bool], address: str
) -> None:
    header(takes, X_AWP_Version=None)(sound)
    line = lines(report_on(sound))["awp/version-header"]
    assert line.outcome is Outcome.FAILED
    assert address in {problem.address for problem in line.problems}
    assert all("has no X-AWP-Version" in problem.message for problem in line.problems)
    assert all("Send X-AWP-Version: 1.0" in problem.fix for problem in line.problems)
    assert lines(report_on(sound))["awp/cors"].outcome is Outcome.PASSED


def test_another_version_in_the_header_fails_the_line(sound: SoundSite) -> None:
    header(at(SUMMARY), X_AWP_Version="1.0.0")(sound)
    line = lines(report_on(sound))["awp/version-header"]
    assert 'X-AWP-Version: "1.0.0"' in line.problems[0].message


@pytest.mark.parametrize(
    ("takes", "address"),
    [
        *(each[1:] for each in HEADER_FAULTS),
        (from_a_page, WELL_KNOWN),
        (without_origin, WELL_KNOWN),
        (at(LLMS), LLMS),
    ],
    ids=[*(each[0] for each in HEADER_FAULTS), "with-an-origin", "without-an-origin", "llms-txt"],
)
@pytest.mark.requirement("AWP-7.6")
def test_one_answer_that_not_every_page_may_read_fails_the_line(
    sound: SoundSite, takes: Callable[..., bool], address: str
) -> None:
    header(takes, Access_Control_Allow_Origin="https://shop.example")(sound)
    line = lines(report_on(sound))["awp/cors"]
    assert line.outcome is Outcome.FAILED
    assert address in {problem.address for problem in line.problems}
    assert 'allows the origin "https://shop.example" only' in line.problems[0].message
    assert "Access-Control-Allow-Origin: *" in line.problems[0].fix


def test_credentials_beside_the_star_are_warned_of(sound: SoundSite) -> None:
    header(at(FULL), Access_Control_Allow_Credentials="true")(sound)
    report = report_on(sound)
    assert lines(report)["awp/cors"].outcome is Outcome.WARNED
    assert report.is_compliant


RECOMMENDED: list[Any] = [
    ("no-summary", without(SUMMARY), "awp/summary", "answers 404", "Serve a summary"),
    ("an-empty-summary", put(SUMMARY, " \n"), "awp/summary", "is empty", "Serve a summary"),
    ("a-long-summary", put(SUMMARY, "tea " * 500), "awp/summary", "501 tokens", "Shorten"),
    (
        "a-summary-as-text",
        typed(SUMMARY, "text/plain"),
        "awp/summary",
        "text/plain",
        "text/markdown; charset=utf-8",
    ),
    ("no-structure", without(STRUCTURE), "awp/structure", "answers 404", "Serve the site's navigation"),
    ("structure-is-not-json", put(STRUCTURE, "{]"), "awp/structure", "stops being JSON", "double quotes"),
    (
        "structure-lists-nothing",
        put(STRUCTURE, '{"a": 1}'),
        "awp/structure",
        "no object with a list",
        "Write {",
    ),
    ("structure-as-html", typed(STRUCTURE, "text/html"), "awp/structure", "text/html", "application/json"),
    (
        "no-instructions",
        without(INSTRUCTIONS),
        "awp/instructions",
        "answers 404",
        "Serve what agents must know",
    ),
    ("long-instructions", put(INSTRUCTIONS, "tea " * 300), "awp/instructions", "301 tokens", "Shorten"),
    ("no-llms", without(LLMS), "awp/llms-txt", "answers 404", "llmstxt.org"),
    ("llms-without-heading", put(LLMS, "Corner Shop"), "awp/llms-txt", "begin with a heading", "#"),
    (
        "no-content-endpoint",
        edit(WELL_KNOWN, endpoints={"manifest": FULL}),
        "awp/content-endpoint",
        "'endpoints.content' is not given",
        'Add "content"',
    ),
    (
        "a-dead-content-endpoint",
        edit(WELL_KNOWN, endpoints={"manifest": FULL, "content": "/awp/nothing"}),
        "awp/content-endpoint",
        "answers 404",
        "an address that answers",
    ),
    ("no-date", edit(WELL_KNOWN, updated_at=None), "awp/updated-at", "not given", 'Add "updated_at"'),
    (
        "an-old-date",
        edit(WELL_KNOWN, updated_at="2025-05-15T15:00:00Z"),
        "awp/updated-at",
        "31 days ago",
        "Renew",
    ),
    (
        "a-future-date",
        edit(WELL_KNOWN, updated_at="2025-06-17T15:00:00Z"),
        "awp/updated-at",
        "future",
        "in UTC",
    ),
    (
        "a-date-without-zone",
        edit(WELL_KNOWN, updated_at="2025-06-10T12:00:00"),
        "awp/updated-at",
        "not given",
        "Add",
    ),
    ("no-authentication", edit(WELL_KNOWN, authentication=None), "awp/authentication", "not declared", "Add"),
    ("no-rate-limits", edit(WELL_KNOWN, rate_limits=None), "awp/rate-limits", "not declared", "Add"),
    ("empty-rate-limits", edit(WELL_KNOWN, rate_limits={}), "awp/rate-limits", "not declared", "Add"),
]


@pytest.mark.parametrize(
    ("plant", "item", "said", "fix"),
    [each[1:] for each in RECOMMENDED],
    ids=[each[0] for each in RECOMMENDED],
)
@pytest.mark.requirement(
    "AWP-7.7", "AWP-7.8", "AWP-7.9", "AWP-7.10", "AWP-7.11", "AWP-7.12", "AWP-7.13", "AWP-7.14"
)
def test_what_is_only_recommended_is_a_warning(
    sound: SoundSite, plant: Plant, item: str, said: str, fix: str
) -> None:
    plant(sound)
    report = report_on(sound)
    line = lines(report)[item]
    assert line.outcome is Outcome.WARNED
    assert any(said in problem.message and fix in problem.fix for problem in line.problems), line.problems
    assert report.score < 100


@pytest.mark.parametrize("at_days", [0, 30])
def test_a_date_within_thirty_days_passes(sound: SoundSite, at_days: int) -> None:
    sound.edit(WELL_KNOWN, updated_at="2025-06-15T15:06:40Z" if at_days == 0 else "2025-05-16T15:06:40Z")
    assert lines(report_on(sound))["awp/updated-at"].outcome is Outcome.PASSED


def test_what_caches_may_not_keep_is_a_remark_and_no_failure(sound: SoundSite) -> None:
    header(at(WELL_KNOWN), Cache_Control="no-store")(sound)
    report = report_on(sound)
    assert lines(report)["awp/manifest-json"].outcome is Outcome.WARNED
    assert report.is_compliant
    assert report.score == 96


def test_content_that_is_listed_and_not_there_is_said(sound: SoundSite) -> None:
    sound.bodies.pop(POTS)
    sound.put(TEAS, ["# Teas"])
    line = lines(report_on(sound))["awp/budgets"]
    assert [problem.message for problem in line.problems] == [
        "The list says 2 parts; 1 can be reached along the links.",
        "The content is listed and answers 404.",
    ]
    assert line.outcome is Outcome.WARNED


def test_a_site_under_a_path_is_measured_where_its_manifest_says(sound: SoundSite) -> None:
    for path in [path for path in sound.bodies if path != WELL_KNOWN]:
        sound.bodies[f"/shop{path}"] = sound.bodies.pop(path)
        sound.types[f"/shop{path}"] = sound.types.pop(path)
    moved = (
        json.dumps({name: sound.bodies[name] for name in (WELL_KNOWN, f"/shop{FULL}", f"/shop{STRUCTURE}")})
        .replace("/awp/", "/shop/awp/")
        .replace("/llms.txt", "/shop/llms.txt")
    )
    moved = moved.replace("/shop/shop/", "/shop/")
    sound.bodies |= json.loads(moved)

    def change(request: HttpRequest, response: HttpResponse) -> HttpResponse | None:
        return (
            HttpResponse("{}", headers=dict(response.items())) if request.path == "/shop/awp/search" else None
        )

    sound.change = change
    report = report_on(sound)
    assert report.prefix == "/shop"
    assert [line.problems for line in report.lines if line.problems] == []
