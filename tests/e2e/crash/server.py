"""What the servers of the harness load: ``tests.e2e.crash.server:wsgi()`` or ``:asgi``, with the planted bug."""

from __future__ import annotations

from typing import Any

from tests.e2e.crash import planted


def wsgi() -> Any:
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    planted.plant()
    return application


def asgi() -> Any:
    from django.core.asgi import get_asgi_application

    application = get_asgi_application()
    planted.plant()
    return application
