"""What a published view is called with, and what becomes of its answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.views.decorators import staff_member_required
from django.contrib.auth.decorators import login_required, user_passes_test
from django.core.cache import cache
from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.db import DatabaseError, connection
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
    StreamingHttpResponse,
)
from django.test import Client
from django.test.utils import override_script_prefix
from django.urls import include, path, re_path
from django.utils.decorators import method_decorator
from django.views.decorators.cache import cache_page
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.vary import vary_on_cookie
from rest_framework import (
    exceptions,
    filters,
    parsers,
    permissions,
    renderers,
    serializers,
    throttling,
    versioning,
    viewsets,
)
from rest_framework.decorators import action as extra
from rest_framework.response import Response
from rest_framework.test import APIClient
from rest_framework.views import APIView

from agentweb import AgentError, action
from agentweb.access import approvals
from agentweb.access.models import Approval
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.catalog.drf import library
from tests.site.models import Book, Note
from tests.support.calls import answer, call_of


@pytest.fixture(autouse=True)
def _alone(db: None) -> Iterator[None]:
    published.forget()
    cache.clear()
    with registry.only():
        yield
    published.forget()
    cache.clear()


@pytest.fixture
def people() -> Any:
    return library.people()


def publish(view: Any, **words: Any) -> None:
    action.from_view(view, **words)
    assert [fault for fault in registry.faults() if fault.is_error] == []


def said(answer: Any) -> tuple[int, Any]:
    return answer.status_code, json.loads(answer.content) if answer.content else None


def refusal(answer: Any) -> tuple[int, str, str]:
    error = json.loads(answer.content)["error"]
    return answer.status_code, error["code"], error["message"]


def answering(make: Any) -> type[APIView]:
    """A view of DRF whose POST does what it is told."""

    class Told(APIView):
        """Told what to do."""

        def post(self, request: Any) -> Any:
            return make(request)

    return Told


def call(view: Any, value: Any = None, *, user: Any = None, **words: Any) -> Any:
    """The answer of the one action of a view, called by an agent with every scope."""
    words.setdefault("input", None)
    publish(view, name="thing", description="Do it.", **words)
    agent = TestAgent(scopes=["*"], user=user, spending="USD:50.00/200.00")
    found = registry.get("thing")
    assert found is not None
    return agent.get("/agent/thing") if found.method == "GET" else agent.post("/agent/thing", value or {})


# -- the request


def test_the_request_is_the_person_s_and_not_the_agent_s(people: Any) -> None:
    def look(request: Any) -> Response:
        inner = request._request
        return Response(
            {
                "user": request.user.get_username(),
                "cookies": dict(inner.COOKIES),
                "method": inner.method,
                "host": inner.get_host(),
                "secure": inner.is_secure(),
                "address": inner.META["REMOTE_ADDR"],
                "signature": "HTTP_SIGNATURE" in inner.META,
                "grant": "HTTP_AGENT_GRANT" in inner.META,
                "data": request.data,
                "session": dict(inner.session),
                "agent": request.agent.caller.kind,
                "action": request.agent.action.name,
            }
        )

    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    assert said(call(answering(look), {"a": Decimal("1.50")}, user=people.ada, input=schema)) == (
        200,
        {
            "user": "ada",
            "cookies": {},
            "method": "POST",
            "host": "shop.example",
            "secure": True,
            "address": "127.0.0.1",
            "signature": False,
            "grant": False,
            "data": {"a": 1.5},
            "session": {},
            "agent": "agent",
            "action": "thing",
        },
    )


def test_a_session_cookie_beside_the_call_makes_nobody_of_it(people: Any) -> None:
    """The cookie of a browser that an agent uses says nothing about for whom the agent acts."""

    def who(request: HttpRequest) -> HttpResponse:
        return JsonResponse({"user": str(request.user)})

    publish(who, name="who", input=None, description="Who?")
    client = Client()
    client.force_login(people.staff)
    assert client.get("/agent/who", secure=True).json() == {"user": "AnonymousUser"}


def test_a_person_who_may_no_longer_log_in_is_nobody(people: Any) -> None:
    class Mine(APIView):
        permission_classes = (permissions.IsAuthenticated,)

        def get(self, request: Any) -> Response:
            """Say whose."""
            return Response({"user": str(request.user)})

    publish(Mine, name="mine")
    agent = TestAgent(scopes=["*"], user=people.ada)
    assert said(agent.get("/agent/mine")) == (200, {"user": "ada"})
    people.ada.is_active = False
    people.ada.save()
    assert agent.get("/agent/mine").status_code in {401, 403}


def test_a_call_from_a_shell_reaches_the_view_too(people: Any) -> None:
    from agentweb.invoke.door import invoke

    library.books(people.ada)
    view = library.book_views()
    with library.site(view):
        publish(view, prefix="books")
        found = answer(invoke(call_of("books_list", {"page": 2})))
    assert found["next"] == "https://shop.example/api/books/?page=3"
    assert [book["slug"] for book in found["results"]] == ["book-3", "book-4"]


def test_csrf_does_not_arise() -> None:
    @csrf_protect
    def guarded(request: HttpRequest) -> HttpResponse:
        return JsonResponse(json.loads(request.body or b"{}"))

    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert said(call(guarded, {"a": 1}, methods=("POST",), input=schema)) == (200, {"a": 1})


def test_a_query_parameter_called_format_is_the_view_s_own(people: Any) -> None:
    class Shape(filters.BaseFilterBackend):
        def filter_queryset(self, request: Any, queryset: Any, view: Any) -> Any:
            return queryset.filter(slug__startswith=request.query_params.get("format", ""))

        def get_schema_operation_parameters(self, view: Any) -> Any:
            return [{"name": "format", "in": "query", "schema": {"type": "string"}}]

    class Books(viewsets.ReadOnlyModelViewSet[Book]):
        queryset = Book.objects.order_by("id")
        serializer_class = library.BookSerializer
        filter_backends = (Shape,)

    library.books(people.ada)
    with library.site(Books):
        publish(Books, prefix="books", only="list")
        found = TestAgent(scopes=["*"]).get("/agent/books_list?format=book-2")
    assert [book["slug"] for book in found.json()] == ["book-2"]


def test_a_renderer_for_people_is_passed_over(people: Any) -> None:
    class Both(APIView):
        renderer_classes = (renderers.BrowsableAPIRenderer, renderers.JSONRenderer)

        def get(self, request: Any) -> Response:
            """Say it."""
            return Response({"price": Decimal("1.10")})

    assert said(call(Both)) == (200, {"price": 1.1})


def test_the_view_s_own_parsers_decide() -> None:
    class Choosy(APIView):
        def get_parsers(self) -> Any:
            return [parsers.MultiPartParser()]

        def post(self, request: Any) -> Response:
            return Response({"data": request.data})

    assert refusal(call(Choosy, {"a": 1}, input={"type": "object"}))[:2] == (415, "unsupported_media_type")


def test_versions_come_from_the_url() -> None:
    class Versioned(APIView):
        versioning_class = versioning.NamespaceVersioning

        def get(self, request: Any) -> Response:
            """Say the version."""
            return Response({"version": request.version, "at": request.path})

    patterns = ([path("thing/", Versioned.as_view(), name="thing")], "v2")
    with library.urls(path("api/v2/", include(patterns, namespace="v2"))):
        assert said(call(Versioned)) == (200, {"version": "v2", "at": "/api/v2/thing/"})


def test_a_site_under_a_path_is_reversed_as_such(people: Any) -> None:
    def where(request: HttpRequest) -> HttpResponse:
        return JsonResponse({"path": request.path, "info": request.path_info})

    publish(where, name="where", input=None, description="Where?")
    with library.urls(path("here/", where)), override_script_prefix("/shop/"):
        found = Client().get("/agent/where", secure=True)
    assert found.json() == {"path": "/shop/here/", "info": "/here/"}


# -- what stands around a view in the URLconf


def test_a_decorator_in_the_urlconf_holds_for_agents_too(people: Any) -> None:
    class Open(APIView):
        def get(self, request: Any) -> Response:
            """Say who."""
            return Response({"user": str(request.user)})

    def no_entry(view: Any) -> Any:
        from functools import wraps

        @wraps(view)
        def wrapped(request: Any, *args: Any, **kwargs: Any) -> Any:
            return view(request, *args, **kwargs) if request.user.is_staff else JsonResponse({}, status=403)

        return wrapped

    with library.urls(path("open/", no_entry(Open.as_view()))):
        publish(Open, name="open_up")
        assert refusal(Client().get("/agent/open_up", secure=True))[:2] == (403, "not_allowed")
        assert said(TestAgent(scopes=["*"], user=people.staff).get("/agent/open_up")) == (
            200,
            {"user": "sam"},
        )


def test_a_login_page_is_a_refusal(people: Any) -> None:
    def secret(request: HttpRequest) -> HttpResponse:
        return JsonResponse({"user": str(request.user)})

    view = login_required(secret)
    publish(view, name="hidden", input=None, description="For people.")
    code = refusal(Client().get("/agent/hidden", secure=True))
    assert code[:2] == (403, "not_allowed")
    assert "stands for no person" in code[2]
    assert said(TestAgent(scopes=["*"], user=people.ada).get("/agent/hidden")) == (200, {"user": "ada"})


def _kept_out(view: Any) -> Any:
    """A guard that does not say what it guards."""

    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return view(request, *args, **kwargs) if request.user.is_staff else HttpResponse("No.", status=403)

    return inner


class _Guard:
    def __init__(self, view: Any) -> None:
        self.view = view

    def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        return _kept_out(self.view)(request, **kwargs)  # type: ignore[no-any-return]


def _kept_out_with(request: HttpRequest, view: Any = None) -> HttpResponse:
    return _kept_out(view)(request)  # type: ignore[no-any-return]


class Named(APIView):
    """What a guard may call by its name."""

    def get(self, request: Any) -> Response:
        return Response({"user": str(request.user)})


def _kept_out_by_name(request: HttpRequest) -> HttpResponse:
    return _kept_out(Named.as_view())(request)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "guarded",
    [
        lambda: _kept_out(Named.as_view()),
        lambda: _kept_out(_kept_out(Named.as_view())),
        lambda: login_required(_kept_out(login_required(Named.as_view()))),
        lambda: _Guard(Named.as_view()),
        lambda: _Guard(Named.as_view()).__call__,
        lambda: partial(_kept_out_with, view=Named.as_view()),
        lambda: _kept_out_by_name,
    ],
)
def test_a_guard_that_does_not_say_what_it_guards_holds_for_agents_too(guarded: Any, people: Any) -> None:
    with library.urls(path("named/", guarded())):
        publish(Named, name="named")
        for user, status in ((people.ada, 403), (people.staff, 200)):
            browser = Client()
            browser.force_login(user)
            assert browser.get("/named/").status_code == status
            assert TestAgent(scopes=["*"], user=user).get("/agent/named").status_code == status


def test_what_as_view_made_is_guarded_like_what_stands_in_the_urlconf(people: Any) -> None:
    with library.urls(path("named/", _kept_out(Named.as_view()))):
        publish(Named.as_view(), name="named")
        assert TestAgent(scopes=["*"], user=people.ada).get("/agent/named").status_code == 403
        with registry.only():
            publish(login_required(Named.as_view()), name="named")
            assert TestAgent(scopes=["*"], user=people.ada).get("/agent/named").status_code == 200


def test_a_guard_of_one_action_is_not_that_of_another(people: Any) -> None:
    books = library.book_views()
    library.books(people.ada)
    patterns = [
        path("books/", books.as_view({"get": "list"}), name="books"),
        path("books/<pk>/", _kept_out(books.as_view({"get": "retrieve"})), name="book"),
    ]
    with library.urls(*patterns):
        publish(books, prefix="books", only=("list", "retrieve"))
        agent = TestAgent(scopes=["*"], user=people.ada)
        assert agent.get("/agent/books_list").status_code == 200
        pk = Book.objects.values_list("pk", flat=True)[0]
        assert agent.get(f"/agent/books_retrieve?pk={pk}").status_code == 403


@pytest.mark.parametrize(
    "guard",
    [
        staff_member_required,
        user_passes_test(lambda user: user.is_staff, login_url="/elsewhere/to-log-in/"),
        user_passes_test(lambda user: user.is_staff, login_url="/in/", redirect_field_name="back"),
        user_passes_test(lambda user: user.is_staff, login_url="https://id.example/in"),
        lambda view: lambda request: HttpResponseRedirect("/door/") if request.user else view(request),
    ],
)
def test_whom_a_view_sends_to_any_login_page_is_refused(guard: Any, people: Any) -> None:
    door = path("door/", lambda request: HttpResponse("Who are you?"), name="login")
    with library.urls(path("open/", guard(Named.as_view())), path("admin/", admin.site.urls), door):
        publish(Named, name="named")
        answer = TestAgent(scopes=["*"], user=people.ada).get("/agent/named")
        assert refusal(answer)[:2] == (403, "not_allowed")


def test_any_other_redirect_is_no_answer(people: Any, caplog: Any) -> None:
    view = answering(lambda request: HttpResponseRedirect("/thanks/?for=this"))
    assert refusal(call(view, user=people.ada))[:2] == (500, "handler_error")
    assert "/thanks/?for=this" in caplog.text


def test_a_view_that_authenticates_nobody_sees_nobody(people: Any) -> None:
    class Nobody(Named):
        """For nobody in particular."""

        authentication_classes = ()

    class Closed(Nobody):
        """For people, whom it does not know."""

        permission_classes = (permissions.IsAuthenticated,)

    routes = [path("nobody/", Nobody.as_view()), path("closed/", Closed.as_view())]
    routes.append(path("by-route/", Named.as_view(authentication_classes=())))
    with library.urls(*routes):
        publish(Nobody, name="nobody")
        publish(Closed, name="closed")
        publish(Named, name="by_route")
        browser, agent = Client(), TestAgent(scopes=["*"], user=people.ada)
        browser.force_login(people.ada)
        for address, name in (("nobody", "nobody"), ("by-route", "by_route")):
            assert browser.get(f"/{address}/").json() == {"user": "AnonymousUser"}
            assert said(agent.get(f"/agent/{name}")) == (200, {"user": "AnonymousUser"})
        assert browser.get("/closed/").status_code == agent.get("/agent/closed").status_code == 403


def test_links_lead_to_the_site_by_its_own_name(people: Any) -> None:
    view = answering(lambda request: Response({"at": request.build_absolute_uri("/x")}))
    publish(view, name="thing", input=None, description="Do it.")
    answer = TestAgent(scopes=["*"], user=people.ada).post(
        "/agent/thing", {}, headers={"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"}
    )
    assert said(answer) == (200, {"at": "https://shop.example/x"})


def test_the_middleware_that_requires_login_holds(people: Any, settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]

    def who(request: HttpRequest) -> HttpResponse:
        return JsonResponse({"user": str(request.user)})

    publish(who, name="who", input=None, description="Who?")
    with library.urls(path("who/", who)):
        assert Client().get("/who/").status_code == 302
        assert refusal(Client().get("/agent/who", secure=True))[:2] == (403, "not_allowed")
        assert said(TestAgent(scopes=["*"], user=people.ada).get("/agent/who")) == (200, {"user": "ada"})


def test_a_cache_tells_people_apart_as_it_does_over_http(people: Any) -> None:
    """The requests of agents have no cookie; in a cache that goes by the cookie they must not all be one."""

    @method_decorator(cache_page(60), name="dispatch")
    @method_decorator(vary_on_cookie, name="dispatch")
    class Mine(APIView):
        def get(self, request: Any) -> Response:
            """Say whose."""
            return Response({"user": str(request.user)})

    with library.urls(path("mine/", Mine.as_view())):
        publish(Mine, name="mine")
        for user in (people.ada, people.bob, people.ada):
            assert TestAgent(scopes=["*"], user=user).get("/agent/mine").json() == {"user": user.username}
        assert Client().get("/agent/mine", secure=True).json() == {"user": "AnonymousUser"}
        assert Client().get("/mine/", secure=True).json() == {"user": "AnonymousUser"}
        # What tells them apart is nothing that a visitor could send to be taken for ada.
        for cookie in (f"agent-of={people.ada.pk}", "agent-of=ada"):
            assert (
                Client(headers={"Cookie": cookie}).get("/mine/", secure=True).json()["user"]
                == "AnonymousUser"
            )


def test_values_that_no_url_can_hold_find_nothing(people: Any) -> None:
    class Books(viewsets.ReadOnlyModelViewSet[Book]):
        queryset = Book.objects.order_by("id")
        serializer_class = library.BookSerializer
        lookup_field = "title"

    library.books(people.ada)
    with library.site(Books):
        publish(Books, prefix="books")
        agent = TestAgent(scopes=["*"])
        assert agent.get("/agent/books_retrieve?title=Volume%201").json()["slug"] == "book-1"
        assert refusal(agent.get("/agent/books_retrieve?title=a/b"))[:2] == (404, "not_found")
        assert refusal(agent.get("/agent/books_retrieve?title=.."))[:2] == (404, "not_found")


def test_names_that_stand_in_path_and_body_are_told_apart(people: Any) -> None:
    class Books(viewsets.ModelViewSet[Book]):
        queryset = Book.objects.order_by("id")
        serializer_class = library.BookSerializer
        lookup_field = "slug"

    library.books(people.ada)
    with library.site(Books):
        publish(Books, prefix="books")
        schema = registry.get("books_partial_update").input_schema
        assert schema["required"] == ["slug__path"]
        agent = TestAgent(scopes=["*"])
        found = agent.post("/agent/books_partial_update", {"slug__path": "book-1", "slug": "renamed"})
        assert (found.status_code, found.json()["slug"]) == (200, "renamed")
        taken = agent.post("/agent/books_partial_update", {"slug__path": "book-2", "slug": "renamed"})
        assert [(each["pointer"], each["code"]) for each in taken.json()["error"]["problems"]] == [
            ("/slug", "unique")
        ]


def test_keyword_arguments_of_a_nested_url_are_named_by_the_author(people: Any) -> None:
    class Of(viewsets.ReadOnlyModelViewSet[Book]):
        serializer_class = library.BookSerializer
        queryset = Book.objects.order_by("id")

        def get_queryset(self) -> Any:
            return Book.objects.filter(writer=self.kwargs["writer_pk"]).order_by("id")

    rows = library.books(people.ada)
    with library.urls(path("writers/<int:writer_pk>/", include(library.routed(Of)))):
        publish(Of, prefix="books", url_kwargs={"writer_pk": {"type": "integer"}})
        agent = TestAgent(scopes=["*"])
        found = agent.get(f"/agent/books_list?writer_pk={rows[0].writer_id}")
        assert len(found.json()) == 5
        assert agent.get("/agent/books_list?writer_pk=0").json() == []


def test_a_url_with_more_than_the_input_holds_fails_and_runs_nothing(people: Any) -> None:
    """A view that filters by its URL would show everything if it were called without."""

    class Of(viewsets.ReadOnlyModelViewSet[Book]):
        serializer_class = library.BookSerializer
        queryset = Book.objects.order_by("id")

    library.books(people.ada)
    with library.urls(path("writers/<int:writer_pk>/", include(library.routed(Of)))):
        publish(Of, prefix="books")
        assert refusal(TestAgent(scopes=["*"]).get("/agent/books_list"))[:2] == (500, "handler_error")


def test_an_optional_keyword_argument_chooses_the_url(people: Any) -> None:
    class Either(APIView):
        def get(self, request: Any, name: str | None = None) -> Response:
            """Say the name."""
            return Response({"name": name, "at": request.path})

    with library.urls(path("say/", Either.as_view()), path("say/<name>/", Either.as_view())):
        publish(Either, name="say")
        agent = TestAgent(scopes=["*"])
        assert agent.get("/agent/say").json() == {"name": None, "at": "/say/"}
        assert agent.get("/agent/say?name=ada%20l").json() == {"name": "ada l", "at": "/say/ada l/"}


def test_a_parameter_that_no_url_gives_is_given_by_no_agent(people: Any) -> None:
    """A default of the view's own code is not for callers to change."""

    class Books(APIView):
        def get(self, request: Any, everything: bool = False) -> Response:
            """Say which books."""
            return Response({"everything": everything})

    def refused(**words: Any) -> Any:
        with registry.only():
            publish(Books, name="books", **words)
            agent = TestAgent(scopes=["*"])
            assert agent.get("/agent/books").json() == {"everything": False}
            return agent.get("/agent/books?everything=1").json()

    for patterns in ([], [path("books/", Books.as_view())]):
        with library.urls(*patterns):
            [problem] = refused()["error"]["problems"]
            assert (problem["pointer"], problem["code"]) == ("/everything", "unknown_field")
    assert refused(url_kwargs={"everything": {"type": "string"}}) == {"everything": "1"}


