"""Whatever is sent to ``/__aim/``, the answer is JSON with a code, and never blames the site for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.catalog.words import action
from agentweb.testing import TestAgent
from tests.http.test_any_request import (
    NAUGHTY,
    SETTINGS,
    SUITE,
    _wsgi,
    assert_answered,
    bodies,
    latin,
    media_types,
    methods,
    queries,
)
from tests.support.examples import examples
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("flat_actions", "many_callers", "site_key")

INVOKE = "/__aim/invoke"
CLIENT = Client(raise_request_exception=True)
HEADERS = [
    "Accept",
    "Agent-Grant",
    "Authorization",
    "Cookie",
    "Idempotency-Key",
    "Signature",
    "Transfer-Encoding",
]
ACTIONS = [
    "search_products",
    "add_to_cart",
    "order",
    "cancel_order",
    "who_am_i",
    "crash",
    "refuse",
    "staff_report",
    "x",
]


@pytest.fixture
def flat_actions(shop: None) -> None:
    """Beside those of the shop, which AIP does not all offer, some that it does."""
    flat = {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}}

    @action(description="Find.", input={"type": "object", "required": ["query"], "properties": flat})
    def find(inp: Any, ctx: Any) -> Any:
        return {"found": inp}

    @action(
        description="Approve.", effect="write", scope="cart:write", input={"type": "string", "minLength": 1}
    )
    def approve(inp: Any, ctx: Any) -> Any:
        return inp


names = st.sampled_from(ACTIONS) | st.text(max_size=20)
inputs = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from(["1", "tea", "true", "-0", "1e3"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "query", "limit", "product_id", "quantity", "note"]), inner, max_size=4
        )
    ),
    max_leaves=6,
)
documents = st.fixed_dictionaries(
    {"actionId": names}, optional={"input": inputs, "page": st.text(max_size=20) | st.none(), "more": inputs}
)


def answered(answer: Any, method: str) -> None:
    """As of any address of ours, and ``ok`` says beside an error that it is one."""
    if answer.status_code == 500:
        # The one action that crashes.
        assert json.loads(answer.content)["error"]["code"] == "handler_error"
        return
    assert_answered(answer, method)
    if method != "HEAD" and answer.content:
        assert json.loads(answer.content)["ok"] is (answer.status_code < 400)


@settings(max_examples=examples(200), **SETTINGS)
@given(
    method=methods,
    path=st.sampled_from([INVOKE, f"{INVOKE}/", "/__aim", "/__aim/"])
    | st.text(st.characters(exclude_characters="?#", exclude_categories=["Cs"]), max_size=30).map(
        lambda rest: f"/__aim/{rest}"
    ),
    query=queries,
    body=bodies | documents.map(lambda value: json.dumps(value).encode()),
    content_type=media_types,
    headers=st.dictionaries(st.sampled_from(HEADERS), latin, max_size=3),
)
def test_any_request_is_answered_in_json_with_a_code(
    method: str, path: str, query: str, body: bytes, content_type: str, headers: dict[str, str]
) -> None:
    environ = {"QUERY_STRING": query, "CONTENT_TYPE": content_type, "PATH_INFO": _wsgi(path)}
    answer = CLIENT.generic(method, "/", body, content_type, **environ, headers=headers)
    if answer.status_code != 500:
        assert_answered(answer, method.upper())


@settings(max_examples=examples(300), **SETTINGS)
@given(document=documents | inputs)
def test_any_document_without_a_token_is_answered(document: Any) -> None:
    answer = CLIENT.generic("POST", INVOKE, json.dumps(document).encode(), "application/json")
    answered(answer, "POST")


@settings(max_examples=examples(200), **SETTINGS)
@given(
    document=documents,
    key=st.none() | st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30),
)
def test_any_document_of_a_session_is_answered(document: Any, key: str | None) -> None:
    agent = TestAgent.with_session(scopes=["cart:write", "orders:*"], client=CLIENT)
    answer = agent.request("POST", INVOKE, document, key=key)
    answered(answer, "POST")
    assert answer.status_code != 401


@pytest.mark.parametrize("name", sorted(SUITE))
def test_every_document_of_the_json_test_suite_is_answered(name: str) -> None:
    answer = send("POST", INVOKE, SUITE[name], client=CLIENT)
    answered(answer, "POST")
    assert answer.status_code >= 400
    inside = b'{"actionId":"order","input":' + SUITE[name] + b"}"
    answered(send("POST", INVOKE, inside, client=CLIENT), "POST")


def test_every_naughty_string_is_taken_as_a_text_or_refused() -> None:
    for text in NAUGHTY:
        body = json.dumps({"actionId": "find", "input": {"query": text}}, ensure_ascii=False)
        answer = send("POST", INVOKE, body.encode("utf-8", "surrogatepass"), client=CLIENT)
        answered(answer, "POST")
        if answer.status_code == 200:
            assert json.loads(answer.content)["result"] == {"found": {"query": text}}
        else:
            assert "\0" in text
        named = json.dumps({"actionId": text, "page": f"/{text}"}, ensure_ascii=False)
        answered(send("POST", INVOKE, named.encode("utf-8", "surrogatepass"), client=CLIENT), "POST")
