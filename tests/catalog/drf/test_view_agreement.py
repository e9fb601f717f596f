"""Any call: where the input's schema lets it through, an agent learns what its person would learn over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from agentweb import action
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.catalog.drf import library
from tests.support.examples import examples

TEXTS = st.one_of(
    st.sampled_from(
        ["", "Volume 3", "book-1", "-price", "title,-price", "a&b=c", "é ü", "%2F", "..", "0", "2026-01-01"]
    ),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8),
)
NUMBERS = st.one_of(st.integers(-3, 200), st.decimals(-5, 30, places=2).map(float), st.just(1e9))
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "page": st.integers(-1, 4),
        "size": st.integers(-1, 7),
        "search": TEXTS,
        "ordering": TEXTS,
        **({"price__lte": NUMBERS, "price__gte": NUMBERS, "slug": TEXTS} if library.FILTERS else {}),
    },
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "title": TEXTS,
        "slug": st.sampled_from(["book-1", "book-2", "new", "NEW_1", "a b", ""]),
        "price": NUMBERS,
        "published": st.one_of(st.none(), st.dates().map(str), TEXTS),
        "added": st.one_of(st.datetimes().map(lambda each: each.isoformat() + "Z"), TEXTS),
        "key": st.one_of(st.uuids().map(str), TEXTS),
        "writer": st.one_of(
            st.none(), st.fixed_dictionaries({}, optional={"name": TEXTS, "age": st.integers()})
        ),
    },
)
MANY = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
AGENT_STATUS = {200: 200, 201: 200, 400: 422, 403: 403, 404: 404}


@pytest.fixture
def both(db: None, settings: Any) -> Iterator[Any]:
    """(HTTP, agent): ada's two ways to the same API."""
    settings.AGENTWEB = {**settings.AGENTWEB, "CALLER_RATE": (1e6, 10**6)}
    people = library.people()
    view = library.book_views()
    rows = library.books(people.ada)
    with library.site(view), registry.only():
        action.from_view(view, prefix="books")
        client = APIClient(headers={"host": "shop.example"})
        client.force_login(people.ada)
        yield client, TestAgent(scopes=["*"], user=people.ada), rows


@given(query=QUERIES)
@MANY
def test_any_list_is_the_same_list(both: Any, query: dict[str, Any]) -> None:
    client, agent, _ = both
    asked = f"?{urlencode(query)}" if query else ""
    over_http = client.get(f"/api/books/{asked}", secure=True)
    answer = agent.get(f"/agent/books_list{asked}")
    if is_refused_by_schema(answer, "books_list", query):
        return
    assert answer.status_code == AGENT_STATUS[over_http.status_code]
    if over_http.status_code == 200:
        assert answer.json() == over_http.json()


@given(body=BODIES, which=st.sampled_from([0, 1, 99]))
@MANY
def test_any_partial_update_ends_alike(both: Any, body: dict[str, Any], which: int) -> None:
    client, agent, rows = both
    pk = rows[which].pk if which < len(rows) else 10**9
    point = connection.savepoint()
    over_http = client.patch(
        f"/api/books/{pk}/", json.dumps(body), content_type="application/json", secure=True
    )
    connection.savepoint_rollback(point)
    point = connection.savepoint()
    answer = agent.post("/agent/books_partial_update", {"pk": pk, **body})
    connection.savepoint_rollback(point)
    if is_refused_by_schema(answer, "books_partial_update", {"pk": pk, **body}):
        return
    assert answer.status_code == AGENT_STATUS[over_http.status_code], (answer.content, over_http.content)
    if over_http.status_code == 200:
        assert answer.json() == over_http.json()
    if over_http.status_code == 400:
        named = {problem["pointer"].split("/")[1] for problem in answer.json()["error"]["problems"]}
        assert named == set(over_http.json())


def is_refused_by_schema(answer: Any, name: str, value: dict[str, Any]) -> bool:
    found = registry.get(name)
    assert found is not None
    if answer.status_code != 422:
        assert found.input.is_valid(value) or name == "books_list"
        return False
    return not found.input.is_valid(value)