def test_a_url_asks_for_what_it_needs() -> None:
    class Either(APIView):
        def get(self, request: Any, name: str | None = None) -> Response:
            """Say the name."""
            return Response({"name": name})

    with library.urls(path("say/<name>/", Either.as_view())):
        publish(Either, name="say")
        [problem] = TestAgent(scopes=["*"]).get("/agent/say").json()["error"]["problems"]
        assert (problem["pointer"], problem["code"]) == ("/name", "required")


def test_what_an_open_schema_lets_through_travels_like_the_rest() -> None:
    def look(request: HttpRequest) -> HttpResponse:
        return JsonResponse(request.GET.dict())

    publish(
        look,
        name="look",
        input={"type": "object", "properties": {"a": {"type": "integer"}}},
        description="Look.",
    )
    assert TestAgent(scopes=["*"]).get("/agent/look?a=1&b=2").json() == {"a": "1", "b": "2"}


def test_a_stated_body_may_be_a_list() -> None:
    def count(request: HttpRequest) -> HttpResponse:
        return JsonResponse({"sum": sum(json.loads(request.body))})

    schema = {"type": "array", "items": {"type": "integer"}}
    assert said(call(count, {"body": [1, 2]}, methods="POST", input=schema)) == (200, {"sum": 3})


# -- what the view answers


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: Response(status=204), (200, None)),
        (lambda: Response({"id": 1}, status=201), (200, {"id": 1})),
        (lambda: Response(None), (200, None)),
        (lambda: Response([1, "2", Decimal("3.10"), 0.1]), (200, [1, "2", 3.10, 0.1])),
        (lambda: HttpResponse(b'"text"', content_type="text/plain"), (200, "text")),
        (lambda: HttpResponse(status=200), (200, None)),
    ],
)
def test_success_is_the_view_s_json(made: Any, expected: Any) -> None:
    answer = call(answering(lambda request: made()))
    status, body = said(answer)
    assert (status, body) == expected


