"""Whatever is sent, an answer of ours is JSON with a code, and never blames the site for it."""

import base64
import gzip
import json

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentweb.testing import TestAgent
from tests.support.examples import examples
from tests.support.web import send
from tests.vectors_dir import VECTORS

pytestmark = pytest.mark.usefixtures("shop", "many_callers", "site_key")

MANIFEST = "/.well-known/agent-actions.json"
PATHS = [
    MANIFEST,
    "/agent/search_products",
    "/agent/mirror",
    "/agent/add_to_cart",
    "/agent/staff_report",
    "/agent/refuse",
    "/orders/1",
    "/orders/open",
    "/agent-actions/receipts",
    "/agent-actions/receipts/head",
    "/agent-actions/receipts/verify",
]
HEADERS = [
    "Accept",
    "Agent-Grant",
    "Agent-Key",
    "Authorization",
    "Content-Digest",
    "Content-Encoding",
    "Cookie",
    "Expect",
    "Idempotency-Key",
    "If-None-Match",
    "Origin",
    "Range",
    "Signature",
    "Signature-Input",
    "Transfer-Encoding",
    "X-Forwarded-For",
    "X-HTTP-Method-Override",
]
SETTINGS = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
CLIENT = Client(raise_request_exception=True)


def parsing_suite():
    entries = json.loads((VECTORS / "json-parsing/jsontestsuite.json").read_text())
    return {
        name.partition("/")[2]: base64.b64decode(entry["b64"])
        if "b64" in entry
        else gzip.decompress(base64.b64decode(entry["b64gz"]))
        for name, entry in entries.items()
    }


SUITE = parsing_suite()
NAUGHTY = json.loads((VECTORS / "naughty-strings/blns.json").read_text())

latin = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=60)
ascii_text = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80)
media_types = st.sampled_from(
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=utf-7",
        "text/plain",
        "",
        "a/b;=",
    ]
)
bodies = st.one_of(
    st.just(b""),
    st.binary(max_size=200),
    st.sampled_from(list(SUITE.values())).filter(lambda body: len(body) < 5_000),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
        max_leaves=10,
    ).map(lambda value: json.dumps(value).encode()),
)
paths = st.one_of(
    st.sampled_from(PATHS),
    st.sampled_from(PATHS).map(lambda path: f"{path}/"),
    st.text(st.characters(exclude_characters="/?#", exclude_categories=["Cs"]), min_size=1, max_size=40).map(
        lambda name: f"/agent/{name}"
    ),
    st.text(st.characters(exclude_characters="/?#", exclude_categories=["Cs"]), min_size=1, max_size=40).map(
        lambda name: f"/orders/{name}"
    ),
    st.text(st.characters(exclude_characters="?#", exclude_categories=["Cs"]), max_size=40).map(
        lambda rest: f"/agent-actions/{rest}"
    ),
)
queries = st.one_of(
    st.just(""),
    ascii_text,
    latin,
    st.lists(
        st.tuples(st.sampled_from(["query", "limit", "tags", "id", "after", "token"]), ascii_text), max_size=4
    ).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)),
)
methods = st.one_of(
    st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]),
    st.text(
        st.sampled_from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"), min_size=1, max_size=12
    ),
)


def assert_answered(answer, method):
    assert answer.status_code < 500, answer.content
    assert "text/html" not in answer.headers.get("Content-Type", "")
    assert answer["X-Request-Id"].startswith("rq_")
    assert answer["Access-Control-Allow-Origin"] == "*"
    if answer.status_code in {204, 304} or method == "HEAD":
        assert answer.content == b""
        return
    body = json.loads(answer.content)
    if answer.status_code >= 400:
        error = body["error"]
        assert isinstance(error["code"], str)
        assert error["message"]
        assert error["request_id"] == answer["X-Request-Id"]
        assert (str(error["retry_after"]) == answer["Retry-After"]) if "retry_after" in error else True


@settings(max_examples=examples(400), **SETTINGS)
@given(
    method=methods,
    path=paths,
    query=queries,
    body=bodies,
    content_type=media_types,
    headers=st.dictionaries(st.sampled_from(HEADERS), latin, max_size=4),
)
def test_any_request_that_reaches_us_is_answered_in_json_with_a_code(
    method, path, query, body, content_type, headers
):
    environ = {"QUERY_STRING": query, "CONTENT_TYPE": content_type}
    answer = CLIENT.generic(
        method, "/", body, content_type, **environ, headers=headers, PATH_INFO=_wsgi(path)
    )
    assert_answered(answer, method.upper())


