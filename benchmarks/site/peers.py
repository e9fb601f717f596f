"""The peers: a plain view, Django REST framework, django-ninja, django-mcpz. Each validates the same three inputs
and writes the same row; those with a token check it, and ``+ audit`` means a second row."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec
from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django_mcpz.bearer_tokens.auth import token_auth
from django_mcpz.server import MCPServer
from ninja import Field, NinjaAPI, Schema
from rest_framework import serializers
from rest_framework.authentication import TokenAuthentication
from rest_framework.generics import CreateAPIView
from rest_framework.permissions import IsAuthenticated

from benchmarks.site.models import Audit, Order


@csrf_exempt
def plain_order(request: HttpRequest) -> JsonResponse:
    sent = json.loads(request.body)
    product, quantity, note = sent.get("product"), sent.get("quantity"), sent.get("note")
    wrong = {
        name: "bad"
        for name, is_right in {
            "product": isinstance(product, str) and 1 <= len(product) <= 50,
            "quantity": isinstance(quantity, int) and 1 <= quantity <= 20,
            "note": isinstance(note, str) and len(note) <= 200,
        }.items()
        if not is_right
    }
    if wrong or sent.keys() != {"product", "quantity", "note"}:
        return JsonResponse(wrong, status=400)
    return JsonResponse({"id": Order.objects.create(product=product, quantity=quantity, note=note).pk})


class OrderSerializer(serializers.ModelSerializer[Order]):
    quantity = serializers.IntegerField(min_value=1, max_value=20)

    class Meta:
        model = Order
        fields = ("id", "product", "quantity", "note")


class DrfOrder(CreateAPIView[Order]):
    queryset = Order.objects.all()
    serializer_class = OrderSerializer


class DrfTokenOrder(DrfOrder):
    authentication_classes = (TokenAuthentication,)
    permission_classes = (IsAuthenticated,)

    def perform_create(self, serializer: serializers.BaseSerializer[Order]) -> None:
        with transaction.atomic():
            serializer.save()
            Audit.objects.create(user=self.request.user, action="order", status=201)


ninja = NinjaAPI(docs_url=None, openapi_url=None)


class NinjaLine(Schema):
    product: str = Field(min_length=1, max_length=50)
    quantity: int = Field(ge=1, le=20)
    note: str = Field(max_length=200)


@ninja.post("order")
def ninja_order(request: HttpRequest, line: NinjaLine) -> dict[str, Any]:
    return {"id": Order.objects.create(**line.dict()).pk}


mcpz = MCPServer(name="orders", version="1", instructions="Order products.", auth=token_auth)


class McpzLine(msgspec.Struct):
    product: Annotated[str, msgspec.Meta(min_length=1, max_length=50)]
    quantity: Annotated[int, msgspec.Meta(ge=1, le=20)]
    note: Annotated[str, msgspec.Meta(max_length=200)]


class McpzOrdered(msgspec.Struct):
    id: int


@mcpz.tool(description="Order a product.")
def order(request: HttpRequest, params: McpzLine) -> McpzOrdered:
    with transaction.atomic():
        made = Order.objects.create(product=params.product, quantity=params.quantity, note=params.note)
        Audit.objects.create(user=request.user, action="order", status=200)
    return McpzOrdered(id=made.pk)