class Sold(exceptions.APIException):
    status_code = 409
    default_code = "sold_out"
    default_detail = "It is sold."


class Gone(exceptions.APIException):
    status_code = 410
    default_detail = "It was there."


class Faking(exceptions.APIException):
    status_code = 402
    default_code = "grant_revoked"


def raising(error: Exception) -> Any:
    def make(request: Any) -> Any:
        raise error

    return make


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (exceptions.NotAuthenticated(), (403, "not_allowed")),
        (exceptions.PermissionDenied("Not yours."), (403, "not_allowed")),
        (exceptions.NotFound(), (404, "not_found")),
        (exceptions.MethodNotAllowed("POST"), (405, "method_not_allowed")),
        (exceptions.ParseError("What?"), (422, "invalid_input")),
        (exceptions.UnsupportedMediaType("x/y"), (415, "unsupported_media_type")),
        (exceptions.Throttled(wait=7), (429, "rate_limited")),
        (Sold(), (409, "sold_out")),
        (Gone(), (410, "gone")),
        (Faking(), (402, "payment_required")),
        (exceptions.APIException("secret"), (500, "handler_error")),
        (Http404("secret"), (404, "not_found")),
        (PermissionDenied("secret"), (403, "not_allowed")),
        (SuspiciousOperation("secret"), (422, "invalid_input")),
        (ValidationError("secret"), (500, "handler_error")),
        (RuntimeError("secret"), (500, "handler_error")),
        (AgentError("too_late", "Closed."), (409, "too_late")),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_refusal_of_the_view_is_one_of_ours(error: Exception, expected: Any, people: Any) -> None:
    answer = call(answering(raising(error)), user=people.ada)
    assert refusal(answer)[:2] == expected
    assert "secret" not in answer.content.decode().replace("/agent/thing", "") or expected[0] in {403, 404}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (exceptions.NotFound("Invalid page."), "Invalid page."),
        (Http404("This shelf is closed."), "This shelf is closed."),
        (exceptions.NotFound(), "What the input names does not exist here. Look it up, then call again."),
        (
            Http404("No Book matches the given query."),
            "What the input names does not exist here. Look it up, then call again.",
        ),
    ],
)
def test_what_a_view_says_of_what_is_not_there_is_kept(error: Exception, message: str, people: Any) -> None:
    assert refusal(call(answering(raising(error)), user=people.ada)) == (404, "not_found", message)


