"""Front door: the URLs of every room that is on, for ``path("", include("agentweb.urls"))``."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
