"""The shop's pages, its REST API, the admin, and everything for agents."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.sitemaps.views import sitemap
from django.urls import include, path
from rest_framework.routers import SimpleRouter

from demo_project.shop import api
from demo_project.shop.sitemaps import SITEMAPS

reviews = SimpleRouter()
reviews.register("reviews", api.ReviewViewSet, basename="review")

urlpatterns = [
    path("", include("demo_project.shop.urls")),
    path("admin/", admin.site.urls),
    path("sitemap.xml", sitemap, {"sitemaps": SITEMAPS}, name="sitemap"),
    path("api/products/<slug:product>/", include(reviews.urls)),
    path("", include("agentweb.urls")),
]