def test_a_page_that_is_not_there_is_called_one(people: Any) -> None:
    library.books(people.ada)
    view = library.book_views()
    with library.site(view):
        publish(view, prefix="books", only=["list"])
        assert refusal(TestAgent(scopes=["*"]).get("/agent/books_list?page=99"))[2] == "Invalid page."


def test_a_throttle_of_the_view_is_not_told_as_a_limit_that_has_room(people: Any) -> None:
    answer = call(answering(raising(exceptions.Throttled(wait=59))), user=people.ada)
    assert (answer["Retry-After"], answer["RateLimit"]) == ("59", '"site";r=0;t=59')
    assert "RateLimit-Policy" not in answer


def test_a_decimal_that_was_answered_can_be_sent_back(people: Any) -> None:
    books = library.books(people.ada)
    view = library.book_views()
    with library.site(view):
        publish(view, prefix="books", only=["retrieve", "set_price"])
        agent = TestAgent(scopes=["*"], user=people.staff)
        price = agent.get(f"/agent/books_retrieve?pk={books[0].pk}").json()["price"]
        assert price == "4.50"
        for given in (price, Decimal("4.5"), "7.25"):
            answer = agent.post("/agent/books_set_price", {"pk": books[0].pk, "price": given})
            assert answer.status_code == 200, answer.content
        assert answer.json()["price"] == "7.25"
        [problem] = agent.post("/agent/books_set_price", {"pk": books[0].pk, "price": "-1.00"}).json()[
            "error"
        ]["problems"]
        assert problem["pointer"] == "/price"


