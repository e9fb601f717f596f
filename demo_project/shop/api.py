"""The shop's REST API: reviews of products, as its own pages and apps would use them. It knows nothing of agents."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import mixins, permissions, renderers, serializers, viewsets
from rest_framework.filters import OrderingFilter
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

from demo_project.shop.models import Product, Review


class ReviewSerializer(serializers.ModelSerializer[Review]):
    author = serializers.CharField(source="author.get_username", read_only=True)
    stars = serializers.IntegerField(min_value=1, max_value=5, help_text="1 is poor, 5 is excellent.")

    class Meta:
        model = Review
        fields = ("id", "author", "stars", "text", "written_at")


class AuthorOrReadOnly(permissions.IsAuthenticatedOrReadOnly):
    """Everybody reads, people who are logged in write, and each may only delete what is theirs."""

    message = "Log in to write a review; delete none but your own."

    def has_object_permission(self, request: Request, view: Any, obj: Review) -> bool:
        return request.method in permissions.SAFE_METHODS or obj.author_id == request.user.pk


class Pages(PageNumberPagination):
    page_size = 20


class ReviewViewSet(
    mixins.ListModelMixin,
    mixins.CreateModelMixin,
    mixins.DestroyModelMixin,
    viewsets.GenericViewSet[Review],
):
    """What people think of a product."""

    queryset = Review.objects.select_related("author")
    serializer_class = ReviewSerializer
    permission_classes = (AuthorOrReadOnly,)
    pagination_class = Pages
    filter_backends = (OrderingFilter,)
    ordering_fields = ("stars", "written_at")
    renderer_classes = (renderers.JSONRenderer,)

    def get_queryset(self) -> QuerySet[Review]:
        return super().get_queryset().filter(product=self.kwargs["product"])

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        get_object_or_404(Product, pk=kwargs["product"])
        return super().list(request, *args, **kwargs)

    def perform_create(self, serializer: serializers.BaseSerializer[Review]) -> None:
        product = get_object_or_404(Product, pk=self.kwargs["product"])
        try:
            with transaction.atomic():
                serializer.save(product=product, author=self.request.user)
        except IntegrityError:
            raise serializers.ValidationError(
                "You have reviewed this product already. Delete that review first.", code="already_reviewed"
            ) from None
