"""An address for every contestant."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path

from agentweb.agent_actions.manifest import manifest
from agentweb.catalog.registry import registry
from benchmarks.site import peers

_DOCUMENT = manifest(
    actions=registry.actions(), flows=registry.flows(), site="127.0.0.1", keys=[], endpoints={}
)


def bare_document(request: HttpRequest) -> HttpResponse:
    """A document like the manifest, by the least that Django needs."""
    return JsonResponse(_DOCUMENT)


urlpatterns = [
    path("plain/order", peers.plain_order),
    path("drf/order", peers.DrfOrder.as_view()),
    path("drf-token/order", peers.DrfTokenOrder.as_view()),
    path("ninja/", peers.ninja.urls),
    path("mcpz", peers.mcpz),
    path("bare/document", bare_document),
    path("", include("agentweb.urls")),
]