def test_a_read_that_stands_for_nobody_says_how_to_stand_for_somebody(people: Any) -> None:
    class Mine(APIView):
        """Mine."""

        permission_classes = (permissions.IsAuthenticated,)

        def get(self, request: Any) -> Response:
            return Response({})

    publish(Mine, name="mine")
    plain = Client().get("/agent/mine", secure=True, headers={"Host": "shop.example"})
    assert refusal(plain)[:2] == (403, "not_allowed")
    assert "sign it under a grant that a person gave, also where the action demands none" in refusal(plain)[2]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (lambda: Response({"error": "Out of stock"}, status=409), (409, "conflict", "error: Out of stock")),
        (lambda: JsonResponse({"detail": "No."}, status=403), (403, "not_allowed", "No.")),
        (lambda: JsonResponse({"why": ["a", "b"]}, status=418), (418, "i_m_a_teapot", "why: a why: b")),
        (lambda: HttpResponse("<h1>No</h1>", status=451), (451, "unavailable_for_legal_reasons", None)),
        (lambda: HttpResponse("no", status=499), (499, "refused", None)),
        (lambda: HttpResponse("no", status=413), (413, "payload_too_large", None)),
        (lambda: Response({"x": 1}, status=503), (500, "handler_error", None)),
        (lambda: HttpResponseRedirect("/elsewhere"), (500, "handler_error", None)),
        (lambda: HttpResponse("<h1>Welcome</h1>"), (500, "handler_error", None)),
        (lambda: StreamingHttpResponse([b"{}"]), (500, "handler_error", None)),
        (lambda: HttpResponse('{"x": NaN}', content_type="application/json"), (500, "handler_error", None)),
    ],
)
def test_what_is_no_answer_of_drf_is_understood_by_its_status(
    response: Any, expected: Any, people: Any
) -> None:
    found = refusal(call(answering(lambda request: response()), user=people.ada))
    assert found[:2] == expected[:2]
    assert expected[2] is None or found[2] == expected[2]


