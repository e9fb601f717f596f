import json
import logging
from io import BytesIO

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIRequest
from django.test import AsyncClient, Client
from django.urls import URLPattern, get_resolver, resolve
from rest_framework.views import APIView

from agentweb.access.models import Bucket, Nonce
from agentweb.http.views import AgentView
from agentweb.testing import TestAgent
from tests.support.web import SECRET, send

pytestmark = pytest.mark.usefixtures("shop")


def error_of(answer):
    return json.loads(answer.content)["error"]


def test_every_answer_has_a_request_id_that_its_error_repeats():
    found, missing = send("GET", "/agent/search_products?query=tea"), send("GET", "/agent/serch_products")
    assert found["X-Request-Id"].startswith("rq_")
    assert len(found["X-Request-Id"]) == 25
    assert error_of(missing)["request_id"] == missing["X-Request-Id"] != found["X-Request-Id"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PROPFIND", "TRACE", "Get"])
def test_a_method_that_is_not_answered_is_405_and_says_which_are(method):
    answer = send(method, "/agent/crash")
    if method == "POST":
        return
    assert answer.status_code == 405
    assert answer["Allow"] == "POST, OPTIONS"
    assert error_of(answer)["allow"] == ["POST", "OPTIONS"]
    assert error_of(answer)["code"] == "method_not_allowed"


def test_head_answers_as_get_without_its_content():
    get, head = (
        send("GET", "/agent/search_products?query=tea"),
        send("HEAD", "/agent/search_products?query=tea"),
    )
    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Length"] == str(len(get.content))
    its_own = {"X-Request-Id", "RateLimit"}
    assert {name: value for name, value in head.items() if name not in its_own} == {
        name: value for name, value in get.items() if name not in its_own
    }


def test_a_wrong_method_is_told_before_anything_else_is_wrong():
    answer = send("PUT", "/agent/crash?token=x", b"{", Content_Type="text/plain", Signature="nonsense")
    assert answer.status_code == 405


def test_the_body_s_headers_are_judged_before_the_query_and_the_signature():
    answer = send("POST", "/agent/crash?token=x", b"{", Content_Type="text/plain", Signature="nonsense")
    assert answer.status_code == 415


def test_a_token_in_the_url_is_refused_before_the_signature_is_looked_at():
    for name in ("token", "access_token", "session_token"):
        answer = send("GET", f"/agent/search_products?query=tea&{name}=abc", Signature="nonsense")
        assert (answer.status_code, error_of(answer)["code"]) == (400, "token_in_url")
        assert b"abc" not in answer.content


def test_a_bad_signature_is_refused_before_the_body_is_parsed():
    answer = send("POST", "/agent/crash", b"{", Signature="nonsense")
    assert (answer.status_code, error_of(answer)["code"]) == (401, "signature_invalid")
    assert answer["WWW-Authenticate"] == "AgentGrant"


@pytest.mark.requirement("AA-6.15")
def test_the_grant_is_judged_before_the_body():
    answer = send("POST", "/agent/add_to_cart", b"{")
    assert (answer.status_code, error_of(answer)["code"]) == (401, "grant_required")
    assert answer["WWW-Authenticate"] == 'AgentGrant scope="cart:write"'
    unscoped = TestAgent(scopes=["orders:write"]).request("POST", "/agent/add_to_cart", b"{")
    assert (unscoped.status_code, error_of(unscoped)["code"]) == (403, "insufficient_scope")
    scoped = TestAgent(scopes=["cart:write"]).request("POST", "/agent/add_to_cart", b"{")
    assert (scoped.status_code, error_of(scoped)["code"]) == (400, "malformed_json")


def test_a_signed_call_runs_once_and_its_copy_is_a_replay():
    agent = TestAgent(scopes=["cart:write"])
    body = b'{"product_id":"tea","quantity":2}'
    headers = agent.signed_headers("POST", "/agent/add_to_cart", body)
    first, again = (agent.send("POST", "/agent/add_to_cart", body, headers) for _ in range(2))
    assert json.loads(first.content) == {"put": {"product_id": "tea", "quantity": 2}, "key": None}
    assert (again.status_code, error_of(again)["code"]) == (401, "request_replayed")


def test_a_signature_covers_the_raw_path_and_query():
    agent = TestAgent(scopes=["cart:write"])
    target = "/agent/search_products?query=a%20b&limit=2"
    headers = agent.signed_headers("GET", target)
    assert agent.send("GET", target, b"", headers).status_code == 200
    other = agent.send("GET", target.replace("limit=2", "limit=3"), b"", agent.signed_headers("GET", target))
    assert (other.status_code, error_of(other)["reason"]) == (401, "signature")


def test_a_cookie_authenticates_nobody():
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True))
    assert json.loads(send("GET", "/agent/who_am_i", client=client).content) == {
        "user": "",
        "caller": "anonymous",
    }
    assert send("GET", "/agent/staff_report", client=client).status_code == 404


