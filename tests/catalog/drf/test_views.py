"""Views as actions, seen from both doors: what HTTP answers, agents are answered, and HTTP answers as before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views import View
from rest_framework import generics, permissions, viewsets
from rest_framework.decorators import api_view, permission_classes
from rest_framework.response import Response
from rest_framework.test import APIClient
from rest_framework.views import APIView

from agentweb import action
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.catalog.drf import library
from tests.site.models import Book, Writer

SCOPES = ["*"]
JSON = "application/json"


@pytest.fixture(autouse=True)
def _alone(db: None) -> Iterator[None]:
    published.forget()
    with registry.only():
        yield
    published.forget()


@pytest.fixture
def people() -> Any:
    return library.people()


# -- the kinds of views


class WriterBooks(viewsets.ReadOnlyModelViewSet[Book]):
    """Books by their slug."""

    queryset = Book.objects.order_by("id")
    serializer_class = library.BookSerializer
    lookup_field = "slug"


class ByKey(generics.RetrieveUpdateDestroyAPIView[Book]):
    """One book, by its key."""

    queryset = Book.objects.all()
    serializer_class = library.BookSerializer
    lookup_field = "key"
    lookup_url_kwarg = "book_key"
    permission_classes = (permissions.IsAuthenticatedOrReadOnly, library.OwnerOrReadOnly)


class Bookshelf(generics.ListCreateAPIView[Book]):
    queryset = Book.objects.order_by("id")
    serializer_class = library.BookSerializer
    pagination_class = library.Pages
    permission_classes = (permissions.IsAuthenticatedOrReadOnly,)


class Count(APIView):
    """Counts books."""

    permission_classes = (permissions.IsAuthenticated,)

    def get(self, request: Any, writer: int) -> Response:
        """How many books a writer has."""
        return Response({"books": Book.objects.filter(writer_id=writer).count(), "for": str(request.user)})


@api_view(["GET"])
@permission_classes([permissions.IsAdminUser])
def takings(request: Any) -> Response:
    """What all books cost together."""
    return Response({"total": sum(book.price for book in Book.objects.all())})


class Plain(View):
    """Django's own."""

    def get(self, request: HttpRequest, slug: str) -> HttpResponse:
        book = Book.objects.filter(slug=slug).first()
        return JsonResponse({"slug": slug, "found": book is not None, "for": str(request.user)})


def function(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"for": str(request.user), "q": request.GET.get("q")})


async def later(request: HttpRequest) -> HttpResponse:
    user = await request.auser()
    return JsonResponse({"for": str(user), "books": await Book.objects.acount()})


@dataclass(frozen=True)
class Case:
    """One call, as HTTP has it and as an agent has it."""

    view: Callable[[], Any]
    url: str
    name: str
    value: Mapping[str, Any]
    query: Mapping[str, Any] | None = None
    body: Any = None
    method: str = "GET"
    words: Mapping[str, Any] | None = None
    route: str | None = None


NEW = {
    "slug": "new",
    "title": "New",
    "price": 3.2,
    "published": None,
    "added": "2026-02-01T10:00:00Z",
    "key": "00000000-0000-4000-8000-000000000042",
    "writer": {"name": "Lovelace"},
}
PLAIN = {"type": "object", "properties": {}, "additionalProperties": False}
FIRST = "00000000-0000-0000-0000-000000000001"