def test_every_problem_has_its_pointer(people: Any) -> None:
    class Line(serializers.Serializer[Any]):
        count = serializers.IntegerField()

        def validate_count(self, value: int) -> int:
            if value > 3:
                raise serializers.ValidationError("Too many.", code="too_many")
            return value

    class Order(serializers.Serializer[Any]):
        name = serializers.CharField()
        lines = Line(many=True)

        def validate(self, attrs: Any) -> Any:
            raise serializers.ValidationError("Not today.", code="closed")

    class Orders(viewsets.ViewSet):
        serializer_class = Order

        def create(self, request: Any) -> Response:
            """Order."""
            asked = Order(data=request.data)
            asked.is_valid(raise_exception=True)
            return Response({})

    publish(Orders, prefix="orders")
    agent = TestAgent(scopes=["*"])
    answer = agent.post("/agent/orders_create", {"name": "x", "lines": [{"count": 1}, {"count": 9}]})
    assert [(each["pointer"], each["code"]) for each in answer.json()["error"]["problems"]] == [
        ("/lines/1/count", "too_many")
    ]
    answer = agent.post("/agent/orders_create", {"name": "x", "lines": []})
    assert [(each["pointer"], each["code"]) for each in answer.json()["error"]["problems"]] == [
        ("", "closed")
    ]


