"""Settings of the demo shop. They work as they are; the environment can change what follows.

AGENTWEB_DEMO_DATABASE    path of the SQLite file, or postgresql://user:password@host:port/name
AGENTWEB_DEMO_ORIGIN      what agents call the site; that of the demo which is open on this database, else
                          http://127.0.0.1:8000
AGENTWEB_DEMO_SECRET_KEY  instead of the generated one
AGENTWEB_DEMO_DEBUG       0 to see the site as visitors of a public one would
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from demo_project.database import database
from demo_project.origin import noted_origin
from demo_project.secret import secret_key

BASE_DIR = Path(__file__).resolve().parent
DATABASES = {"default": database(os.environ.get("AGENTWEB_DEMO_DATABASE") or str(BASE_DIR / "demo.sqlite3"))}
ORIGIN = (
    os.environ.get("AGENTWEB_DEMO_ORIGIN")
    or ("sqlite3" in DATABASES["default"]["ENGINE"] and noted_origin(Path(DATABASES["default"]["NAME"])))
    or "http://127.0.0.1:8000"
)

SECRET_KEY = os.environ.get("AGENTWEB_DEMO_SECRET_KEY") or secret_key(BASE_DIR / "demo.sqlite3-secret")
DEBUG = os.environ.get("AGENTWEB_DEMO_DEBUG", "1") == "1"
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", urlsplit(ORIGIN).hostname or "localhost"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sitemaps",
    "django.contrib.staticfiles",
    # Before agentweb, so that the shop's head stands on the pages where people decide about agents.
    "demo_project.shop",
    "agentweb",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "agentweb.middleware.PageLinksMiddleware",
]
ROOT_URLCONF = "demo_project.urls"
WSGI_APPLICATION = "demo_project.wsgi.application"
ASGI_APPLICATION = "demo_project.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "demo_project.shop.context.head",
            ]
        },
    }
]

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# A crash is told where the site was started, also when it is open to everybody.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"terminal": {"class": "logging.StreamHandler"}},
    "loggers": {"django.request": {"handlers": ["terminal"], "level": "ERROR", "propagate": False}},
}

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
STATIC_URL = "static/"

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "front"
LOGOUT_REDIRECT_URL = "front"

AGENTWEB = {
    "ORIGIN": ORIGIN,
    # (requests a second, burst): agents of the demo come from one address and may be brisk.
    "CALLER_RATE": (40, 120),
    "ANONYMOUS_RATE": (40, 120),
    # An agent with a key asks for a grant, and a person decides at /agent-access/connect.
    "GRANT_REQUESTS": True,
    "NEGOTIATOR": "demo_project.shop.bargains.negotiate",
    # NO MONEY MOVES: the test provider only writes down what it would have taken.
    "PAYMENTS": "demo_project.shop.payments.TestPayments",
    "REFUND_POLICY": "demo_project.shop.payments.refund_policy",
    "AWP": {
        "DESCRIPTION": "A small shop for office paper, stationery, tea, books, tools and garden things, with some "
        "goods from Japan that are priced in yen. People buy on its pages, and agents that they let in search, fill a "
        "cart and pay within limits that a person set. It is a demo: no money moves.",
        "SITEMAPS": "demo_project.shop.sitemaps.SITEMAPS",
    },
}