CASES = {
    "list": Case(library.book_views, "/api/books/", "books_list", {}),
    "page": Case(
        library.book_views, "/api/books/", "books_list", {"page": 2, "size": 2}, {"page": 2, "size": 2}
    ),
    "filter": Case(library.book_views, "/api/books/", "books_list", {"price__lte": 9}, {"price__lte": 9}),
    "search": Case(library.book_views, "/api/books/", "books_list", {"search": "ume 3"}, {"search": "ume 3"}),
    "order": Case(
        library.book_views, "/api/books/", "books_list", {"ordering": "-price"}, {"ordering": "-price"}
    ),
    "no such page": Case(library.book_views, "/api/books/", "books_list", {"page": 99}, {"page": 99}),
    "retrieve": Case(library.book_views, "/api/books/{0}/", "books_retrieve", {"pk": "{0}"}),
    "not there": Case(library.book_views, "/api/books/99999/", "books_retrieve", {"pk": 99_999}),
    "create": Case(library.book_views, "/api/books/", "books_create", NEW, body=NEW, method="POST"),
    "taken": Case(
        library.book_views,
        "/api/books/",
        "books_create",
        {**NEW, "slug": "book-1"},
        body={**NEW, "slug": "book-1"},
        method="POST",
    ),
    "update": Case(
        library.book_views, "/api/books/{0}/", "books_update", {**NEW, "pk": "{0}"}, body=NEW, method="PUT"
    ),
    "partial": Case(
        library.book_views,
        "/api/books/{0}/",
        "books_partial_update",
        {"pk": "{0}", "title": "Other", "writer": {"name": "Babbage"}},
        body={"title": "Other", "writer": {"name": "Babbage"}},
        method="PATCH",
    ),
    "destroy": Case(library.book_views, "/api/books/{0}/", "books_destroy", {"pk": "{0}"}, method="DELETE"),
    "extra": Case(library.book_views, "/api/books/{0}/lend/", "books_lend", {"pk": "{0}"}, method="POST"),
    "extra with its own permission": Case(
        library.book_views,
        "/api/books/{0}/set-price/",
        "books_set_price",
        {"pk": "{0}", "price": 7.25},
        body={"price": 7.25},
        method="POST",
    ),
    "extra list": Case(library.book_views, "/api/books/cheap/", "books_cheap", {"size": 1}, {"size": 1}),
    "extra in the path": Case(
        library.book_views, "/api/books/{0}/chapters/3/", "books_chapter", {"pk": "{0}", "chapter": 3}
    ),
    "further method": Case(
        library.book_views, "/api/books/{0}/mark/", "books_unmark", {"pk": "{0}"}, method="DELETE"
    ),
    "slug": Case(lambda: WriterBooks, "/api/books/book-2/", "books_retrieve", {"slug": "book-2"}),
    "uuid": Case(
        lambda: ByKey, f"/api/{FIRST}", "books_retrieve", {"book_key": FIRST}, route="api/<uuid:book_key>"
    ),
    "uuid, delete": Case(
        lambda: ByKey,
        f"/api/{FIRST}",
        "books_destroy",
        {"book_key": FIRST},
        method="DELETE",
        route="api/<uuid:book_key>",
    ),
    "generic list": Case(
        lambda: Bookshelf, "/api/shelf", "books_list", {"page": 2}, {"page": 2}, route="api/shelf"
    ),
    "generic create": Case(
        lambda: Bookshelf, "/api/shelf", "books_create", NEW, body=NEW, method="POST", route="api/shelf"
    ),
    "APIView": Case(
        lambda: Count, "/api/count/{1}", "books", {"writer": "{1}"}, route="api/count/<int:writer>"
    ),
    "api_view": Case(lambda: takings, "/api/takings", "books", {}, route="api/takings"),
    "Django's class": Case(
        lambda: Plain,
        "/api/plain/book-1",
        "books",
        {"slug": "book-1"},
        words={"input": None},
        route="api/plain/<slug>",
    ),
    "Django's function": Case(
        lambda: function,
        "/api/function",
        "books",
        {"q": "a b"},
        {"q": "a b"},
        words={"input": {"type": "object", "properties": {"q": {"type": "string"}}}},
        route="api/function",
    ),
    "async": Case(lambda: later, "/api/later", "books", {}, words={"input": None}, route="api/later"),
}
if not library.FILTERS:
    del CASES["filter"]
CALLERS = ("nobody", "agent without a person", "ada", "bob", "staff")


def filled(value: Any, *ids: int) -> Any:
    """``{0}`` in a text is the first id; a text that is nothing else becomes the number."""
    if isinstance(value, str):
        for position, number in enumerate(ids):
            if value == f"{{{position}}}":
                return number
            value = value.replace(f"{{{position}}}", str(number))
        return value
    return {name: filled(each, *ids) for name, each in value.items()} if isinstance(value, dict) else value


