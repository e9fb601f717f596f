"""A site with a page to log in, the pages for people and their style sheet."""

from __future__ import annotations

from pathlib import Path

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path
from django.views.static import serve

import agentweb

urlpatterns = [
    path("accounts/login/", LoginView.as_view()),
    path("accounts/logout/", LogoutView.as_view(next_page="/accounts/login/")),
    path("static/<path:path>", serve, {"document_root": Path(agentweb.__file__).parent / "static"}),
    path("", include("agentweb.urls")),
]
