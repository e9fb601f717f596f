"""Run a real server over the test site: ``python -m tests.support.web_server asgi|wsgi PORT [PREFIX]``.

It serves the actions of ``tests.support.web`` from the database AGENTWEB_TEST_DB_NAME, which it migrates first.
``wsgi`` is wsgiref, the server behind runserver; ``asgi`` is uvicorn. PREFIX is a path the site is mounted under.
"""

from __future__ import annotations

import os
import sys
from typing import Any
from wsgiref.simple_server import make_server

import django


def _mounted(application: Any, prefix: str) -> Any:
    """As a WSGI server mounts an application: the prefix is SCRIPT_NAME and no part of PATH_INFO (PEP 3333)."""

    def mounted(environ: dict[str, Any], start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        if prefix and path.startswith(f"{prefix}/"):
            environ["SCRIPT_NAME"], environ["PATH_INFO"] = prefix, path.removeprefix(prefix)
        return application(environ, start_response)

    return mounted


def main(kind: str, port: int, prefix: str) -> None:
    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from agentweb.catalog.registry import registry
    from tests.support import web

    settings.AGENTWEB = {"ORIGIN": f"http://127.0.0.1:{port}", "ANONYMOUS_RATE": (1e6, 10**6)}
    call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)
    with registry.only():
        web.declare()
        if kind == "asgi":
            import uvicorn
            from django.core.asgi import get_asgi_application

            settings.FORCE_SCRIPT_NAME = prefix or None
            uvicorn.run(get_asgi_application(), port=port, log_level="warning", lifespan="off")
        else:
            from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
            from django.core.wsgi import get_wsgi_application

            make_server(
                "127.0.0.1",
                port,
                _mounted(get_wsgi_application(), prefix),
                server_class=ThreadedWSGIServer,
                handler_class=WSGIRequestHandler,
            ).serve_forever()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