def patterns(case: Case, view: Any) -> list[Any]:
    if case.route is None:
        return library.routed(view)
    return [path(case.route, view.as_view() if isinstance(view, type) else view, name="there")]


def over_http(case: Case, view: Any, ids: tuple[int, ...], user: Any) -> tuple[int, Any]:
    client = APIClient(headers={"host": "shop.example"})
    if user is not None:
        client.force_login(user)
    url = filled(case.url, *ids) + (f"?{urlencode(case.query)}" if case.query else "")
    body = None if case.body is None else json.dumps(case.body)
    with library.urls(*patterns(case, view)):
        answer = client.generic(case.method, url, body or "", content_type=JSON if body else "", secure=True)
    return answer.status_code, json.loads(answer.content) if answer.content else None


def by_agent(case: Case, view: Any, ids: tuple[int, ...], caller: str, people: Any) -> tuple[int, Any]:
    user = getattr(people, caller, None)
    value = filled(dict(case.value), *ids)
    with library.urls(*patterns(case, view)), registry.only():
        action.from_view(view, prefix="books", **(case.words or {}))
        assert [fault for fault in registry.faults() if fault.is_error] == []
        found = registry.get(case.name)
        assert found is not None, [each.name for each in registry.actions()]
        if caller == "nobody":
            query = f"?{urlencode(value)}" if found.method == "GET" else ""
            body = b"" if found.method == "GET" else json.dumps(value).encode()
            answer = APIClient().generic(
                found.method, found.path + query, body, content_type=JSON, secure=True
            )
        else:
            agent = TestAgent(scopes=SCOPES, user=user)
            if found.method == "GET":
                answer = agent.get(f"{found.path}?{urlencode(value)}" if value else found.path)
            else:
                answer = agent.post(found.path, value)
    return answer.status_code, json.loads(answer.content)


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_agent_is_answered_as_its_person_over_http(
    case: Case, caller: str, people: Any, settings: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "ANONYMOUS_RATE": (1e6, 10**6)}
    rows = library.books(people.ada)
    ids = (rows[0].pk, rows[0].writer_id)
    view = case.view()
    user = getattr(people, caller, None)
    before = snapshot()
    with rolled_back():
        status, body = over_http(case, view, ids, user)
        after = snapshot()
    assert snapshot() == before
    with rolled_back():
        found_status, found = by_agent(case, view, ids, caller, people)
        found_after = snapshot()
    if found_status == 401:
        # Nobody may do more than read, whatever the view says.
        assert caller == "nobody"
        assert found["error"]["code"] == "grant_required"
        return
    if status < 300:
        assert (found_status, without_ids(found)) == (200, without_ids(body))
        assert without_ids(found_after) == without_ids(after)
    else:
        expected = {400: (422, "invalid_input"), 401: (403, "not_allowed"), 403: (403, "not_allowed")}
        expected |= {404: (404, "not_found")}
        assert (found_status, found["error"]["code"]) == expected[status]
        assert found_after == before
    with rolled_back():
        assert without_ids(over_http(case, view, ids, user)) == without_ids((status, body))


def without_ids(value: Any) -> Any:
    """PostgreSQL counts on after a rollback, so that two rows made alike have different ids."""
    if isinstance(value, dict):
        return {name: without_ids(each) for name, each in value.items() if name != "id"}
    return [without_ids(each) for each in value] if isinstance(value, (list, tuple)) else value


def snapshot() -> list[Any]:
    """Everything that views could have changed."""
    books = Book.objects.order_by("slug").values(
        "slug", "title", "price", "published", "added", "key", "writer__name", "owner"
    )
    return [*books, *Writer.objects.order_by("name").values("name")]


@contextmanager
def rolled_back() -> Iterator[None]:
    """Undo what happens inside; by a savepoint, since the door opens a transaction that is in none but the test's."""
    point = connection.savepoint()
    yield
    connection.savepoint_rollback(point)
