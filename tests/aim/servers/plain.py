"""The server behind runserver: ``python -m tests.aim.servers.plain PORT``."""

from __future__ import annotations

import sys
from wsgiref.simple_server import make_server

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

from tests.aim.servers.wsgi import application

make_server(
    "127.0.0.1",
    int(sys.argv[1]),
    application,
    server_class=ThreadedWSGIServer,
    handler_class=WSGIRequestHandler,
).serve_forever()
