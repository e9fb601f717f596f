"""A site with the index, which is off unless a site names it."""

from django.contrib import admin
from django.urls import include, path

from agentweb.index import urls as index

urlpatterns = [path("admin/", admin.site.urls), *index.urlpatterns, path("", include("agentweb.urls"))]
