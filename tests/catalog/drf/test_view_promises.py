"""What users of such packages asked for, and what was seen to go wrong, by name. ``test_views.py`` has the table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import include, path
from rest_framework.test import APIClient

from agentweb import action
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.catalog.drf import library


@pytest.fixture
def people(db: None) -> Iterator[Any]:
    published.forget()
    with registry.only():
        yield library.people()
    published.forget()


REQUESTS = [
    ("GET", "books/", None),
    ("GET", "books/?page=2&size=1&search=vol&ordering=-price", None),
    ("GET", "books/?format=xml", None),
    ("HEAD", "books/", None),
    ("OPTIONS", "books/", None),
    ("OPTIONS", "books/{pk}/", None),
    ("GET", "books/{pk}/", None),
    ("GET", "books/{pk}/chapters/3/", None),
    ("GET", "books/cheap/", None),
    ("POST", "books/", {"title": ""}),
    ("PUT", "books/{pk}/", {}),
    ("PATCH", "books/{pk}/", {"price": "x"}),
    ("POST", "books/{pk}/lend/", {}),
    ("POST", "books/{pk}/set-price/", {"price": -1}),
    ("DELETE", "books/", None),
    ("DELETE", "books/{pk}/mark/", None),
]


def test_publishing_leaves_the_http_api_as_it_was(people: Any) -> None:
    """Every answer of a published view, before an agent called it and after, is that of a twin that is not."""
    book = library.books(people.ada)[0]
    view, twin = library.book_views(), library.book_views()
    patterns = [
        path("api/", include(library.routed(view)[0].url_patterns)),
        path("twin/", include(library.routed(twin)[0].url_patterns)),
    ]
    with library.urls(*patterns):
        action.from_view(view, prefix="books")
        for _ in range(2):
            for user in (None, people.ada, people.bob, people.staff):
                client = APIClient()
                client.force_authenticate(user)
                for method, target, body in REQUESTS:
                    answers = [
                        client.generic(method, f"/{root}/{target.format(pk=book.pk)}", **_json(body))
                        for root in ("api", "twin")
                    ]
                    found, expected = [
                        (
                            each.status_code,
                            sorted(each.headers.items()),
                            each.content.replace(b"/twin/", b"/api/"),
                        )
                        for each in answers
                    ]
                    assert _sized(found) == _sized(expected), (method, target)
            agent = TestAgent(scopes=["*"], user=people.ada)
            assert agent.get("/agent/books_list?page=2").status_code == 200
            assert agent.post("/agent/books_lend", {"pk": book.pk}).status_code == 200


def test_where_http_says_200_the_agent_is_not_refused(people: Any) -> None:
    book = library.books(people.ada)[0]
    view = library.book_views()
    with library.site(view):
        action.from_view(view, prefix="books")
        agent = TestAgent(scopes=["*"], user=people.ada)
        assert agent.post("/agent/books_partial_update", {"pk": book.pk, "title": "Mine"}).status_code == 200
        stranger = TestAgent(scopes=["*"], user=people.bob)
        refused = stranger.post("/agent/books_partial_update", {"pk": book.pk, "title": "Mine too"})
        assert (refused.status_code, refused.json()["error"]["message"]) == (
            403,
            "Only its owner may change a book.",
        )


def test_filters_search_order_and_pages_are_not_passed_over(people: Any) -> None:
    library.books(people.ada)
    view = library.book_views()
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        found = (
            TestAgent(scopes=["*"])
            .get("/agent/books_list?search=volume&ordering=-price&size=2&page=2")
            .json()
        )
    assert (found["count"], [book["slug"] for book in found["results"]]) == (5, ["book-3", "book-2"])


def test_an_extra_action_runs_with_its_own_permission_and_serializer(people: Any) -> None:
    book = library.books(people.ada)[0]
    view = library.book_views()
    with library.site(view):
        action.from_view(view, prefix="books", only="set_price")
        price = {"pk": book.pk, "price": 7}
        assert (
            TestAgent(scopes=["*"], user=people.ada).post("/agent/books_set_price", price).status_code == 403
        )
        changed = TestAgent(scopes=["*"], user=people.staff).post("/agent/books_set_price", price)
        assert (changed.status_code, changed.json()["price"]) == (200, "7.00")


def test_fields_outside_the_serializer_never_leave_or_enter(people: Any) -> None:
    library.books(people.ada)
    view = library.book_views()
    with library.site(view):
        action.from_view(view, prefix="books")
        agent = TestAgent(scopes=["*"], user=people.ada)
        assert "owner" not in agent.get("/agent/books_list").json()["results"][0]
        refused = agent.post("/agent/books_partial_update", {"pk": 1, "owner": people.bob.pk}).json()["error"]
        assert [(each["pointer"], each["code"]) for each in refused["problems"]] == [
            ("/owner", "unknown_field")
        ]


def _json(body: Any) -> dict[str, Any]:
    return {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}


def _sized(answer: tuple[int, list[Any], bytes]) -> Any:
    status, headers, content = answer
    return status, [each for each in headers if each[0] != "Content-Length"], content
