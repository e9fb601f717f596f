"""An action that the caller may not see is unlisted, uncallable and unmentioned."""

import json

import pytest
from django.contrib.auth.models import User

from agentweb.catalog.words import action
from agentweb.testing import TestAgent
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop")

HIDDEN, UNKNOWN = "/agent/staff_report", "/agent/staff_repork"


def stable(answer):
    """An answer without what differs between any two answers."""
    headers = {name: value for name, value in answer.items() if name not in ("X-Request-Id", "RateLimit")}
    content = answer.content.replace(answer["X-Request-Id"].encode(), b"")
    return answer.status_code, headers, content


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"]
)
@pytest.mark.parametrize(
    ("body", "headers", "query"),
    [
        (b"", {}, ""),
        (b"{}", {}, ""),
        (b"{", {}, ""),
        (b"{}", {"Content_Type": "text/plain"}, ""),
        (b"", {"Signature": "nonsense"}, ""),
        (b"", {"Transfer_Encoding": "chunked"}, ""),
        (b"", {"Accept": "application/problem+json"}, ""),
        (b"", {"Access_Control_Request_Method": "POST"}, ""),
        (b"", {}, "?token=x"),
        (b"", {}, "?a=%FF"),
    ],
)
def test_a_hidden_action_answers_exactly_as_an_unknown_one(method, body, headers, query):
    hidden = send(method, HIDDEN + query, body, **headers)
    unknown = send(method, UNKNOWN + query, body, **headers)
    assert stable(hidden) == stable(unknown)
    assert hidden.status_code != 405
    assert b"staff" not in hidden.content


def test_a_signed_caller_without_the_right_cannot_tell_either():
    agent = TestAgent(scopes=["cart:*"], user=User.objects.create(username="eve"))
    hidden, unknown = agent.get(HIDDEN), agent.get(UNKNOWN)
    assert hidden.status_code == 404
    assert stable(hidden) == stable(unknown)


def with_token(user, method, path):
    return TestAgent.with_session(scopes=["cart:*"], user=user).request(method, path)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "FOO"])
def test_a_session_of_a_person_without_the_right_cannot_tell_either(method):
    eve = User.objects.create(username="eve")
    hidden, unknown = (with_token(eve, method, path) for path in (HIDDEN, UNKNOWN))
    assert hidden.status_code in (404, 204)
    assert stable(hidden) == stable(unknown)


def test_a_session_sees_what_its_person_may_see_today():
    ada = User.objects.create(username="ada", is_staff=True)
    assert json.loads(with_token(ada, "GET", HIDDEN).content) == {"report": []}
    assert json.loads(with_token(ada, "GET", UNKNOWN).content)["error"]["closest"] == ["staff_report"]
    assert b"staff_report" in with_token(ada, "GET", "/.well-known/agent-actions.json").content
    ada.is_staff = False
    ada.save()
    assert with_token(ada, "GET", HIDDEN).status_code == 404
    assert b"staff_report" not in with_token(ada, "GET", "/.well-known/agent-actions.json").content


def test_who_may_see_it_may_call_it_and_be_pointed_to_it():
    agent = TestAgent(scopes=["cart:*"], user=User.objects.create(username="ada", is_staff=True))
    assert json.loads(agent.get(HIDDEN).content) == {"report": []}
    assert json.loads(agent.get(UNKNOWN).content)["error"]["closest"] == ["staff_report"]
    assert agent.request("POST", HIDDEN)["Allow"] == "GET, HEAD, OPTIONS"


def test_a_hidden_method_of_a_visible_path_is_not_among_those_allowed():
    @action("secret_order", description="Words.", effect="write", method="PUT", path="/orders/{id}", scope="o",
            input={"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
            visible=lambda user: False)  # fmt: skip
    def secret_order(inp, ctx):
        return None

    answer = send("PUT", "/orders/1")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, DELETE, PATCH, HEAD, OPTIONS")
    assert send("GET", "/orders/1").status_code == 200


def test_a_guard_that_fails_hides(caplog):
    action("broken_guard", description="Words.", input=None, visible=lambda user: 1 / 0)(
        lambda inp, ctx: None
    )
    assert send("GET", "/agent/broken_guard").status_code == 404
    assert b"broken_guard" not in send("GET", "/.well-known/agent-actions.json").content
    assert "ZeroDivisionError" in caplog.text


def test_an_unknown_action_is_told_what_comes_closest():
    error = json.loads(send("GET", "/agent/serch_product").content)["error"]
    assert (error["code"], error["closest"]) == ("action_not_found", ["search_products"])
    assert json.loads(send("POST", "/agent/zzzz", b"{}").content)["error"]["closest"] == []
    assert json.loads(send("GET", f"/agent/{'a' * 5000}").content)["error"]["closest"] == []
