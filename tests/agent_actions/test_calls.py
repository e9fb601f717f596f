import json

import pytest

from agentweb.testing import TestAgent
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop")


def body_of(answer):
    return json.loads(answer.content)


def problems_of(answer):
    assert answer.status_code == 422, answer.content
    return [(each["pointer"], each["code"], each.get("in")) for each in body_of(answer)["error"]["problems"]]


def test_a_get_takes_its_input_from_the_query_string_by_the_schema_s_types():
    answer = send("GET", "/agent/search_products?query=tea%20pot&limit=5&tags=a&tags=b")
    assert body_of(answer) == {"found": {"query": "tea pot", "limit": 5, "tags": ["a", "b"]}}
    assert body_of(send("GET", "/agent/search_products?query=5&tags=1")) == {
        "found": {"query": "5", "tags": ["1"]}
    }


def test_an_input_may_be_called_format():
    answer = send("GET", "/agent/search_products?query=tea&format=json")
    assert body_of(answer) == {"found": {"query": "tea", "format": "json"}}


@pytest.mark.requirement("AA-2.13", "AA-3.2", "AA-6.11")
def test_all_problems_of_a_query_come_at_once_and_say_where_they_are():
    answer = send("GET", "/agent/search_products?limit=many&colour=red&format=a&format=b")
    assert problems_of(answer) == [
        ("/colour", "unknown_field", "query"),
        ("/format", "duplicate", "query"),
        ("/limit", "type", "query"),
        ("/query", "required", "query"),
    ]
    assert body_of(answer)["error"]["field"] == "colour"


def test_a_problem_found_by_the_schema_alone_says_where_it_is_too():
    assert problems_of(send("GET", "/agent/search_products?query=tea&limit=99")) == [
        ("/limit", "maximum", "query")
    ]
    assert problems_of(send("GET", "/orders/0")) == [("/id", "minimum", "path")]


def test_a_body_where_the_query_counts_is_a_problem_of_the_request():
    answer = send("GET", "/agent/search_products?limit=0", b'{"query":"tea"}')
    assert problems_of(answer) == [
        ("", "unexpected_body", "request"),
        ("/limit", "minimum", "query"),
        ("/query", "required", "query"),
    ]


def test_a_parameter_of_the_path_is_typed_by_the_schema():
    assert body_of(send("GET", "/orders/42")) == {"order": {"id": 42}}
    assert body_of(send("GET", "/orders/42/?note=a")) == {"order": {"id": 42, "note": "a"}}
    assert problems_of(send("GET", "/orders/forty-two?note=a&x=1")) == [
        ("/id", "type", "path"),
        ("/x", "unknown_field", "query"),
    ]
    assert problems_of(send("GET", "/orders/%C3%A9%20")) == [("/id", "type", "path")]


@pytest.mark.requirement("AA-6.10")
def test_what_is_written_out_comes_before_a_parameter():
    assert body_of(send("GET", "/orders/open")) == {"orders": []}


def test_a_parameter_of_the_path_comes_from_nowhere_else():
    assert problems_of(send("GET", "/orders/42?id=42")) == [("/id", "unknown_field", "query")]
    agent = TestAgent(scopes=["orders:*"])
    twice = agent.request("PATCH", "/orders/42", {"id": 42})
    assert problems_of(twice) == [("/id", "unknown_field", "request")]
    assert problems_of(agent.request("PATCH", "/orders/42?id=1", {})) == [("/id", "unknown_field", "query")]
    assert problems_of(agent.request("PATCH", "/orders/42", [])) == [("", "type", None)]
    assert body_of(agent.request("PATCH", "/orders/42", {"note": "a"})) == {
        "annotated": {"note": "a", "id": 42}
    }


@pytest.mark.requirement("AA-6.10")
def test_two_actions_share_a_path_by_their_methods():
    agent = TestAgent(scopes=["orders:*"])
    assert body_of(agent.request("DELETE", "/orders/42?note=a")) == {"cancelled": {"note": "a", "id": 42}}
    assert body_of(agent.request("GET", "/orders/42")) == {"order": {"id": 42}}
    refused = agent.request("PUT", "/orders/42")
    assert (refused.status_code, refused["Allow"]) == (405, "GET, DELETE, PATCH, HEAD, OPTIONS")