def test_the_request_s_user_is_the_person_of_the_grant():
    ada = User.objects.create(username="ada")
    client = Client()
    client.force_login(User.objects.create(username="eve"))
    agent = TestAgent(scopes=["cart:*"], user=ada, client=client)
    assert json.loads(agent.get("/agent/who_am_i").content) == {"user": "ada", "caller": "agent"}


@pytest.mark.requirement("AA-3.3")
def test_an_unsigned_call_counts_against_its_address_and_a_public_document_does_not(settings):
    settings.AGENTWEB = {**settings.AGENTWEB, "ANONYMOUS_RATE": (0.1, 2)}
    calls = [send("GET", "/agent/search_products?query=tea") for _ in range(3)]
    assert [call.status_code for call in calls] == [200, 200, 429]
    refused = error_of(calls[2])
    assert (refused["code"], str(refused["retry_after"])) == ("rate_limited", calls[2]["Retry-After"])
    assert send("GET", "/.well-known/agent-actions.json").status_code == 200
    assert Bucket.objects.count() == 1


@pytest.mark.requirement("AA-6.17")
def test_a_crash_tells_its_request_id_only(caplog):
    with caplog.at_level(logging.ERROR):
        answer = send("POST", "/agent/crash", b"{}")
    assert answer.status_code == 500
    assert error_of(answer).keys() == {"code", "message", "request_id"}
    assert SECRET not in answer.content.decode()
    assert "Traceback" not in answer.content.decode()
    logged = [record for record in caplog.records if answer["X-Request-Id"] in record.getMessage()]
    assert logged
    assert SECRET in caplog.text


@pytest.mark.requirement("AA-6.17")
def test_debug_changes_nothing_about_a_crash(settings):
    settings.DEBUG = True
    answer = send("POST", "/agent/crash", b"{}")
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/json; charset=utf-8")
    assert error_of(answer).keys() == {"code", "message", "request_id"}
    assert SECRET not in answer.content.decode()


def test_a_crash_of_our_own_is_answered_and_logged_too(settings, caplog, monkeypatch):
    settings.DEBUG = True
    monkeypatch.setattr("agentweb.agent_actions.published.document", lambda *args, **kwargs: 1 / 0)
    answer = send("GET", "/.well-known/agent-actions.json")
    assert (answer.status_code, error_of(answer)["code"]) == (500, "internal")
    assert "ZeroDivisionError" not in answer.content.decode()
    assert "ZeroDivisionError" in caplog.text
    assert answer["X-Request-Id"] in caplog.text


@pytest.mark.requirement("AA-6.16")
def test_a_handler_s_refusal_keeps_its_members_and_retry_after():
    answer = send("POST", "/agent/refuse", b"{}")
    assert answer.status_code == 409
    assert error_of(answer) == {
        "code": "out_of_stock",
        "message": "Only 3 left.",
        "field": "quantity",
        "retry_after": 30,
        "left": 3,
        "request_id": answer["X-Request-Id"],
    }
    assert answer["Retry-After"] == "30"


def test_every_policy_of_rest_framework_is_set_by_us():
    policies = {name for name in vars(APIView) if name.endswith(("_class", "_classes"))} | {"schema"}
    assert policies <= vars(AgentView).keys()


