"""What the database refuses of a view's input: a refusal for agents, whatever the view answers over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from django.db import OperationalError, ProgrammingError, connection, transaction
from django.db.models import F, Func, GenericIPAddressField, JSONField, TextField, Value
from django.db.models.functions import Cast
from django.http import HttpRequest, JsonResponse
from django.urls import path
from rest_framework import filters, pagination, viewsets
from rest_framework.response import Response
from rest_framework.test import APIClient
from rest_framework.views import APIView

from agentweb import action
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.invoke.models import AuditEntry
from agentweb.testing import TestAgent
from tests.catalog.drf import library
from tests.site.models import Book, Note, Tally
from tests.support.calls import call_of

TOO_BIG = "99999999999999999999"
IS_POSTGRES = connection.vendor == "postgresql"
AT_PATH: dict[str, Any] = (
    {"template": "jsonb_path_query_first(%(expressions)s::jsonpath)", "arg_joiner": "::jsonb, "}
    if IS_POSTGRES
    else {"function": "json_extract"}
)


@pytest.fixture(autouse=True)
def _alone(db: None) -> Iterator[None]:
    published.forget()
    # SQLite looks at a regular expression when there is a row to hold it against.
    library.books(None, 1)
    with registry.only():
        yield
    published.forget()


class Lookups(filters.BaseFilterBackend):
    """A filter of the site's own, as sites write them: each parameter is a lookup."""

    names: ClassVar = {
        "title__regex": "string",
        "title__startswith": "string",
        "price__lt": "string",
        "id__gt": "string",
        "id__in": "string",
        "published__year": "string",
        "added__gte": "string",
        "ip": "string",
        "document": "string",
        "order": "string",
        "day": "string",
    }

    def filter_queryset(self, request: Any, queryset: Any, view: Any) -> Any:
        asked = request.query_params
        for name in asked.keys() & self.names.keys() - {"order", "id__in", "document", "day"}:
            queryset = queryset.filter(**{name: asked[name]})
        if "id__in" in asked:
            queryset = queryset.filter(id__in=[int(asked["id__in"])])
        if "day" in asked:
            queryset = queryset.filter(published=asked["day"])
        if "document" in asked:
            found = Func(Value("{}"), Value(asked["document"]), **AT_PATH, output_field=TextField())
            queryset = queryset.annotate(found=found).filter(found__isnull=True)
        return queryset.order_by(asked.get("order", "id"))

    def get_schema_operation_parameters(self, view: Any) -> Any:
        return [
            {"name": name, "in": "query", "required": False, "schema": {"type": kind}}
            for name, kind in self.names.items()
        ]


class Marked(pagination.CursorPagination):
    ordering = "added"
    page_size = 2


def looked_up(paginated: type[pagination.BasePagination] | None = None) -> type[viewsets.ModelViewSet[Book]]:
    class Books(viewsets.ModelViewSet[Book]):
        queryset = Book.objects.annotate(ip=Cast(Value("10.0.0.1"), GenericIPAddressField()))
        serializer_class = library.BookSerializer
        filter_backends = (Lookups,)
        pagination_class = paginated

    return Books


def over_http(address: str, data: dict[str, Any] | None = None) -> int:
    """The status, after which nothing of the call is left: on PostgreSQL a refused statement spoils its transaction."""
    client = APIClient(headers={"host": "shop.example"}, raise_request_exception=False)
    point = connection.savepoint()
    answer = (
        client.get(address, secure=True)
        if data is None
        else client.post(address, data, format="json", secure=True)
    )
    connection.savepoint_rollback(point)
    return int(answer.status_code)


def pointers(answer: Any) -> list[str]:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "invalid_input"), error
    assert {problem["code"] for problem in error["problems"]} == {"invalid"}
    return [problem["pointer"] for problem in error["problems"]]


REFUSED: list[tuple[str, str]] = [
    ("title__regex", "%5B"),
    ("title__regex", "(%3F%3C"),
    ("price__lt", "cheap"),
    ("id__gt", "many"),
    ("id__in", "many"),
    ("published__year", "99999"),
    ("added__gte", "yesterday"),
    ("day", "2026-02-31"),
    ("document", "%24%5B"),
    ("order", "nothing"),
    ("order", "title__nothing"),
]


@pytest.mark.parametrize("paginated", [None, library.Pages], ids=["whole", "paginated"])
@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_filter_that_the_database_refuses_names_its_input(name: str, value: str, paginated: Any) -> None:
    view = looked_up(paginated)
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        assert over_http(f"/api/books/?{name}={value}") == 500
        assert pointers(TestAgent().get(f"/agent/books_list?{name}={value}")) == [f"/{name}"]
        assert TestAgent().get("/agent/books_list").status_code == 200


@pytest.mark.parametrize(("name", "value"), [("id__gt", TOO_BIG), ("id__in", TOO_BIG), ("ip", "here")])
def test_what_one_database_takes_and_the_other_does_not_is_never_a_crash(name: str, value: str) -> None:
    view = looked_up()
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        expected = {200: 200, 500: 422}[over_http(f"/api/books/?{name}={value}")]
        assert TestAgent().get(f"/agent/books_list?{name}={value}").status_code == expected


