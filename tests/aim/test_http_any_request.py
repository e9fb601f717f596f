"""Whatever is sent to the messenger, the answer is JSON with a code, and never blames the site for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.wire.aim import envelope
from agentweb.wire.errors import AgentError
from tests.aim.agents import person
from tests.aim.wire import Speaker, encoded, send
from tests.http.test_any_request import (
    NAUGHTY,
    SETTINGS,
    SUITE,
    _wsgi,
    ascii_text,
    assert_answered,
    bodies,
    latin,
    media_types,
    methods,
    queries,
)
from tests.support.examples import examples

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("easy_work", "many_messages")]

CLIENT = Client(raise_request_exception=True)
PATHS = [
    "/.well-known/aim.json",
    "/openapi.json",
    "/docs/authentication.md",
    "/v2",
    "/v2/challenges",
    "/v2/agents/register",
    "/v2/agents/me",
    "/v2/agents/alice",
    "/v2/inbox",
    "/v2/messages",
    "/v2/messages/m0123456789abcdef",
    "/v2/threads/m0123456789abcdef",
    "/v2/events",
    "/v2/contacts",
    "/v2/contacts/bob",
    "/v2/policy",
    "/v2/health",
]
HEADERS = [
    "Accept",
    "Authorization",
    "Content-Encoding",
    "Cookie",
    "If-None-Match",
    "Range",
    "Transfer-Encoding",
]
names = st.sampled_from(["in", "after", "limit", "wait", "types", "lane", "with", "cursor", "state", "x"])
texts = (
    ascii_text | latin | st.sampled_from(["alice@shop.example", "board:abc", "now", "0", "50", "requests"])
)


@pytest.fixture
def many_messages(settings: Any) -> None:
    many = (1e6, 10**6)
    rates = ("ANONYMOUS_RATE", "CALLER_RATE", "FAILURE_RATE", "MESSAGE_RATE")
    settings.AGENTWEB = {**settings.AGENTWEB, **dict.fromkeys(rates, many), "STREAM_THREADS": 0}


@pytest.fixture
def alice() -> Speaker:
    person("bob")
    person("alice")
    return Speaker("alice", client=CLIENT)


def answered(answer: Any, method: str) -> None:
    if answer.status_code < 400 and answer.get("Content-Type", "").startswith("text/markdown"):
        return
    assert_answered(answer, method)
    assert answer["Date"]


@settings(max_examples=examples(200), **SETTINGS)
@given(
    method=methods,
    path=st.sampled_from(PATHS)
    | st.text(st.characters(exclude_characters="?#", exclude_categories=["Cs"]), max_size=30).map(
        lambda rest: f"/v2/{rest}"
    ),
    query=queries,
    body=bodies,
    content_type=media_types,
    headers=st.dictionaries(st.sampled_from(HEADERS), latin, max_size=3),
)
def test_any_request_is_answered_in_json_with_a_code(
    method: str, path: str, query: str, body: bytes, content_type: str, headers: dict[str, str]
) -> None:
    environ = {"QUERY_STRING": query, "CONTENT_TYPE": content_type, "PATH_INFO": _wsgi(path)}
    answered(CLIENT.generic(method, "/", body, content_type, **environ, headers=headers), method.upper())


@settings(max_examples=examples(150), **SETTINGS)
@given(
    path=st.sampled_from(PATHS),
    pairs=st.lists(st.tuples(names, texts), max_size=4),
)
def test_any_signed_read_is_answered(alice: Speaker, path: str, pairs: list[tuple[str, str]]) -> None:
    # Nothing that waits: that would only take time.
    query = "&".join(
        f"{name}={''.join(each for each in value if each not in '&#%')}" for name, value in pairs
    )
    # What is no visible ASCII cannot be signed; it is refused in another test.
    query = "".join(each for each in query if "!" <= each <= "~").replace("wait=", "wait=-")
    answer = send(
        CLIENT, "GET", f"{path}?{query}", b"", alice.header("GET", f"{path}?{query}" if query else path)
    )
    answered(answer, "GET")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
envelopes = st.fixed_dictionaries(
    {},
    optional={
        "id": values | st.just("m0123456789abcdef"),
        "from": values | st.just("alice@shop.example"),
        "to": values | st.sampled_from(["bob@shop.example", "alice@shop.example", "board:abc"]),
        "type": values | st.sampled_from(["message", "sealed", "aim.x"]),
        "ts": values | st.just("2026-01-01T00:00:00.000Z"),
        "body": values,
        "reply_to": values | st.just("m0123456789abcdef"),
        "thread_id": values,
        "sig": values | st.just("A" * 86),
        "more": values,
    },
)
documents = (
    values
    | envelopes
    | st.fixed_dictionaries({"messages": st.lists(envelopes | values, max_size=4) | values})
    | st.fixed_dictionaries({}, optional={"dm_policy": values, "confirm": values, "state": values})
    | st.fixed_dictionaries(
        {}, optional={"public_key": values, "name": values, "challenge": values, "solution": values}
    )
)


@settings(max_examples=examples(200), **SETTINGS)
@given(
    route=st.sampled_from(
        [
            ("POST", "/v2/messages"),
            ("POST", "/v2/agents/register"),
            ("POST", "/v2/challenges"),
            ("PATCH", "/v2/agents/me"),
            ("DELETE", "/v2/agents/me"),
            ("PUT", "/v2/contacts/bob"),
            ("PUT", "/v2/contacts/x"),
        ]
    ),
    body=bodies | documents.map(lambda value: json.dumps(value).encode()),
)
def test_any_signed_body_is_answered(alice: Speaker, route: tuple[str, str], body: bytes) -> None:
    method, path = route
    answered(send(CLIENT, method, path, body, alice.header(method, path, body)), method)


@settings(max_examples=examples(100), **SETTINGS)
@given(body=values.filter(lambda value: value is not None))
def test_any_content_is_delivered_as_it_was_sent_or_refused(alice: Speaker, body: Any) -> None:
    try:
        written = envelope.sign(envelope.compose(alice.address, alice.address, body), alice.signer)
    except AgentError:  # what our own client refuses too
        return
    assert alice.post("/v2/messages", written).status_code == 202
    # The canonical text: two spellings of one double are one content.
    signed = envelope.read(envelope.parse_request(encoded(written))).text
    assert signed.encode() in alice.get("/v2/inbox?limit=1").content


@pytest.mark.requirement("AIM-S1.3", "AIM-S14.6")
@pytest.mark.parametrize("body", [{}, [], "", "x", 0, -1.5, True, False, {"a": None}, [None, "\0"]])
def test_content_of_any_kind_is_delivered(alice: Speaker, body: Any) -> None:
    written = alice.write(alice, body)
    assert alice.post("/v2/messages", written).status_code == 202
    [item] = alice.get("/v2/inbox?limit=1").json()["items"]
    assert item["envelope"]["body"] == body
    assert type(item["envelope"]["body"]) is type(body)


@pytest.mark.parametrize("name", sorted(SUITE))
def test_every_document_of_the_json_test_suite_is_answered(alice: Speaker, name: str) -> None:
    answer = alice.post("/v2/messages", SUITE[name])
    answered(answer, "POST")
    if name.startswith("n_") and SUITE[name]:
        assert answer.status_code == 400


def test_every_naughty_string_is_delivered_as_it_was(alice: Speaker) -> None:
    for at in range(0, len(NAUGHTY), 20):
        written = [alice.write(alice, text) for text in NAUGHTY[at : at + 20]]
        response = alice.post("/v2/messages", {"messages": written})
        assert response.status_code == 202
        items = alice.get("/v2/inbox?limit=20").json()["items"]
        assert [item["envelope"] for item in items][: len(written)] == written[::-1]


@settings(max_examples=examples(100), **SETTINGS)
@given(text=latin | ascii_text)
def test_any_authorization_is_refused_in_json(text: str) -> None:
    for header in (text, f"AIM {text}"):
        answer = send(CLIENT, "GET", "/v2/inbox", b"", header.strip() or "x")
        answered(answer, "GET")
        assert answer.status_code == 401