def test_no_setting_of_rest_framework_reaches_us(settings):
    settings.REST_FRAMEWORK = {
        "DEFAULT_AUTHENTICATION_CLASSES": ["no.such.Authentication"],
        "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
        "DEFAULT_THROTTLE_CLASSES": ["rest_framework.throttling.AnonRateThrottle"],
        "DEFAULT_THROTTLE_RATES": {"anon": "1/day"},
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.StaticHTMLRenderer"],
        "DEFAULT_PARSER_CLASSES": [],
        "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.AcceptHeaderVersioning",
        "EXCEPTION_HANDLER": "no.such.handler",
        "URL_FORMAT_OVERRIDE": "format",
        "UNAUTHENTICATED_USER": "no.such.User",
    }
    for _ in range(3):
        answer = send("GET", "/agent/search_products?query=tea&format=xml", Accept="text/html;version=9")
        assert json.loads(answer.content) == {"found": {"query": "tea", "format": "xml"}}
    assert send("GET", "/agent/nope").status_code == 404


def test_a_site_that_asks_for_a_login_everywhere_lets_agents_through(settings):
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    assert send("GET", "/agent/search_products?query=tea").status_code == 200
    assert send("GET", "/.well-known/agent-actions.json").status_code == 200


def test_a_post_needs_no_csrf_token():
    assert send("POST", "/agent/mirror", b"[1]", client=Client(enforce_csrf_checks=True)).status_code == 200


def _callbacks(resolver):
    for each in resolver.url_patterns:
        if isinstance(each, URLPattern):
            yield each.callback
        elif each.app_name != "admin":
            yield from _callbacks(each)


def test_no_url_of_ours_runs_inside_a_request_s_transaction():
    # The pages for people are ordinary views of a site.
    callbacks = [
        each for each in _callbacks(get_resolver()) if issubclass(getattr(each, "cls", object), AgentView)
    ]
    assert len(callbacks) > 10
    for callback in callbacks:
        assert "default" in callback._non_atomic_requests


@pytest.mark.django_db(transaction=True)
def test_a_site_with_atomic_requests_keeps_nonces_of_failed_calls(monkeypatch):
    from django.db import connection

    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    agent = TestAgent(scopes=["cart:write"])
    answer = agent.post("/agent/crash", {})
    assert answer.status_code == 500
    assert Nonce.objects.count() == 1
    assert agent.post("/agent/add_to_cart", {"product_id": "tea", "quantity": 1}).status_code == 200


def test_without_an_origin_no_host_header_chooses_the_audience(settings, caplog):
    settings.AGENTWEB = {}
    answer = send("GET", "/.well-known/agent-actions.json", Host="evil.example")
    assert (answer.status_code, error_of(answer)["code"]) == (500, "internal")
    assert "ORIGIN" in caplog.text
    assert "ORIGIN" not in answer.content.decode()


def test_under_debug_the_request_s_host_is_the_site(settings):
    settings.AGENTWEB, settings.DEBUG = {}, True
    answer = send("GET", "/.well-known/agent-actions.json", Host="127.0.0.1:8000")
    assert json.loads(answer.content)["site"] == "127.0.0.1:8000"


@pytest.mark.requirement("AA-2.2")
def test_with_an_origin_the_host_header_changes_nothing():
    answer = send("GET", "/.well-known/agent-actions.json", Host="evil.example")
    assert json.loads(answer.content)["site"] == "shop.example"
    assert b"evil" not in answer.content


@pytest.mark.django_db(transaction=True)
def test_an_asynchronous_test_client_is_answered_alike():
    answer = async_to_sync(AsyncClient().get)("/agent/search_products?query=a%20b")
    assert json.loads(answer.content) == {"found": {"query": "a b"}}
    body = async_to_sync(AsyncClient().post)("/agent/mirror", [1], content_type="application/json")
    assert json.loads(body.content) == {"input": [1]}


def test_a_body_that_no_header_announced_is_411_under_asgi():
    def ask(sent):
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/agent/mirror",
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }
        request = ASGIRequest(scope, BytesIO(sent))
        match = resolve("/agent/mirror")
        return match.func(request, **match.kwargs), request

    refused, _ = ask(b"{}")
    assert (refused.status_code, error_of(refused)["code"]) == (411, "length_required")
    answer, request = ask(b"")
    assert (answer.status_code, request.body) == (200, b"")
