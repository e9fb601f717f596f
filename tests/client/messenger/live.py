"""The test site behind a real socket, in a thread of this process, on the test's own database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.core.wsgi import get_wsgi_application
from django.db import connection, connections


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def live_site() -> Iterator[str]:
    """Its origin. It answers one request after the other."""
    application = get_wsgi_application()
    shared = connection.vendor == "sqlite" and connection.is_in_memory_db()
    if shared:
        connection.inc_thread_sharing()  # a database in memory belongs to its one connection

    def answer(environ: Any, start_response: Any) -> Any:
        if shared:
            connections["default"] = own
        return application(environ, start_response)

    own = connections["default"]
    server = make_server("127.0.0.1", 0, answer, handler_class=_Silent)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        if shared:
            connection.dec_thread_sharing()
