"""A site that is all below its languages, with what is for agents."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

from tests.awp.content.site_in_languages import greeting

urlpatterns = [
    *i18n_patterns(path("greeting/", greeting, name="greeting"), path("", include("agentweb.urls")))
]
