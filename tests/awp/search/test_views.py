"""``/awp/search`` over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import User
from django.test import override_settings

from agentweb.catalog.registry import registry
from agentweb.catalog.words import action
from agentweb.testing import TestAgent
from tests.awp.search.pages import write_page
from tests.support.web import send

pytestmark = pytest.mark.django_db

SEARCH = "/awp/search"


@pytest.fixture(autouse=True)
def _nothing_declared() -> Iterator[None]:
    with registry.only():
        yield


def ask(**query: Any) -> Any:
    return send("GET", f"{SEARCH}?{urlencode(query)}")


def error_of(answer: Any) -> dict[str, Any]:
    error: dict[str, Any] = json.loads(answer.content)["error"]
    return error


def test_an_answer_has_the_query_the_results_and_where_to_go_on() -> None:
    for slug in ("a", "b", "c"):
        write_page(slug, "Green tea.")
    answer = ask(q="Green  tea", limit=2)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json; charset=utf-8")
    body = json.loads(answer.content)
    assert list(body) == ["query", "results", "next_cursor"]
    assert body["query"] == "Green  tea"
    assert [each["path"] for each in body["results"]] == ["/a/", "/b/"]
    assert list(body["results"][0]) == ["type", "title", "path", "url", "snippet", "score"]
    rest = json.loads(ask(q="Green  tea", limit=2, cursor=body["next_cursor"]).content)
    assert [each["path"] for each in rest["results"]] == ["/c/"]
    assert rest["next_cursor"] is None


def test_ten_results_are_given_unless_told_otherwise() -> None:
    for number in range(12):
        write_page(f"p{number}", "Tea.")
    assert len(json.loads(ask(q="tea").content)["results"]) == 10
    assert len(json.loads(ask(q="tea", limit=50).content)["results"]) == 12


def test_the_headers_are_those_of_the_protocol_and_nobody_keeps_the_answer() -> None:
    for answer in (ask(q="tea"), ask()):
        assert answer["X-AWP-Version"] == "1.0"
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert answer["Cache-Control"] == "no-store"
        assert answer["RateLimit-Policy"].startswith('"address"')


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("", {("q", "required")}),
        ("q=", {("q", "minLength")}),
        ("q=%20%09", {("q", "pattern")}),
        ("q=" + "x" * 501, {("q", "maxLength")}),
        ("q=tea&q=cups", {("q", "duplicate")}),
        ("q=tea&limit=0", {("limit", "minimum")}),
        ("q=tea&limit=51", {("limit", "maximum")}),
        ("q=tea&limit=ten", {("limit", "type")}),
        ("q=tea&limit=1e1", {("limit", "type")}),
        ("q=tea&page=2", {("page", "unknown_field")}),
        ("limit=0&page=2&q=%20", {("limit", "minimum"), ("page", "unknown_field"), ("q", "pattern")}),
    ],
)
def test_everything_that_is_wrong_with_the_query_string_is_listed(
    query: str, wrong: set[tuple[str, str]]
) -> None:
    answer = send("GET", f"{SEARCH}?{query}")
    assert answer.status_code == 400
    error = error_of(answer)
    assert error["code"] == "invalid_parameter"
    assert {(each["field"], each["code"]) for each in error["problems"]} == wrong
    assert {each["in"] for each in error["problems"]} == {"query"}


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "🍵", "A" * 5_000])
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    answer = ask(q="tea", cursor=cursor)
    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_cursor")


@pytest.mark.parametrize("raw", ["q=%00", "q=tea%00cups", "q=%ff", "q=%ed%a0%80"])
def test_what_is_no_unicode_text_is_refused(raw: str) -> None:
    answer = send("GET", f"{SEARCH}?{raw}")
    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_unicode")


@pytest.mark.parametrize(
    "asked",
    [
        "🍵🦄",
        "' OR 1=1 --",
        '"tea" AND (cups',
        "%_*?",
        "緑茶を",
        "כתב عربي",
        "<script>",
        "a" * 500,
        "x " * 250,
    ],
)
def test_no_text_breaks_a_search(asked: str) -> None:
    write_page("tea", "Tea 🍵 <script>alert(1)</script> 緑茶を飲む")
    answer = send("GET", f"{SEARCH}?q={quote(asked)}")
    assert answer.status_code == 200
    assert json.loads(answer.content)["query"] == asked
    assert b"<script" not in json.dumps(json.loads(answer.content)["results"]).encode()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_it_is_asked_with_get(method: str) -> None:
    answer = send(method, f"{SEARCH}?q=tea")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD, OPTIONS")


def test_head_and_options_answer() -> None:
    write_page("tea", "Tea.")
    head = send("HEAD", f"{SEARCH}?q=tea")
    assert (head.status_code, head.content) == (200, b"")
    assert send("OPTIONS", SEARCH).status_code == 204


@override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "ANONYMOUS_RATE": (0.001, 2)})
def test_it_counts_against_the_limit_of_the_address_and_says_so() -> None:
    assert ask(q="tea")["RateLimit"].startswith('"address";r=1')
    ask(q="tea")
    answer = ask(q="tea")
    assert (answer.status_code, error_of(answer)["code"]) == (429, "rate_limited")
    assert int(answer["Retry-After"]) > 900
    assert answer["RateLimit"].startswith('"address";r=0')
    assert answer["X-AWP-Version"] == "1.0"
    assert answer["Cache-Control"] == "no-store"


@override_settings(AGENTWEB={"ORIGIN": "https://shop.example", "CALLER_RATE": (0.001, 2)})
def test_a_signed_request_counts_against_its_caller() -> None:
    agent = TestAgent(scopes=["notes:read"])
    answers = [agent.get(f"{SEARCH}?q=tea") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0]["RateLimit"].startswith('"caller";r=1')
    assert ask(q="tea").status_code == 200


def test_a_caller_finds_what_its_person_may_see() -> None:
    action("staff_report", description="The report.", input=None, visible=lambda user: user.is_staff)(
        lambda _inp, ctx: None
    )
    ada = User.objects.create(username="ada", is_staff=True)
    agent = TestAgent(scopes=["notes:read"], user=ada)
    assert [each["path"] for each in json.loads(agent.get(f"{SEARCH}?q=report").content)["results"]] == [
        "/agent/staff_report"
    ]
    assert json.loads(ask(q="report").content)["results"] == []


def test_a_bad_signature_is_refused_and_not_taken_for_none() -> None:
    assert send("GET", f"{SEARCH}?q=tea", Signature="nonsense").status_code == 401


@override_settings(
    LANGUAGES=[("en", "English"), ("de", "German")],
    MIDDLEWARE=["django.middleware.locale.LocaleMiddleware"],
)
def test_a_page_is_named_in_the_language_that_is_asked_for() -> None:
    write_page("tea", "Sencha.", title="Tea", language="en")
    write_page("tea", "Sencha.", title="Tee", language="de")
    for wanted, title in (("de", "Tee"), ("en", "Tea"), ("fr", "Tea")):
        answer = send("GET", f"{SEARCH}?q=sencha", Accept_Language=wanted)
        assert [each["title"] for each in json.loads(answer.content)["results"]] == [title], wanted


def test_a_search_costs_six_statements_with_its_limit(django_assert_num_queries: Any) -> None:
    for number in range(20):
        write_page(f"p{number}", "Tea and cups.")
    ask(q="tea")
    with django_assert_num_queries(6):
        ask(q="tea cups", limit=20)
