"""The shop's front page, the admin, and everything for agents."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from demo_project.shop import views

urlpatterns = [
    path("", views.front, name="front"),
    path("admin/", admin.site.urls),
    path("", include("agentweb.urls")),
]
