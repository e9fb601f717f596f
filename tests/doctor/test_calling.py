"""The doctor over the network: a real server, and what it says when none answers."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import CommandError, call_command
from django.db import DEFAULT_DB_ALIAS, connections

from agentweb.doctor.calling import REACHED, over_the_network
from agentweb.doctor.examination import USER_AGENT, Finding, examine
from agentweb.doctor.probes import all_probes
from agentweb.http.asking import keeping_connections
from agentweb.http.calling import Calling
from agentweb.http.probes import Level
from tests.doctor import tampering

Serve = Callable[..., str]


class _Quiet(WSGIRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def served(site: None, settings: Any) -> Iterator[Serve]:
    """Serves the sound site, with a middleware before it if one is named; answers with its origin."""
    servers: list[WSGIServer] = []

    def serve(middleware: str = "") -> str:
        if middleware:
            settings.MIDDLEWARE = [f"{tampering.HERE}.{middleware}", *settings.MIDDLEWARE]
        settings.SECURE_SSL_REDIRECT = False
        settings.ALLOWED_HOSTS = ["127.0.0.1"]
        server = make_server("127.0.0.1", 0, WSGIHandler(), handler_class=_Quiet)
        origin = f"http://127.0.0.1:{server.server_port}"
        settings.AGENTWEB = {"ORIGIN": origin, "ANONYMOUS_RATE": (1000, 1000)}

        def run() -> None:
            # The test's own transaction: what it wrote is seen, and nothing of it stays.
            connections[DEFAULT_DB_ALIAS] = connection_of_the_test
            server.serve_forever()

        threading.Thread(target=run, daemon=True).start()
        servers.append(server)
        return origin

    connection_of_the_test = connections[DEFAULT_DB_ALIAS]
    connection_of_the_test.inc_thread_sharing()
    with keeping_connections():
        try:
            yield serve
        finally:
            for server in servers:
                server.shutdown()
                server.server_close()
            connection_of_the_test.dec_thread_sharing()


def look(url: str) -> list[Finding]:
    return list(examine(over_the_network(all_probes()), Calling(url, user_agent=USER_AGENT)))


def test_a_sound_site_is_sound_over_the_network_too(served: Serve) -> None:
    found = look(served())
    assert [each for each in found if each.level is not Level.OK] == []
    assert all(each.text.startswith("Over the network: ") for each in found)
    ids = {each.id for each in found}
    assert {REACHED, "D050", "D057", "D062", "D100", "D102", "D106"} <= ids
    assert not {"D001", "D020", "D030", "D105"} & ids


@pytest.mark.parametrize(
    ("middleware", "number"),
    [("sets_a_cookie", "D060"), ("removes_the_tag", "D057"), ("redirects", "D052"), ("refuses_head", "D058")],
)
def test_what_stands_before_the_site_is_seen(served: Serve, middleware: str, number: str) -> None:
    assert number in {each.id for each in look(served(middleware)) if each.level is not Level.OK}


def test_a_site_that_does_not_answer_is_one_error(site: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    [found] = look(f"http://127.0.0.1:{port}")
    assert (found.id, found.level) == (REACHED, Level.ERROR)
    assert f"127.0.0.1 port {port}" in found.text


def test_the_command_does_both(served: Serve) -> None:
    out = io.StringIO()
    call_command("agentweb_doctor", "--json", "--url", served(), "--fail-level", "never", stdout=out)
    ids = [each["id"] for each in json.loads(out.getvalue())["findings"]]
    assert ids.count("D050") == 2
    assert ids.count("D001") == 1


@pytest.mark.parametrize(
    "url",
    [
        "shop.example",
        "ftp://shop.example",
        "https://shop.example/path",
        "https://a:b@shop.example",
        "https://",
    ],
)
def test_what_is_no_address_of_a_site_is_refused(site: None, url: str) -> None:
    with pytest.raises(CommandError, match="--url"):
        call_command("agentweb_doctor", "--url", url, stdout=io.StringIO())
