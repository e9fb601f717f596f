"""A site with nothing but agentweb."""

from __future__ import annotations

import json
import os

from benchmarks.retaining import DATABASE

SECRET_KEY = "x" * 50
USE_TZ = True
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "agentweb"]
DATABASES = {"default": json.loads(os.environ[DATABASE])}
ROOT_URLCONF = "agentweb.urls"
AGENTWEB = {"ORIGIN": "http://127.0.0.1", "EVENTS_DAYS": 30}
