"""The shop's pages, its REST API, the admin, and everything for agents."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from rest_framework.routers import SimpleRouter

from demo_project.shop import api

reviews = SimpleRouter()
reviews.register("reviews", api.ReviewViewSet, basename="review")

urlpatterns = [
    path("", include("demo_project.shop.urls")),
    path("admin/", admin.site.urls),
    path("api/products/<slug:product>/", include(reviews.urls)),
    path("", include("agentweb.urls")),
]