def test_the_words_of_a_handler_of_the_site_s_own_are_kept(settings: Any) -> None:
    def wrapped(error: Exception, context: Any) -> Response:
        from rest_framework.views import exception_handler

        found = exception_handler(error, context)
        assert found is not None
        found.data = {"errors": found.data}
        return found

    view = answering(raising(exceptions.ValidationError({"a": ["Bad."]})))
    view.get_exception_handler = lambda self: wrapped  # type: ignore[method-assign]
    [problem] = call(view).json()["error"]["problems"]
    assert (problem["pointer"], problem["message"]) == ("", "a: Bad.")


# -- throttles, transactions, money


class Twice(throttling.UserRateThrottle):
    rate = "2/hour"
    scope = "library-test"


def test_a_throttle_counts_a_person_s_calls_by_both_doors(people: Any) -> None:
    class Slow(APIView):
        throttle_classes = (Twice,)

        def get(self, request: Any) -> Response:
            """Take your time."""
            return Response({})

    with library.urls(path("slow/", Slow.as_view())):
        publish(Slow, name="slow")
        client = APIClient()
        client.force_login(people.ada)
        agent = TestAgent(scopes=["*"], user=people.ada)
        assert client.get("/slow/").status_code == 200
        assert agent.get("/agent/slow").status_code == 200
        assert client.get("/slow/").status_code == 429
        refused = agent.get("/agent/slow")
        assert refusal(refused)[:2] == (429, "rate_limited")
        assert 3_500 < refused.json()["error"]["retry_after"] <= 3_600
        assert TestAgent(scopes=["*"], user=people.bob).get("/agent/slow").status_code == 200
        # An address is one caller too, whichever way it comes.
        assert [
            Client().get(url, secure=True).status_code for url in ("/slow/", "/agent/slow", "/slow/")
        ] == [
            200,
            200,
            429,
        ]


def test_a_refusal_takes_back_what_the_view_wrote() -> None:
    def write_and_refuse(request: Any) -> Response:
        Note.objects.create(text="half")
        return Response({"detail": "No."}, status=409)

    assert call(answering(write_and_refuse)).status_code == 409
    assert Note.objects.count() == 0


def test_atomic_requests_of_the_site_change_nothing(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)

    def write(request: Any) -> Response:
        Note.objects.create(text="whole")
        if request.data.get("refuse"):
            raise exceptions.ValidationError("No.")
        return Response({"at": connection.in_atomic_block})

    schema = {"type": "object", "properties": {"refuse": {"type": "boolean"}}}
    view = answering(write)
    publish(view, name="thing", description="Do it.", input=schema)
    agent = TestAgent(scopes=["*"])
    assert agent.post("/agent/thing", {"refuse": True}).status_code == 422
    assert Note.objects.count() == 0
    assert said(agent.post("/agent/thing", {})) == (200, {"at": True})
    assert Note.objects.count() == 1


