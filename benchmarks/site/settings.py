"""What startproject writes, the contestants' apps, and limits that no load meets."""

from __future__ import annotations

import json
import os

SECRET_KEY = "only-for-benchmarks-0123456789-0123456789-0123456789"  # noqa: S105
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
USE_TZ = True
ROOT_URLCONF = "benchmarks.site.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "rest_framework.authtoken",
    "django_mcpz",
    "django_mcpz.bearer_tokens",
    "agentweb",
    "benchmarks.site",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
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
DATABASES = {"default": json.loads(os.environ["BENCHMARKS_DATABASE"])}
SILENCED_SYSTEM_CHECKS = ["agentweb.W030", "agentweb.W031", "agentweb.W032"]
AGENTWEB = {
    "ORIGIN": "http://127.0.0.1",
    "CALLER_RATE": (1_000_000, 1_000_000),
    "ANONYMOUS_RATE": (1_000_000, 1_000_000),
    "MESSAGE_RATE": (1_000_000, 1_000_000),
    "MESSAGES_PER_DAY": 100_000_000,
    "NEW_CONTACTS_PER_DAY": 1_000_000,
}
LOGGING = {"version": 1, "disable_existing_loggers": False}
