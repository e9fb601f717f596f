"""What mypy's plugin for Django knows the models by: those of the test site and those of the demo shop."""

from __future__ import annotations

from pathlib import Path

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS as _APPS

BASE_DIR = Path(__file__).parent
ORIGIN = "http://127.0.0.1:8000"
INSTALLED_APPS = [*_APPS, "django.contrib.staticfiles", "demo_project.shop"]
STATIC_URL = "/static/"