@pytest.mark.requirement("AA-2.13")
def test_a_post_takes_its_input_from_the_body_and_no_input_from_the_query():
    assert body_of(send("POST", "/agent/mirror?ref=a%20b", b'{"a":[1,2.50,null]}')) == {
        "input": {"a": [1, 2.5, None]}
    }
    agent = TestAgent(scopes=["cart:write"])
    answer = agent.post("/agent/add_to_cart?quantity=2", {"product_id": "", "colour": "red"})
    assert problems_of(answer) == [
        ("/colour", "unknown_field", None),
        ("/product_id", "minLength", None),
        ("/quantity", "required", None),
    ]


def test_an_input_that_is_no_object_has_a_problem_at_its_root():
    answer = TestAgent(scopes=["cart:write"]).post("/agent/add_to_cart", "tea")
    assert problems_of(answer) == [("", "type", None)]
    assert body_of(answer)["error"]["field"] == "input"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "malformed_json"),
        (b" ", "malformed_json"),
        (b'{"a":1,"a":2}', "duplicate_key"),
        (b'{"a":1e999}', "number_out_of_range"),
        (b'"\\ud800"', "invalid_unicode"),
        (b'"\\u0000"', "invalid_unicode"),
        (b"\xff", "invalid_unicode"),
        (b"[" * 65 + b"]" * 65, "too_deep"),
    ],
)
def test_json_that_is_none_is_refused_with_its_own_code(body, code):
    answer = send("POST", "/agent/mirror", body)
    assert (answer.status_code, body_of(answer)["error"]["code"]) == (400, code)


def test_a_query_that_is_not_unicode_is_refused():
    answer = send("GET", "/agent/search_products?query=%FF")
    assert (answer.status_code, body_of(answer)["error"]["code"]) == (400, "invalid_unicode")


@pytest.mark.parametrize("key", ["short", "a" * 256, "key with blanks in it"])
def test_a_bad_idempotency_key_is_told_after_the_input_s_own_problems(key):
    agent = TestAgent(scopes=["cart:write"])
    assert agent.post("/agent/add_to_cart", {"product_id": "tea"}, key=key).status_code == 422
    answer = agent.post("/agent/add_to_cart", {"product_id": "tea", "quantity": 1}, key=key)
    assert (answer.status_code, body_of(answer)["error"]["code"]) == (400, "idempotency_key_invalid")


def test_a_repeated_call_is_answered_with_the_same_bytes_and_says_so():
    agent = TestAgent(scopes=["cart:write"])
    sent = {"product_id": "tea", "quantity": 1}
    first = agent.post("/agent/add_to_cart", sent, key="one-intent-0000001")
    again = agent.post("/agent/add_to_cart/", sent, key="one-intent-0000001")
    assert first.content == again.content
    assert "Idempotent-Replayed" not in first.headers
    assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
    other = agent.post("/agent/add_to_cart", {**sent, "quantity": 2}, key="one-intent-0000001")
    assert (other.status_code, body_of(other)["error"]["code"]) == (422, "idempotency_key_reused")


def test_a_key_on_a_read_is_ignored():
    assert send("GET", "/agent/search_products?query=tea", Idempotency_Key="x").status_code == 200


def test_a_refusal_of_the_handler_that_is_replayed_says_so():
    from agentweb import AgentError, action

    @action(effect="write", scope="cart:write", description="Refuse.", input={"type": "object"})
    def refuse_write(inp, ctx):
        raise AgentError("out_of_stock", "Only 3 left.", left=3)

    agent = TestAgent(scopes=["cart:write"])
    first, again = (agent.post("/agent/refuse_write", {}, key="one-intent-0000002") for _ in range(2))
    assert (first.status_code, again.status_code) == (409, 409)
    assert again["Idempotent-Replayed"] == "true"
    assert again.content == first.content
