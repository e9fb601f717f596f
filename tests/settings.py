"""Settings of the test site. AGENTWEB_TEST_DB=postgres runs the suite on PostgreSQL instead of SQLite."""

from __future__ import annotations

import os
from pathlib import Path

SECRET_KEY = "only-for-tests-0123456789-0123456789-0123456789"
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
ROOT_URLCONF = "tests.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.admin",
    "agentweb",
    "tests.site",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# AGENTWEB_TEST_DB_NAME is set by tests that start processes of their own on a database of their own.
_NAME = os.environ.get("AGENTWEB_TEST_DB_NAME")
if os.environ.get("AGENTWEB_TEST_DB") == "postgres":
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _NAME or "postgres",
            "USER": os.environ.get("PGUSER", "postgres"),
            "PASSWORD": os.environ.get("PGPASSWORD", ""),
            "HOST": os.environ.get("PGHOST", "127.0.0.1"),
            "PORT": os.environ.get("PGPORT", "5432"),
            "TEST": {"NAME": f"test_agentweb_{os.getpid()}"},
        }
    }
else:
    # Deliberately a site's default options: what must hold, must hold with them.
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": _NAME or str(Path(__file__).parent / "tests.sqlite3"),
        }
    }

AGENTWEB = {"ORIGIN": "https://shop.example"}