@settings(max_examples=examples(400), **SETTINGS)
@given(
    route=st.sampled_from(
        [
            ("POST", "/agent/mirror"),
            ("POST", "/agent/refuse"),
            ("POST", "/agent-actions/receipts/verify"),
            ("GET", "/agent/search_products"),
            ("GET", "/orders/7"),
            ("GET", "/orders/x"),
            ("GET", MANIFEST),
        ]
    ),
    query=queries,
    body=bodies,
)
def test_any_input_of_an_action_is_answered_in_json_with_a_code(route, query, body):
    method, path = route
    environ = {"QUERY_STRING": query if method == "GET" else "", "PATH_INFO": path}
    sent = body if method == "POST" else b""
    assert_answered(CLIENT.generic(method, "/", sent, "application/json", **environ), method)


@settings(max_examples=examples(200), **SETTINGS)
@given(
    route=st.sampled_from(
        [
            ("POST", "/agent/add_to_cart"),
            ("PATCH", "/orders/7"),
            ("DELETE", "/orders/7"),
            ("PATCH", "/orders/x"),
        ]
    ),
    body=bodies,
    key=st.none() | ascii_text.filter(str.strip),
)
def test_any_signed_input_is_answered_in_json_with_a_code(route, body, key):
    method, path = route
    agent = TestAgent(scopes=["cart:write", "orders:*"], client=CLIENT)
    answer = agent.request(method, path, body, key=key.strip() if key else None)
    assert_answered(answer, method)
    assert answer.status_code != 401


def _wsgi(path):
    return path.encode("utf-8").decode("latin-1")


@pytest.mark.parametrize("name", sorted(SUITE))
def test_every_document_of_the_json_test_suite_is_answered(name):
    answer = send("POST", "/agent/mirror", SUITE[name], client=CLIENT)
    assert_answered(answer, "POST")
    if name.startswith("n_") and SUITE[name]:
        assert answer.status_code == 400
    signed = TestAgent(scopes=["cart:write"], client=CLIENT)
    assert_answered(signed.request("POST", "/agent/add_to_cart", SUITE[name]), "POST")


def test_every_naughty_string_comes_back_as_it_was_or_is_refused():
    from urllib.parse import quote

    for text in NAUGHTY:
        body = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
        answer = send("POST", "/agent/mirror", body, client=CLIENT)
        assert_answered(answer, "POST")
        if answer.status_code == 200:
            assert json.loads(answer.content) == {"input": text}
        else:
            assert "\0" in text
        query = send(
            "GET",
            f"/agent/search_products?query={quote(text, safe='', errors='surrogatepass')}",
            client=CLIENT,
        )
        assert_answered(query, "GET")
        if query.status_code == 200:
            assert json.loads(query.content) == {"found": {"query": text}}
        for path in (f"/agent/{quote(text, safe='')}", f"/orders/{quote(text, safe='')}"):
            if "/" not in text and text:
                assert_answered(send("GET", path, client=CLIENT), "GET")
        header = "".join(each for each in text if "\x20" <= each <= "\xff")
        assert_answered(send("GET", MANIFEST, client=CLIENT, If_None_Match=header, Accept=header), "GET")
        assert_answered(send("POST", "/agent/mirror", b"1", client=CLIENT, Idempotency_Key=header), "POST")


@settings(max_examples=examples(150), **SETTINGS)
@given(
    name=st.sampled_from(["Agent-Grant", "Agent-Key", "Signature", "Signature-Input", "Content-Digest"]),
    text=latin,
)
def test_a_signed_request_with_one_odd_header_is_refused_in_json(name, text):
    agent = TestAgent(scopes=["cart:write"], client=CLIENT)
    body = b'{"product_id":"tea","quantity":1}'
    headers = {**agent.signed_headers("POST", "/agent/add_to_cart", body), name: text}
    answer = agent.send("POST", "/agent/add_to_cart", body, headers)
    assert_answered(answer, "POST")
    assert answer.status_code in {400, 401}
