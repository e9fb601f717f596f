import json
import sqlite3

import pytest
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.test import RequestFactory
from rest_framework import exceptions as drf

from agentweb.http.errors import as_agent_error, error_response
from agentweb.wire.errors import AgentError, ConflictError, InputError, ServerError
from tests.support.web import send

REQUEST = RequestFactory().get("/")
ID = "rq_" + "A" * 22


def sqlite_error(name):
    cause = sqlite3.OperationalError("database is locked")
    cause.sqlite_errorname = name
    error = OperationalError("database is locked")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("exception", "status", "code"),
    [
        (Http404("table secrets"), 404, "not_found"),
        (PermissionDenied("secrets"), 403, "not_allowed"),
        (BadRequest("secrets"), 400, "malformed_json"),
        (MultiPartParserError("secrets"), 400, "malformed_json"),
        (SuspiciousOperation("secrets"), 400, "invalid_parameter"),
        (RequestDataTooBig("secrets"), 413, "payload_too_large"),
        (UnreadablePostError("secrets"), 400, "malformed_json"),
        (drf.NotFound("secrets"), 404, "not_found"),
        (drf.PermissionDenied("secrets"), 403, "not_allowed"),
        (drf.NotAuthenticated("secrets"), 401, "grant_required"),
        (drf.AuthenticationFailed("secrets"), 401, "grant_required"),
        (drf.MethodNotAllowed("GET"), 405, "method_not_allowed"),
        (drf.ParseError("secrets"), 400, "malformed_json"),
        (drf.UnsupportedMediaType("secrets"), 415, "unsupported_media_type"),
        (drf.NotAcceptable("secrets"), 406, "not_acceptable"),
        (drf.Throttled(7), 429, "rate_limited"),
        (sqlite_error("SQLITE_BUSY"), 503, "unavailable"),
        (sqlite_error("SQLITE_LOCKED"), 503, "unavailable"),
        (InterfaceError("secrets: connection already closed"), 503, "unavailable"),
        (sqlite_error("SQLITE_ERROR"), 500, "internal"),
        (DataError("secrets"), 500, "internal"),
        (RecursionError("secrets"), 500, "internal"),
        (MemoryError("secrets"), 500, "internal"),
        (KeyError("secrets"), 500, "internal"),
    ],
)
def test_an_exception_becomes_a_code_and_none_of_its_text(exception, status, code):
    answer = error_response(as_agent_error(exception, ID), REQUEST, ID)
    error = json.loads(answer.content)["error"]
    assert (answer.status_code, error["code"], error["request_id"]) == (status, code, ID)
    assert b"secrets" not in answer.content
    assert ("retry_after" in error) == (status in {429, 503})


def test_a_wait_is_told_in_the_header_and_the_body_alike():
    for error, seconds in ((drf.Throttled(6.2), "7"), (sqlite_error("SQLITE_BUSY"), "1")):
        answer = error_response(as_agent_error(error, ID), REQUEST, ID)
        assert answer["Retry-After"] == seconds == str(json.loads(answer.content)["error"]["retry_after"])


def test_debug_texts_go_to_the_log_only(caplog):
    error = ServerError("unavailable", "Try later.", retry_after=1, debug="the key of db-7 is missing")
    answer = error_response(as_agent_error(error, ID), REQUEST, ID)
    assert b"db-7" not in answer.content
    assert "db-7" in caplog.text
    assert ID in caplog.text


def test_members_that_are_not_json_become_a_crash_instead_of_one(caplog):
    for extra in (object(), float("nan"), "\ud800", {1: 2}):
        answer = error_response(AgentError("odd", "Odd.", thing=extra), REQUEST, ID)
        assert (answer.status_code, json.loads(answer.content)["error"]["code"]) == (500, "internal")
    assert "odd" in caplog.text


ACCEPT = [
    ("application/problem+json", True),
    ("application/problem+json;q=0.1", True),
    ("application/json, Application/Problem+JSON", True),
    ("text/html, application/problem+json ; q=0.9, application/json;q=0.5", True),
    ("application/json, application/problem+json;q=0.5", False),
    ("application/problem+json;q=0", False),
    ("application/problem+json;q=nan", False),
    ("application/problem+json;q=x", False),
    ("application/problem+json2", False),
    ("*/*", False),
    ("application/*", False),
    ("", False),
    ("," * 5_000, False),
]


@pytest.mark.parametrize(("accept", "is_wanted"), ACCEPT)
def test_problem_details_are_sent_to_those_who_name_them(accept, is_wanted):
    request = RequestFactory().get("/", headers={"Accept": accept})
    error = ConflictError("conflict", "Somebody was faster.", retry_after=2)
    plain = json.loads(error_response(error, REQUEST, ID).content)
    answer = error_response(error, request, ID)
    if is_wanted:
        assert answer["Content-Type"] == "application/problem+json"
        assert json.loads(answer.content) == {
            "type": "about:blank",
            "title": "Conflict",
            "status": 409,
            "detail": "Somebody was faster.",
            **plain,
        }
    else:
        assert answer["Content-Type"] == "application/json; charset=utf-8"
        assert json.loads(answer.content) == plain


def test_problem_details_list_every_problem_too():
    request = RequestFactory().get("/", headers={"Accept": "application/problem+json"})
    problems = [{"pointer": "/a", "field": "a", "code": "required", "message": "a is required; add it."}]
    body = json.loads(error_response(InputError(problems), request, ID).content)
    assert body["error"]["problems"] == problems
    assert body["status"] == 422
    assert body["title"] in {"Unprocessable Entity", "Unprocessable Content"}


@pytest.mark.usefixtures("shop")
def test_problem_details_reach_the_caller_over_http():
    answer = send("POST", "/agent/add_to_cart", b"{}", Accept="application/problem+json")
    assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json")
    assert answer["WWW-Authenticate"] == 'AgentGrant scope="cart:write"'
    ok = send("GET", "/agent/search_products?query=tea", Accept="application/problem+json")
    assert ok["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.requirement("AA-3.3")
@pytest.mark.usefixtures("shop")
def test_a_database_that_is_busy_is_503_and_says_when_to_come_again(monkeypatch):
    def busy(address):
        raise sqlite_error("SQLITE_BUSY")

    monkeypatch.setattr("agentweb.access.limits.admit_anonymous", busy)
    answer = send("GET", "/agent/search_products?query=tea")
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert json.loads(answer.content)["error"]["retry_after"] == 1


@pytest.mark.usefixtures("shop")
def test_a_header_that_cannot_be_sent_does_not_break_the_answer(monkeypatch):
    def refuse(address):
        raise AgentError("odd", "Odd.", headers={"X-Odd": "a\r\nSet-Cookie: b"})

    monkeypatch.setattr("agentweb.access.limits.admit_anonymous", refuse)
    answer = send("GET", "/agent/search_products?query=tea")
    assert answer.status_code == 500
    assert json.loads(answer.content)["error"]["code"] == "internal"
    assert "Set-Cookie" not in answer.headers
