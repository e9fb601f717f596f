"""The site for an ASGI server: ``uvicorn demo_project.asgi:application``. It serves its static files itself."""

from __future__ import annotations

import os
from typing import Any

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application

from agentweb.asgi import streams

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "demo_project.settings")
_files: Any = ASGIStaticFilesHandler(get_asgi_application())
application = streams(_files)
