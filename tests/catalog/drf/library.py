"""An API about books, made afresh for every test: once published to agents, and once as it would be without them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.auth import get_user_model
from django.test import override_settings
from django.urls import clear_url_caches, include, path
from rest_framework import filters, mixins, pagination, permissions, serializers, viewsets
from rest_framework.decorators import action as extra
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from tests.site.models import Book, Writer

try:
    from django_filters.rest_framework import DjangoFilterBackend
except ImportError:  # a site need not have it
    DjangoFilterBackend = None

FILTERS: list[Any] = [] if DjangoFilterBackend is None else [DjangoFilterBackend]


class WriterSerializer(serializers.ModelSerializer[Writer]):
    class Meta:
        model = Writer
        fields: ClassVar = ["name"]


class BookSerializer(serializers.ModelSerializer[Book]):
    writer = WriterSerializer()

    class Meta:
        model = Book
        fields: ClassVar = ["id", "slug", "title", "price", "published", "added", "key", "writer"]

    def create(self, validated_data: dict[str, Any]) -> Book:
        writer, _ = Writer.objects.get_or_create(**validated_data.pop("writer"))
        return Book.objects.create(writer=writer, **validated_data)

    def update(self, instance: Book, validated_data: dict[str, Any]) -> Book:
        writer = validated_data.pop("writer", None)
        if writer is not None:
            instance.writer, _ = Writer.objects.get_or_create(**writer)
        return super().update(instance, validated_data)


class PriceSerializer(serializers.Serializer[Any]):
    price = serializers.DecimalField(max_digits=7, decimal_places=2, min_value=Decimal(0))


class Pages(pagination.PageNumberPagination):
    page_size = 2
    page_size_query_param = "size"


class OwnerOrReadOnly(permissions.BasePermission):
    message = "Only its owner may change a book."

    def has_object_permission(self, request: Any, view: Any, obj: Book) -> bool:
        return request.method in permissions.SAFE_METHODS or obj.owner_id == request.user.pk


def book_views() -> type[viewsets.ModelViewSet[Book]]:
    """A ViewSet with everything that a ViewSet can have."""

    class BookViewSet(viewsets.ModelViewSet[Book]):
        """Books of the library."""

        queryset = Book.objects.select_related("writer").order_by("id")
        serializer_class = BookSerializer
        permission_classes = (permissions.IsAuthenticatedOrReadOnly, OwnerOrReadOnly)
        pagination_class = Pages
        filter_backends = (*FILTERS, filters.SearchFilter, filters.OrderingFilter)
        filterset_fields: ClassVar = {"price": ["lte", "gte"], "slug": ["exact"]}
        search_fields: ClassVar = ["title"]
        ordering_fields: ClassVar = ["price", "title"]

        def perform_create(self, serializer: Any) -> None:
            serializer.save(owner=self.request.user)

        @extra(detail=True, methods=["post"])
        def lend(self, request: Any, pk: Any = None) -> Response:
            """Lend a book out."""
            return Response({"lent": self.get_object().slug, "to": request.user.get_username()})

        @extra(
            detail=True,
            methods=["post"],
            serializer_class=PriceSerializer,
            permission_classes=[permissions.IsAdminUser],
            url_path="set-price",
        )
        def set_price(self, request: Any, pk: Any = None) -> Response:
            book = self.get_object()
            asked = self.get_serializer(data=request.data)
            asked.is_valid(raise_exception=True)
            book.price = asked.validated_data["price"]
            book.save()
            return Response(BookSerializer(book).data)

        @extra(detail=False)
        def cheap(self, request: Any) -> Response:
            """The books that cost less than 10."""
            found = self.paginate_queryset(self.filter_queryset(self.get_queryset().filter(price__lt=10)))
            return self.get_paginated_response(self.get_serializer(found, many=True).data)

        @extra(detail=True, url_path=r"chapters/(?P<chapter>\d+)")
        def chapter(self, request: Any, pk: Any = None, chapter: Any = None) -> Response:
            return Response({"book": self.get_object().slug, "chapter": chapter})

        @extra(detail=True, methods=["get"])
        def mark(self, request: Any, pk: Any = None) -> Response:
            return Response({"marked": False})

        @mark.mapping.delete
        def unmark(self, request: Any, pk: Any = None) -> Response:
            return Response(status=204)

    return BookViewSet


class CreateOnly(mixins.CreateModelMixin, viewsets.GenericViewSet[Book]):
    """A base for views that tests complete."""


def people() -> SimpleNamespace:
    make = get_user_model().objects.create_user
    return SimpleNamespace(ada=make("ada"), bob=make("bob"), staff=make("sam", is_staff=True))


def books(owner: Any, count: int = 5) -> list[Book]:
    writer = Writer.objects.create(name="Lovelace")
    return [
        Book.objects.create(
            slug=f"book-{number}",
            title=f"Volume {number}",
            price=Decimal(f"{number * 4}.50"),
            published=date(1843, 7, number),
            added=datetime(2026, 1, number, 12, 30, tzinfo=UTC),
            key=UUID(int=number),
            writer=writer,
            owner=owner,
        )
        for number in range(1, count + 1)
    ]


def routed(viewset: Any, prefix: str = "books", **options: Any) -> list[Any]:
    """The patterns of a ViewSet under ``/api/<prefix>/``."""
    router = SimpleRouter(**options)
    router.register(prefix, viewset, basename=prefix)
    return [path("api/", include(router.urls))]


@contextmanager
def urls(*patterns: Any) -> Iterator[None]:
    """A site with these patterns and agentweb's."""
    module: Any = ModuleType("tests_library_urls")
    module.urlpatterns = [path("", include("agentweb.urls")), *patterns]
    sys.modules[module.__name__] = module
    try:
        with override_settings(ROOT_URLCONF=module.__name__):
            clear_url_caches()
            yield
    finally:
        clear_url_caches()
        del sys.modules[module.__name__]


@contextmanager
def site(viewset: Any, prefix: str = "books") -> Iterator[None]:
    with urls(*routed(viewset, prefix)):
        yield
