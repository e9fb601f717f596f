"""A site that has addresses beside those of the messenger."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def own(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"own")


urlpatterns = [
    path("", include("agentweb.urls")),
    path("v2/products", own),
    path("docs/handbook", own),
]