def test_without_a_transaction_around_it_a_read_is_refused_alike(transactional_db: None) -> None:
    view = looked_up(library.Pages)
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        assert over_http("/api/books/?title__regex=%5B") == 500
        assert pointers(TestAgent().get("/agent/books_list?title__regex=%5B")) == ["/title__regex"]
        assert TestAgent().get("/agent/books_list").json()["count"] == Book.objects.count() > 0


def test_a_value_that_the_error_quotes_tells_its_input_among_others() -> None:
    view = looked_up()
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        agent = TestAgent()
        assert pointers(agent.get("/agent/books_list?order=id&price__lt=cheap")) == ["/price__lt"]
        assert pointers(agent.get("/agent/books_list?order=id&published__year=99999")) == ["/published__year"]
        assert pointers(agent.get("/agent/books_list?order=id&title__regex=%5B")) == [""]


def test_a_cursor_that_was_made_up_is_refused() -> None:
    view = looked_up(Marked)
    view.filter_backends = ()
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        made_up = "cD1ub3doZW4%3D"  # p=nowhen
        assert over_http(f"/api/books/?cursor={made_up}") == 500
        assert pointers(TestAgent().get(f"/agent/books_list?cursor={made_up}")) == ["/cursor"]


@pytest.mark.skipif(not library.FILTERS, reason="django-filter is not installed")
def test_a_filter_of_django_filter_is_refused_too() -> None:
    import django_filters

    class BookFilter(django_filters.FilterSet):  # type: ignore[misc]
        pattern = django_filters.CharFilter(field_name="title", lookup_expr="regex")
        ip = django_filters.CharFilter(field_name="ip")

    view = looked_up()
    view.filter_backends = tuple(library.FILTERS)
    view.filterset_class = BookFilter  # type: ignore[attr-defined]
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        assert over_http("/api/books/?pattern=%5B") == 500
        assert pointers(TestAgent().get("/agent/books_list?pattern=%5B")) == ["/pattern"]
        expected = {200: 200, 500: 422}[over_http("/api/books/?ip=here")]
        assert TestAgent().get("/agent/books_list?ip=here").status_code == expected


def test_a_search_of_too_many_words_is_refused() -> None:
    view = looked_up()
    view.filter_backends = (filters.SearchFilter,)
    view.search_fields = ["title"]  # type: ignore[attr-defined]
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        words = "+".join(["a"] * 1_500)
        expected = {200: 200, 500: 422}[over_http(f"/api/books/?search={words}")]
        assert TestAgent().get(f"/agent/books_list?search={words}").status_code == expected


def test_a_view_of_django_is_judged_alike() -> None:
    def cheaper(request: HttpRequest) -> JsonResponse:
        return JsonResponse({"books": Book.objects.filter(price__lt=request.GET["than"]).count()})

    schema = {"type": "object", "properties": {"than": {"type": "string"}}, "required": ["than"]}
    with library.urls(path("api/cheaper/", cheaper)):
        action.from_view(cheaper, name="cheaper", input=schema, description="Count cheaper books.")
        assert over_http("/api/cheaper/?than=gold") == 500
        assert pointers(TestAgent().get("/agent/cheaper?than=gold")) == ["/than"]


def test_a_handler_of_the_site_that_turns_every_error_into_a_500_hides_nothing() -> None:
    def calm(error: Exception, context: Any) -> Response:
        return Response({"detail": "Sorry."}, status=500)

    view = looked_up()
    view.get_exception_handler = lambda self: calm  # type: ignore[method-assign]
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        assert pointers(TestAgent().get("/agent/books_list?title__regex=%5B")) == ["/title__regex"]


def test_a_handler_of_the_site_that_asks_the_database_again_hides_nothing() -> None:
    def counting(error: Exception, context: Any) -> Response:
        return Response({"detail": "Sorry.", "notes": Note.objects.count()}, status=500)

    class Searched(APIView):
        def post(self, request: Any) -> Response:
            """Search, and note it."""
            Note.objects.create(text="half")
            return Response({"found": Book.objects.filter(title__regex=request.data["pattern"]).count()})

    Searched.get_exception_handler = lambda self: counting  # type: ignore[method-assign]
    schema = {"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]}
    action.from_view(Searched, name="search", input=schema, scope="notes:write", effect="write")
    assert pointers(TestAgent(scopes=["*"]).post("/agent/search", {"pattern": "["})) == ["/pattern"]
    assert not Note.objects.exists()


def test_a_read_inside_a_transaction_does_not_spoil_it() -> None:
    from agentweb.invoke.door import invoke
    from agentweb.wire.errors import InputError

    view = looked_up()
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        with transaction.atomic():
            Note.objects.create(text="before")
            with pytest.raises(InputError):
                invoke(call_of("books_list", {"title__regex": "["}))
            Note.objects.create(text="after")
    assert Note.objects.count() == 2


# -- what stays the site's own fault


class Failing(APIView):
    """Fails as it is told."""

    error: Any = None

    def get(self, request: Any) -> Response:
        """Look."""
        if isinstance(self.error, Exception):
            raise self.error
        return Response({"found": self.error()})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (lambda: Book.objects.extra(tables=["no_such_table"]).count(), 500),
        (lambda: Book.objects.extra(where=["no_such_column = 1"]).count(), 500),
        (lambda: Book.objects.filter(price__lt="of the site").count(), 500),
        (OperationalError("the disk is gone"), 503),
        (ProgrammingError("no such table"), 500),
        (ValueError("a bug"), 500),
        (OverflowError("a bug"), 500),
    ],
    ids=["table", "column", "constant", "outage", "programming", "value", "overflow"],
)
def test_an_outage_or_a_bug_stays_the_site_s(error: Any, status: int) -> None:
    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    action.from_view(Failing, name="failing", input=schema, initkwargs={"error": error})
    assert TestAgent().get("/agent/failing?what=any").status_code == status


