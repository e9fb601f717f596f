"""What a view is published as: which actions, under which names, with which inputs; and what is wrong with it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views import View
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import generics, permissions, serializers, viewsets
from rest_framework.authentication import BaseAuthentication, TokenAuthentication
from rest_framework.decorators import action as extra
from rest_framework.decorators import api_view
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response
from rest_framework.versioning import NamespaceVersioning
from rest_framework.views import APIView

from agentweb import action
from agentweb.catalog.drf.view_checks import check_views
from agentweb.catalog.faults import DANGEROUS, FaultId
from agentweb.catalog.registry import registry
from tests.catalog.drf import library
from tests.site.models import Book


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    with registry.only():
        yield


def names(view: Any, **words: Any) -> list[str]:
    """The names of the published actions of a view that has no fault worse than a missing scope."""
    action.from_view(view, **words)
    assert [fault for fault in registry.faults() if fault.is_error] == []
    return [each.name for each in registry.actions()]


def faults(view: Any, **words: Any) -> list[tuple[str, str, str]]:
    action.from_view(view, **words)
    return [
        (fault.id, fault.message, fault.hint) for fault in registry.faults() if fault.id != FaultId.NO_SCOPE
    ]


def schema(name: str) -> Any:
    found = registry.get(name)
    assert found is not None, [each.name for each in registry.actions()]
    return found.input_schema


class Title(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=20)


class Key(serializers.Serializer[Any]):
    key = serializers.UUIDField()


# -- which actions, under which names


def test_a_viewset_is_published_whole_unless_it_is_narrowed() -> None:
    whole = [
        "books_chapter",
        "books_cheap",
        "books_create",
        "books_destroy",
        "books_lend",
        "books_list",
        "books_mark",
        "books_partial_update",
        "books_retrieve",
        "books_set_price",
        "books_unmark",
        "books_update",
    ]
    assert names(library.book_views(), prefix="books") == whole


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"only": ("list", "lend")}, ["books_lend", "books_list"]),
        ({"only": "list"}, ["books_list"]),
        ({"only": (name for name in ["list"])}, ["books_list"]),
        ({"only": ("list", "lend"), "exclude": ("lend",)}, ["books_list"]),
        ({"only": ("list",), "names": {"list": "find_books"}}, ["find_books"]),
        ({"only": ("list",), "name": "find_books"}, ["find_books"]),
    ],
)
def test_only_and_exclude_choose(words: Any, expected: list[str]) -> None:
    assert names(library.book_views(), prefix="books", **words) == expected


def test_what_is_not_chosen_is_nowhere(client: Any, db: None) -> None:
    names(library.book_views(), prefix="books", only=("list",))
    assert client.post("/agent/books_destroy", {}, "application/json").status_code == 404
    assert "destroy" not in client.get("/.well-known/agent-actions.json").content.decode()


def test_a_view_gives_the_prefix() -> None:
    class HTTPOrderViewSet(viewsets.ReadOnlyModelViewSet[Book]):
        queryset = Book.objects.all()
        serializer_class = library.BookSerializer

    assert names(HTTPOrderViewSet) == ["http_order_list", "http_order_retrieve"]


def test_a_view_with_one_method_is_called_by_the_prefix() -> None:
    class StockLevels(APIView):
        """Say what is there."""

        def get(self, request: Any) -> Response:
            return Response({})

    assert names(StockLevels) == ["stock_levels"]


def test_a_view_with_several_methods_says_which() -> None:
    @api_view(["GET", "POST"])
    def basket(request: Any) -> Response:
        """Look into the basket, or empty it."""
        return Response({})

    assert names(basket) == ["basket_get", "basket_post"]
    assert [each.effect for each in registry.actions()] == ["read", "write"]


def test_an_extra_action_of_one_method_for_several_verbs_says_which() -> None:
    class Boxes(viewsets.ViewSet):
        @extra(detail=False, methods=["get", "post"])
        def lid(self, request: Any) -> Response:
            return Response({})

    assert names(Boxes) == ["boxes_lid_get", "boxes_lid_post"]


def test_a_map_of_actions_is_what_as_view_takes() -> None:
    class Boxes(viewsets.ViewSet):
        def open(self, request: Any, pk: str) -> Response:
            return Response({})

        def close(self, request: Any, pk: str) -> Response:
            return Response({})

    assert names(Boxes, actions={"post": "open", "delete": "close"}) == ["boxes_close", "boxes_open"]
    with registry.only():
        assert names(Boxes.as_view({"post": "open"})) == ["boxes_open"]
        assert schema("boxes_open")["required"] == ["pk"]


def test_methods_that_the_view_forbids_are_left_out() -> None:
    class Read(viewsets.ModelViewSet[Book]):
        queryset = Book.objects.all()
        serializer_class = library.BookSerializer
        http_method_names: ClassVar = ["get", "head", "options"]

    assert names(Read, prefix="books") == ["books_list", "books_retrieve"]


def test_the_method_gives_the_effect_and_words_give_another() -> None:
    names(library.book_views(), prefix="books", effects={"lend": "send"}, scopes={"destroy": "books:delete"})
    effects = {each.name.removeprefix("books_"): str(each.effect) for each in registry.actions()}
    assert effects["list"] == effects["retrieve"] == effects["cheap"] == "read"
    assert (
        effects["create"] == effects["update"] == effects["partial_update"] == effects["set_price"] == "write"
    )
    assert effects["destroy"] == effects["unmark"] == "delete"
    assert effects["lend"] == "send"
    found = registry.get("books_destroy")
    assert found is not None
    assert found.scope == "books:delete"
    assert found.consequential
    without = {fault.obj.rpartition(".")[2] for fault in registry.faults() if fault.id == FaultId.NO_SCOPE}
    assert without == {"create", "update", "partial_update", "lend", "set_price", "unmark"}


def test_a_name_like_paying_or_sending_is_asked_about() -> None:
    class Orders(viewsets.ViewSet):
        @extra(detail=True, methods=["post"])
        def pay(self, request: Any, pk: str) -> Response:
            return Response({})

        @extra(detail=True, methods=["post", "delete"])
        def invite(self, request: Any, pk: str) -> Response:
            return Response({})

        @extra(detail=False, methods=["post"])
        def paying(self, request: Any) -> Response:
            return Response({})

    asked = [each[1:] for each in faults(Orders) if each[0] == FaultId.VIEW_EFFECT]
    assert [each[0].split("'")[1] for each in asked] == ["orders_invite_post", "orders_pay"]
    assert "effects={'pay': 'spend'}" in asked[1][1]
    with registry.only():
        assert faults(
            Orders, effects={"pay": "spend", "invite_post": "write"}, cost={"amount": 1, "currency": "EUR"}
        )
    with registry.only():
        faults(Orders, effects={"pay": "write", "invite_post": "send"})
        assert FaultId.VIEW_EFFECT not in {fault.id for fault in registry.faults()}


def test_two_views_that_give_one_name_are_a_fault() -> None:
    names(library.book_views(), prefix="books", only="list")
    assert [fault[0] for fault in faults(library.book_views(), prefix="books", only="list")] == [
        FaultId.DUPLICATE_ACTION
    ]


def test_descriptions_come_from_the_site_s_words() -> None:
    names(library.book_views(), prefix="books", descriptions={"mark": "Say whether a book is marked."})
    said = {each.name.removeprefix("books_"): each.description for each in registry.actions()}
    assert said["list"] == "List books. Books of the library."
    assert said["destroy"] == "Delete one book. Books of the library."
    assert said["lend"] == "Lend a book out."
    assert said["mark"] == "Say whether a book is marked."
    assert said["set_price"] == "Set price: one book. Books of the library."


def test_words_of_the_framework_describe_nothing() -> None:
    class Shelf(generics.ListAPIView[Book]):
        queryset = Book.objects.all()
        serializer_class = library.BookSerializer

    names(Shelf)
    found = registry.get("shelf")
    assert found is not None
    assert found.description == "List books."


# -- inputs


def test_a_serializer_by_action_is_followed() -> None:
    class Books(viewsets.ModelViewSet[Book]):
        queryset = Book.objects.all()

        def get_serializer_class(self) -> Any:
            return Title if self.action == "create" else Key

    names(Books, prefix="books", only=("create", "update"))
    assert set(schema("books_create")["properties"]) == {"title"}
    assert set(schema("books_update")["properties"]) == {"pk", "key"}


def test_a_serializer_by_request_is_asked_for() -> None:
    """Without a request nobody can say which; what is not known is not published, and the rest is."""

    class Books(viewsets.ModelViewSet[Book]):
        queryset = Book.objects.all()

        def get_serializer_class(self) -> Any:
            return Key if self.request.user.is_staff else Title

    found = faults(Books, prefix="books")
    assert [(each[0], each[1].partition(" cannot")[0]) for each in found] == [
        (FaultId.VIEW_INPUT, "The input of 'books_create'"),
        (FaultId.VIEW_INPUT, "The input of 'books_update'"),
        (FaultId.VIEW_INPUT, "The input of 'books_partial_update'"),
    ]
    assert "'NoneType' object has no attribute 'user'" in found[0][1]
    assert "inputs={'create':" in found[0][2]
    assert [each.name for each in registry.actions()] == ["books_destroy", "books_list", "books_retrieve"]
    with registry.only():
        said = {"create": Title, "update": Title, "partial_update": Title}
        assert "books_create" in names(Books, prefix="books", inputs=said)
        assert schema("books_create")["properties"]["title"]["maxLength"] == 20
        assert schema("books_update")["required"] == ["pk", "title"]


def test_a_serializer_by_request_answers_when_it_is_named(db: None) -> None:
    class Books(viewsets.ModelViewSet[Book]):
        queryset = Book.objects.all()

        def get_serializer_class(self) -> Any:
            return Key if self.request.user.is_staff else Title

        def perform_create(self, serializer: Any) -> None:
            pass

    from agentweb.testing import TestAgent

    staff = library.people().staff
    names(Books, prefix="books", inputs={"create": {"type": "object"}}, only="create")
    assert TestAgent(scopes=["*"]).post("/agent/books_create", {"title": "x"}).json() == {"title": "x"}
    key = "00000000-0000-4000-8000-000000000042"
    assert TestAgent(scopes=["*"], user=staff).post("/agent/books_create", {"key": key}).json() == {
        "key": key
    }


def test_ids_have_the_one_type_of_the_models_column_also_without_a_queryset() -> None:
    class Books(viewsets.ReadOnlyModelViewSet[Book]):
        serializer_class = library.BookSerializer

        def get_queryset(self) -> Any:
            return Book.objects.filter(owner=self.request.user)

    names(Books, prefix="books")
    by_row = {"type": "integer", "description": "By id: book."}
    assert schema("books_retrieve")["properties"]["pk"] == by_row

    class BySlug(Books):
        lookup_field = "slug"

    class ByKey(Books):
        lookup_field, lookup_url_kwarg = "key", "book"

    class Unknown(viewsets.ViewSet):
        """Things."""

        def retrieve(self, request: Any, pk: Any = None) -> Response:
            return Response({})

    with registry.only():
        names(BySlug, prefix="books")
        assert schema("books_retrieve")["properties"]["slug"]["type"] == "string"
        names(ByKey, prefix="keys")
        assert schema("keys_retrieve")["properties"]["book"]["format"] == "uuid"
        names(Unknown, prefix="things")
        assert schema("things_retrieve")["properties"]["pk"] == {"type": "string"}
        names(Books, prefix="stated", only=["retrieve"], inputs={"retrieve": None})
        assert schema("stated_retrieve")["properties"]["pk"] == by_row


def test_a_body_of_which_nothing_is_said_is_asked_for() -> None:
    class Basket(APIView):
        """Fill it."""

        def post(self, request: Any) -> Response:
            return Response(request.data)

    [found] = faults(Basket)
    assert found[0] == FaultId.VIEW_INPUT
    assert "nothing says what that is" in found[1]
    for given in (Title, {"type": "object", "properties": {"title": {"type": "string"}}}):
        with registry.only():
            names(Basket, input=given)
            assert set(schema("basket")["properties"]) == {"title"}
    with registry.only():
        names(Basket, input=None)
        assert schema("basket")["properties"] == {}


def test_a_view_that_reads_no_json_is_said_to() -> None:
    class Upload(APIView):
        """Take a file."""

        parser_classes = (MultiPartParser,)

        def post(self, request: Any) -> Response:
            return Response({})

    [found] = faults(Upload, input=Title)
    assert found[0] == FaultId.VIEW_INPUT
    assert "none of the view's parsers takes it" in found[1]
    with registry.only():
        assert names(Upload, input=None) == ["upload"]


def test_a_handler_that_reads_nothing_takes_nothing() -> None:
    """The serializer of a whole ViewSet is not what each of its extra actions takes."""

    class Books(viewsets.GenericViewSet[Book]):
        queryset = Book.objects.all()
        serializer_class = library.BookSerializer

        @extra(detail=True, methods=["post"])
        def close(self, request: Any, pk: Any = None) -> Response:
            return Response({"closed": self.get_object().pk})

        @extra(detail=True, methods=["post"], serializer_class=None)
        def open(self, request: Any, pk: Any = None) -> Response:
            return Response({})

        @extra(detail=True, methods=["post"])
        def rename(self, request: Any, pk: Any = None) -> Response:
            asked = self.get_serializer(data=request.data)
            asked.is_valid(raise_exception=True)
            return Response({})

        @extra(detail=True, methods=["post"], serializer_class=Title)
        def retitle(self, request: Any, pk: Any = None) -> Response:
            return Response(request.data)

        @extra(detail=True, methods=["post"])
        def anything(self, request: Any, pk: Any = None) -> Response:
            return Response(request.data)

    found = faults(Books, prefix="books")
    assert [each[0] for each in found] == [FaultId.VIEW_INPUT]
    assert "books_anything" in found[0][1]
    assert list(schema("books_close")["properties"]) == ["pk"]
    assert list(schema("books_open")["properties"]) == ["pk"]
    assert "writer" in schema("books_rename")["properties"]
    assert set(schema("books_retitle")["properties"]) == {"pk", "title"}


def test_a_partial_update_requires_nothing_at_any_depth() -> None:
    names(library.book_views(), prefix="books", only="partial_update")
    found = schema("books_partial_update")
    assert found["required"] == ["pk"]
    assert "required" not in found["properties"]["writer"]
    assert found["properties"]["writer"]["additionalProperties"] is False


def test_inputs_are_closed_and_say_what_the_url_and_the_filters_take() -> None:
    names(library.book_views(), prefix="books")
    assert schema("books_list") == {
        "type": "object",
        "properties": {
            "ordering": {"type": "string", "description": "Which field to use when ordering the results."},
            "page": {"type": "integer", "description": "A page number within the paginated result set."},
            **(
                {"price__gte": {"type": "number"}, "price__lte": {"type": "number"}}
                if library.FILTERS
                else {}
            ),
            "search": {"type": "string", "description": "A search term."},
            "size": {"type": "integer", "description": "Number of results to return per page."},
            **({"slug": {"type": "string"}} if library.FILTERS else {}),
        },
        "additionalProperties": False,
    }
    assert schema("books_cheap")["properties"].keys() == schema("books_list")["properties"].keys()
    assert schema("books_chapter")["properties"]["chapter"]["type"] == "integer"


def test_the_hints_of_a_handler_say_what_its_url_takes() -> None:
    from uuid import UUID

    class Count(APIView):
        """Count."""

        def get(
            self, request: Any, writer: int, key: UUID, name: str, part: int = 1, format: Any = None
        ) -> Response:
            return Response({})

    names(Count)
    assert schema("count") == {
        "type": "object",
        "properties": {
            "writer": {"type": "integer", "minimum": 0},
            "key": {"type": "string", "format": "uuid"},
            "name": {"type": "string"},
            "part": {"type": "integer", "minimum": 0},
        },
        "required": ["writer", "key", "name"],
        "additionalProperties": False,
    }


def test_what_extend_schema_says_counts_whatever_the_site_s_default_is() -> None:
    """The default schema class of a site is DRF's own unless it chose drf-spectacular's."""

    class Books(viewsets.GenericViewSet[Book]):
        queryset = Book.objects.all()

        @extend_schema(request=Title, parameters=[OpenApiParameter("loud", bool, required=True)])
        @extra(detail=False, methods=["post"])
        def say(self, request: Any) -> Response:
            return Response(request.data)

        @extend_schema(request=None)
        @extra(detail=False, methods=["post"])
        def hush(self, request: Any) -> Response:
            return Response(request.data)

    names(Books, prefix="books")
    assert schema("books_say")["required"] == ["loud", "title"]
    assert schema("books_say")["properties"]["loud"] == {"type": "boolean"}
    assert schema("books_hush")["properties"] == {}


def test_extend_schema_is_read_wherever_it_stands() -> None:
    @extend_schema(request=Title)
    class Basket(APIView):
        """Fill it."""

        def post(self, request: Any) -> Response:
            return Response(request.data)

    @extend_schema(request=Key)
    @api_view(["POST"])
    def key(request: Any) -> Response:
        """Take a key."""
        return Response(request.data)

    @extend_schema_view(create=extend_schema(request=Key))
    class Books(viewsets.ModelViewSet[Book]):
        queryset = Book.objects.all()
        serializer_class = Title

    names(Basket)
    names(key)
    names(Books, prefix="books")
    assert schema("basket")["required"] == ["title"]
    assert schema("key")["required"] == ["key"]
    assert schema("books_create")["required"] == ["key"]
    assert schema("books_update")["required"] == ["pk", "title"]


def test_publishing_leaves_the_view_and_drf_spectacular_as_they_were() -> None:
    view = library.book_views()
    before = (
        dict(vars(view)),
        inspect.getattr_static(view, "schema"),
        dict(GENERATOR_STATS._warn_cache),
        dict(GENERATOR_STATS._error_cache),
    )
    names(view, prefix="books")
    assert (
        dict(vars(view)),
        inspect.getattr_static(view, "schema"),
        dict(GENERATOR_STATS._warn_cache),
        dict(GENERATOR_STATS._error_cache),
    ) == before


def test_a_site_without_views_does_not_load_drf_spectacular() -> None:
    code = (
        "import django; from django.conf import settings; settings.configure(INSTALLED_APPS=['django.contrib.auth', "
        "'django.contrib.contenttypes', 'agentweb']); django.setup(); import sys; "
        "assert 'drf_spectacular' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- faults


def plain(request: HttpRequest) -> HttpResponse:
    return JsonResponse({})


class Nothing(View):
    """Answers nothing."""


@pytest.mark.parametrize(
    ("view", "words", "kind", "part"),
    [
        ("books", {}, FaultId.VIEW, "is not a view"),
        (int, {}, FaultId.VIEW, "int is neither a view of DRF nor one of Django"),
        (Nothing, {}, FaultId.VIEW, "answers none of"),
        (plain, {}, FaultId.VIEW_INPUT, "does not say what it takes"),
        (plain, {"input": None, "methods": ("LOOK",)}, FaultId.VIEW, "look is no method"),
        (None, {"only": ("lst",)}, FaultId.VIEW, "only names 'lst'"),
        (None, {"only": 3}, FaultId.VIEW, "only names 3"),
        (None, {"initkwargs": {"colour": "red"}}, FaultId.VIEW, "takes no colour in as_view()"),
        (None, {"exclude": ("destory",)}, FaultId.VIEW, "exclude names 'destory'"),
        (None, {"effects": {"destory": "delete"}}, FaultId.VIEW, "effects names 'destory'"),
        (None, {"scopes": "books:write"}, FaultId.VIEW, "is no dict"),
        (None, {"only": ("list",), "exclude": ("list",)}, FaultId.VIEW, "leave nothing"),
        (None, {"name": "books"}, FaultId.VIEW, "several actions"),
        (None, {"effects": {"list": "reed"}, "only": ("list",)}, FaultId.EFFECT, "'reed' is not an effect"),
        (None, {"prefix": "Books", "only": ("list",)}, FaultId.ACTION_NAME, "Books_list"),
        (None, {"inputs": {"create": {"type": 3}}, "only": ("create",)}, FaultId.SCHEMA, "not valid"),
    ],
)
def test_what_is_written_wrongly_is_a_fault(view: Any, words: Any, kind: str, part: str) -> None:
    found = faults(view or library.book_views(), **words)
    assert [each[0] for each in found] == [kind]
    assert part in found[0][1]
    assert registry.actions() == ()


def test_a_slip_in_the_choice_keeps_the_site_from_starting() -> None:
    """``exclude=["destory"]`` would publish what was to stay away."""
    assert FaultId.VIEW in DANGEROUS


# -- against the URLconf


def messages(view: Any, *patterns: Any, **words: Any) -> list[tuple[str, str]]:
    names(view, **words)
    with library.urls(*patterns):
        return [(message.id, message.obj.rpartition(".")[2]) for message in check_views()]


class Either(APIView):
    """Either."""

    def get(self, request: Any, name: str) -> Response:
        return Response({})


class Passing(APIView):
    """Takes what its URL has."""

    def get(self, request: Any, **kwargs: Any) -> Response:
        return Response(kwargs)


def test_a_routed_view_is_well() -> None:
    view = library.book_views()
    assert messages(view, *library.routed(view), prefix="books") == []
    with registry.only():
        assert (
            messages(Either, path("e/<name>/", Either.as_view()), path("f/<name>/", Either.as_view())) == []
        )


def test_a_url_that_holds_more_than_the_input_is_reported() -> None:
    assert messages(Passing, path("e/<name>/", Passing.as_view())) == [("agentweb.W051", "get")]
    with registry.only():
        words = {"url_kwargs": {"name": {"type": "string"}}}
        assert messages(Passing, path("e/<name>/", Passing.as_view()), **words) == []


def test_two_different_ways_to_a_view_are_reported() -> None:
    patterns = (path("e/<name>/", Either.as_view()), path("f/<name>/", login_required(Either.as_view())))
    assert messages(Either, *patterns) == [("agentweb.W052", "get")]


def test_two_versions_of_a_view_are_two_ways() -> None:
    class Versioned(APIView):
        """Of a version."""

        versioning_class = NamespaceVersioning

        def get(self, request: Any) -> Response:
            return Response({})

    routes = [path("thing/", Versioned.as_view(), name="thing")]
    patterns = [path(f"{name}/", include((routes, name), namespace=name)) for name in ("v1", "v2")]
    assert messages(Versioned, *patterns) == [("agentweb.W052", "get")]
    with registry.only():
        assert messages(Versioned, patterns[0]) == []


def test_an_action_that_http_does_not_have_is_reported() -> None:
    view = library.book_views()
    patterns = [path("books/", view.as_view({"get": "list"}))]
    assert messages(view, *patterns, prefix="books", only=("list", "destroy")) == [
        ("agentweb.W053", "destroy")
    ]
    with registry.only():
        # Where nothing of the view is routed, all of it is said to be agents' alone.
        assert messages(view, prefix="books", only=("list", "destroy")) == [
            ("agentweb.W057", "destroy"),
            ("agentweb.W057", "list"),
        ]


def test_authenticators_that_may_not_know_people_are_reported() -> None:
    class Services(BaseAuthentication):
        def authenticate(self, request: Any) -> None:
            return None

    class Internal(Passing):
        authentication_classes = (Services,)

    class Both(Passing):
        authentication_classes = (Services, TokenAuthentication)

    class Nobody(Passing):
        authentication_classes = ()

    for view, expected in ((Internal, [("agentweb.W058", "get")]), (Both, []), (Nobody, [])):
        with registry.only():
            assert messages(view, path("e/", view.as_view())) == expected
    with registry.only():
        route = path("e/", Passing.as_view(authentication_classes=[Services]))
        assert messages(Passing, route) == [("agentweb.W058", "get")]


def test_an_action_that_is_routed_by_another_callable_is_not_called_unrouted() -> None:
    view = library.book_views()
    own = view.as_view({"get": "list"})
    assert ("agentweb.W053", "list") not in messages(own, *library.routed(view), prefix="n")
    with registry.only():
        patterns = [path("books/", view.as_view({"get": "list"}))]
        assert messages(view.as_view({"delete": "destroy"}), *patterns, prefix="n") == [
            ("agentweb.W053", "destroy")
        ]


def scopeless(view: Any, **words: Any) -> list[str]:
    """Why reads of a view should have a scope."""
    return [message for ident, message, _ in faults(view, **words) if ident == FaultId.VIEW_SCOPE]


def test_a_read_whose_answer_depends_on_the_person_asks_for_a_scope() -> None:
    class Own(viewsets.ReadOnlyModelViewSet[Book]):
        serializer_class = library.BookSerializer
        queryset = Book.objects.all()
        permission_classes = (permissions.IsAuthenticated,)

    class ByUser(viewsets.ReadOnlyModelViewSet[Book]):
        serializer_class = library.BookSerializer
        permission_classes = (permissions.AllowAny,)

        def get_queryset(self) -> Any:
            return Book.objects.filter(owner=self.request.user)

    class Guarded(LoginRequiredMixin, View):
        def get(self, request: HttpRequest) -> HttpResponse:
            """Guarded."""
            return JsonResponse({})

    [first, second] = scopeless(Own, prefix="books")
    assert "'books_list' has no scope" in first
    assert "its permission IsAuthenticated is not open to everybody" in first
    assert "'books_retrieve' has no scope" in second
    with registry.only():
        assert scopeless(Own, prefix="books", scopes=dict.fromkeys(("list", "retrieve"), "books:read")) == []
    with registry.only():
        assert all("get_queryset reads request.user" in each for each in scopeless(ByUser, prefix="books"))
    with registry.only():
        [found] = scopeless(Guarded, input=None)
        assert "it asks for a login" in found
    with registry.only():

        @login_required
        def behind(request: HttpRequest) -> HttpResponse:
            """Behind a login."""
            return JsonResponse({})

        [found] = scopeless(behind, input=None)
        assert "a decorator around it asks for a login" in found


def test_a_read_that_is_the_same_for_everybody_needs_no_scope() -> None:
    class ReadsForAll(permissions.BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            return request.method in permissions.SAFE_METHODS

    class Open(viewsets.ReadOnlyModelViewSet[Book]):
        serializer_class = library.BookSerializer
        queryset = Book.objects.all()
        permission_classes = (ReadsForAll, library.OwnerOrReadOnly)

        @extra(detail=True)
        def reader(self, request: Any, pk: Any = None) -> Response:
            user = self.get_object().owner
            return Response({"of": request.version, "user": user.user_permissions, "who": user})

    assert scopeless(Open, prefix="open") == []
    with registry.only():
        # Its permission is IsAuthenticatedOrReadOnly, and what needs a person is no read.
        assert scopeless(library.book_views(), prefix="books") == []


def unpublished(view: Any, **words: Any) -> list[tuple[str, str]]:
    return [(message, hint) for ident, message, hint in faults(view, **words) if ident == FaultId.VIEW_QUERY]


def test_query_parameters_that_only_the_code_knows_are_asked_for() -> None:
    class Notes(viewsets.ViewSet):
        """Notes."""

        @extra(detail=False)
        def recent(self, request: Any) -> Response:
            return Response({"mine": request.query_params.get("mine")})

    class Filtered(viewsets.ReadOnlyModelViewSet[Book]):
        serializer_class = library.BookSerializer

        def get_queryset(self) -> Any:
            found = Book.objects.all()
            if self.request.query_params.get("cheap"):
                found = found.filter(price__lt=10)
            return found

    class Said(Filtered):
        @extend_schema(parameters=[OpenApiParameter("cheap", bool)])
        def list(self, request: Any, *args: Any, **kwargs: Any) -> Response:
            """Books."""
            return super().list(request, *args, **kwargs)

    [(message, hint)] = unpublished(Notes, prefix="notes")
    assert message.startswith("'notes_recent': recent reads the query string by itself")
    assert "@extend_schema(parameters=[OpenApiParameter('mine', bool)])" in hint
    assert "inputs={'recent': {" in hint
    given = {"recent": {"type": "object", "properties": {"mine": {"type": "boolean"}}}}
    with registry.only():
        assert unpublished(Notes, prefix="notes", inputs=given) == []
    with registry.only():
        assert len(unpublished(Filtered, prefix="books")) == 2
    with registry.only():
        assert unpublished(Said, prefix="books", only=["list"]) == []
        assert schema("books_list")["properties"] == {"cheap": {"type": "boolean"}}


def test_sharing_and_publishing_sound_like_sending() -> None:
    class Notes(viewsets.ViewSet):
        """Notes of the club."""

        @extra(detail=True, methods=["post"])
        def share(self, request: Any, pk: Any = None) -> Response:
            return Response({})

    found = [ident for ident, _, _ in faults(Notes, prefix="note")]
    assert found == [FaultId.VIEW_EFFECT]
    said = registry.get("note_share")
    assert said is not None
    assert said.description == "Share: one note. Notes of the club."
