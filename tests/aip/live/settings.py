"""Settings of the site with a live page. AGENTWEB_TEST_ORIGIN is where it answers."""

from __future__ import annotations

import os

from tests.settings import *  # noqa: F403

ROOT_URLCONF = "tests.aip.live.urls"
STATIC_URL = "/static/"
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Everything of ours that is not for agents by their own credentials exempts itself.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.middleware.gzip.GZipMiddleware",
]
AGENTWEB = {
    "ORIGIN": os.environ.get("AGENTWEB_TEST_ORIGIN", "https://shop.example"),
    "BRIDGE_SECONDS": 3,
    "CALLER_RATE": (1e6, 10**6),
    "ANONYMOUS_RATE": (1e6, 10**6),
}