def test_a_call_that_sent_nothing_sent_nothing_wrong() -> None:
    view = looked_up()
    view.queryset = view.queryset.filter(title__regex="[")
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        assert TestAgent().get("/agent/books_list").status_code == 500
        assert TestAgent().get("/agent/books_list?order=id").status_code == 422


def test_a_stored_value_that_cannot_be_read_is_no_input() -> None:
    class Broken(JSONField):
        def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
            raise ValueError("'id' is no JSON")

    view = looked_up()
    view.queryset = Book.objects.annotate(broken=Cast(F("title"), Broken()))
    if IS_POSTGRES:
        view.queryset = Book.objects.annotate(broken=Value("{}", Broken()))
    with library.site(view):
        action.from_view(view, prefix="books", only="list")
        assert TestAgent().get("/agent/books_list?order=id").status_code == 500


def test_the_site_s_log_has_what_the_agent_is_not_told(caplog: Any) -> None:
    view = looked_up()
    with library.site(view), caplog.at_level(logging.WARNING, "agentweb.catalog"):
        action.from_view(view, prefix="books", only="list")
        TestAgent().get("/agent/books_list?title__regex=%5B")
    [record] = [each for each in caplog.records if each.name == "agentweb.catalog"]
    assert record.levelname == "WARNING"
    assert record.exc_info is not None


# -- writes


class Counted(APIView):
    """Keeps a tally without a serializer."""

    def post(self, request: Any) -> Response:
        """Keep a tally."""
        Note.objects.create(text="half")
        return Response({"id": Tally.objects.create(visits=1, total=request.data["total"]).pk})


TALLY = {"type": "object", "properties": {"total": {"type": "string"}}, "required": ["total"]}


@pytest.mark.parametrize("total", [TOO_BIG, "many"])
def test_a_write_of_what_the_database_refuses_stores_nothing_and_is_kept_as_the_answer(
    transactional_db: None, total: str
) -> None:
    with library.urls(path("api/tally/", Counted.as_view())):
        action.from_view(Counted, name="tally", input=TALLY, scope="tally:write")
        assert over_http("/api/tally/", {"total": total}) == 500
        Note.objects.all().delete()
        agent = TestAgent(scopes=["*"])
        first = agent.post("/agent/tally", {"total": total}, key="k" * 20)
        assert pointers(first) == ["/total"]
        again = agent.post("/agent/tally", {"total": total}, key="k" * 20)
        assert again.headers["Idempotent-Replayed"] == "true"
        assert pointers(again) == ["/total"]
        assert agent.post("/agent/tally", {"total": "5"}, key="l" * 20).status_code == 200
    assert [note.text for note in Note.objects.all()] == ["half"]
    assert list(Tally.objects.values_list("total", flat=True)) == [5]
    assert list(AuditEntry.objects.order_by("pk").values_list("status", "outcome")) == [
        (422, "invalid_input"),
        (422, "replayed"),
        (200, "ok"),
    ]


def test_a_text_that_its_column_does_not_take_is_refused_where_the_database_says_so() -> None:
    class Noted(APIView):
        def post(self, request: Any) -> Response:
            """Note it."""
            return Response({"id": Note.objects.create(text=request.data["text"]).pk})

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    action.from_view(Noted, name="note", input=schema, scope="notes:write")
    found = TestAgent(scopes=["*"]).post("/agent/note", {"text": "a" * 300})
    if IS_POSTGRES:
        assert pointers(found) == ["/text"]
    assert Note.objects.count() == (0 if IS_POSTGRES else 1)


def test_a_handler_that_is_a_function_of_the_site_s_own_crashes_as_before() -> None:
    @action(effect="write", scope="tally:write", input=TALLY)
    def tally(inp: Any, ctx: Any) -> dict[str, Any]:
        """Keep a tally."""
        return {"id": Tally.objects.create(visits=1, total=int(inp["total"])).pk}

    assert TestAgent(scopes=["*"]).post("/agent/tally", {"total": TOO_BIG}).status_code == 500
