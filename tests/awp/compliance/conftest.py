"""The sound site as this process's own, and served over the network."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from django.core.handlers.wsgi import WSGIHandler

from agentweb.wire.clock import clock
from tests.awp.compliance import sites
from tests.awp.compliance.sites import NOW, SoundSite


@pytest.fixture
def sound(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[SoundSite]:
    """The site that every other thing here is about; it answers in this process."""
    site = SoundSite()
    monkeypatch.setattr(sites, "current", site)
    settings.ROOT_URLCONF = sites.__name__
    settings.MIDDLEWARE = []
    settings.AGENTWEB = {"ORIGIN": "https://shop.example"}
    with clock(lambda: NOW):
        yield site


class _Quiet(WSGIRequestHandler):
    disable_nagle_algorithm = True

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def served(sound: SoundSite, settings: Any) -> Iterator[str]:
    """The origin of the sound site on this machine."""
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    server: WSGIServer = make_server("127.0.0.1", 0, WSGIHandler(), handler_class=_Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