def test_a_database_error_that_a_view_swallows_is_a_crash_with_atomic_requests_too(
    people: Any, monkeypatch: Any
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)

    def swallow(request: Any) -> Response:
        Note.objects.create(pk=1, text="one")
        with suppress(DatabaseError):
            Note.objects.create(pk=1, text="the same")
        return Response({"ok": True})

    publish(answering(swallow), name="thing", input=None, description="Do it.", confirm="person")
    agent = TestAgent(scopes=["*"], user=people.ada)
    asked = agent.post("/agent/thing", {}).json()["error"]["approval"]
    approvals.approve(asked, by=people.ada)
    assert refusal(agent.post("/agent/thing", {}, key="k" * 20))[:2] == (500, "handler_error")
    assert not Note.objects.exists()
    assert Approval.objects.get().state == Approval.State.APPROVED
    assert "Idempotent-Replayed" not in agent.post("/agent/thing", {}, key="k" * 20).headers


def test_a_repeated_call_runs_the_view_once() -> None:
    def write(request: Any) -> Response:
        return Response({"id": Note.objects.create(text="one").pk})

    publish(answering(write), name="thing", input=None)
    agent = TestAgent(scopes=["*"])
    answers = [agent.post("/agent/thing", {}, key="k" * 20).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert Note.objects.count() == 1


def test_a_view_may_charge(people: Any) -> None:
    def sell(request: Any) -> Response:
        agent = getattr(request, "agent", None)
        receipt = agent.charge("3.00", "USD", item="tea") if agent is not None else None
        return Response({"receipt": receipt and receipt["id"]})

    view = answering(sell)
    with library.urls(path("sell/", view.as_view())):
        found = call(view, effect="spend", cost={"amount": 5, "currency": "USD"}, user=people.ada)
        assert found.json()["receipt"]
        assert APIClient().post("/sell/").json() == {"receipt": None}
        broke = TestAgent(scopes=["*"], user=people.ada, spending="USD:1.00/1.00")
        assert refusal(broke.post("/agent/thing", {}))[:2] == (403, "mandate_exceeded")


def test_a_view_waits_for_a_person_where_it_is_told_to(people: Any) -> None:
    view = library.book_views()
    book = library.books(people.ada)[0]
    with library.site(view):
        publish(view, prefix="books", only="destroy", confirms={"destroy": "person"})
        agent = TestAgent(scopes=["*"], user=people.ada)
        asked = agent.post("/agent/books_destroy", {"pk": book.pk}, key="d" * 20).json()["error"]
        assert asked["code"] == "needs_human"
        assert Book.objects.filter(pk=book.pk).exists()
        approvals.approve(Approval.objects.get().pk, by=people.ada)
        assert said(agent.post("/agent/books_destroy", {"pk": book.pk}, key="d" * 20)) == (200, None)
    assert not Book.objects.filter(pk=book.pk).exists()


def test_secrets_in_a_view_s_answer_are_removed() -> None:
    found = call(answering(lambda request: Response({"name": "ada", "password": "hunter2"})))
    assert said(found) == (200, {"name": "ada"})


def test_a_body_that_is_a_list_is_one_member() -> None:
    class Item(serializers.Serializer[Any]):
        count = serializers.IntegerField()

        def validate_count(self, value: int) -> int:
            if value > 3:
                raise serializers.ValidationError("Too many.", code="too_many")
            return value

    class Many(APIView):
        """Takes many."""

        def get_serializer(self, **kwargs: Any) -> Any:
            return Item(many=True, **kwargs)

        def post(self, request: Any) -> Response:
            asked = self.get_serializer(data=request.data)
            asked.is_valid(raise_exception=True)
            return Response(asked.validated_data)

    publish(Many, name="many")
    agent = TestAgent(scopes=["*"])
    assert said(agent.post("/agent/many", {"body": [{"count": 1}]})) == (200, [{"count": 1}])
    [problem] = agent.post("/agent/many", {"body": [{"count": 1}, {"count": 4}]}).json()["error"]["problems"]
    assert (problem["pointer"], problem["code"]) == ("/body/1/count", "too_many")


def test_a_regular_expression_s_route_gives_the_view_texts() -> None:
    class Digits(viewsets.ViewSet):
        @extra(detail=False, url_path=r"sum/(?P<first>[0-9]+)/(?P<second>\d+)")
        def sum(self, request: Any, first: Any, second: Any) -> Response:
            """Say both."""
            return Response([first, second])

    publish(Digits, prefix="digits")
    agent = TestAgent(scopes=["*"])
    assert agent.get("/agent/digits_sum?first=1&second=2").json() == ["1", "2"]
    with library.urls(re_path("^", include(library.routed(Digits, "digits")))):
        assert agent.get("/agent/digits_sum?first=1&second=2").json() == ["1", "2"]
