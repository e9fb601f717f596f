"""What only a real server shows: the raw target, chunked bodies, HEAD, invented headers."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time

import httpx
import pytest

from agentweb.wire.http_signature import sign_request
from agentweb.wire.signing import SigningKey
from tests.support.races import ROOT, Database

KEY = SigningKey.from_seed(b"agent-for-the-server-tests-12345")


@contextlib.contextmanager
def serving(kind, directory, prefix=""):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    database = Database("sqlite", str(directory / "server.sqlite3"))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.web_server", kind, str(port), *([prefix] if prefix else [])],
        cwd=ROOT,
        env={**os.environ, **database.env},
        stderr=subprocess.DEVNULL,
    )
    try:
        origin = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 120
        while True:
            try:
                httpx.get(f"{origin}{prefix}/.well-known/agent-actions.json", timeout=20)
                break
            except httpx.TransportError:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield origin
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module", params=["asgi", "wsgi"])
def server(request, tmp_path_factory):
    with serving(request.param, tmp_path_factory.mktemp("server")) as origin:
        yield origin


def signed(method, url, body=b""):
    headers = {"agent-key": KEY.public, **({"content-type": "application/json"} if body else {})}
    signature = sign_request(
        method=method, url=url, body=body, key=KEY, headers=headers, created=int(time.time())
    )
    return httpx.request(method, url, content=body or None, headers={**headers, **signature}, timeout=20)


def raw(origin, data):
    """Send bytes, return the whole answer."""
    host, port = origin.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(data.replace(b"$HOST", f"{host}:{port}".encode()))
        connection.settimeout(20)
        answer = b""
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while chunk := connection.recv(65_536):
                answer += chunk
        return answer


@pytest.mark.parametrize(
    "target",
    [
        "/agent/search_products?query=tea",
        "/agent/search_products/?query=a%20b&tags=%C3%A9&tags=2",
        "/agent/search_products?query=a+b",
        "/agent/search_products?query=%61",
        "/orders/42",
        "/orders/42/",
    ],
)
def test_a_signature_over_the_wire_s_own_target_verifies(server, target):
    answer = signed("GET", server + target)
    assert answer.status_code == 200, answer.text


def test_a_signed_body_arrives_as_it_was_sent(server):
    answer = signed("POST", f"{server}/agent/mirror", '{"text":"é","n":1.50}'.encode())
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"input": {"text": "é", "n": 1.5}}


def test_a_signed_request_without_a_body_needs_no_content_type(server):
    answer = signed("POST", f"{server}/agent/mirror")
    assert answer.status_code == 200, answer.text


def test_another_query_than_the_signed_one_is_refused(server):
    url = f"{server}/agent/search_products?query=tea"
    headers = {"agent-key": KEY.public}
    signature = sign_request(
        method="GET", url=url, body=b"", key=KEY, headers=headers, created=int(time.time())
    )
    answer = httpx.get(url + "&limit=1", headers={**headers, **signature})
    assert (answer.status_code, answer.json()["error"]["reason"]) == (401, "signature")


def test_needless_encoding_in_the_path_verifies_where_the_server_keeps_the_raw_target(server, request):
    answer = signed("GET", f"{server}/agent/%73earch_products?query=tea")
    if "asgi" in request.node.name:
        assert answer.status_code == 200
    else:
        # wsgiref hands over the decoded path only, so another spelling than the usual one cannot be verified.
        assert (answer.status_code, answer.json()["error"]["reason"]) == (401, "signature")


def test_a_chunked_body_is_411(server):
    answer = raw(
        server,
        b"POST /agent/mirror HTTP/1.1\r\nHost: $HOST\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    )
    assert b" 411 " in answer.split(b"\r\n", 1)[0]
    assert b'"length_required"' in answer


def test_a_body_over_the_limit_is_413(server):
    answer = raw(
        server,
        b"POST /agent/mirror HTTP/1.1\r\nHost: $HOST\r\nContent-Type: application/json\r\n"
        b"Content-Length: 1048577\r\nConnection: close\r\n\r\n" + b" " * 1_048_577,
    )
    assert b" 413 " in answer.split(b"\r\n", 1)[0]
    assert b'"payload_too_large"' in answer


def test_head_has_the_headers_of_get_and_no_content(server):
    target = f"{server}/.well-known/agent-actions.json"
    get, head = httpx.get(target), httpx.head(target)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"]
    assert head.headers["etag"] == get.headers["etag"]


def test_the_absolute_form_of_a_target_is_served(server):
    answer = raw(
        server,
        b"GET http://$HOST/agent/nope HTTP/1.1\r\nHost: $HOST\r\nConnection: close\r\n\r\n",
    )
    assert b"text/html" not in answer or b" 404 " in answer.split(b"\r\n", 1)[0]


@pytest.mark.requirement("AA-2.7", "AA-2.26")
@pytest.mark.parametrize("kind", ["asgi", "wsgi"])
def test_a_site_under_a_prefix_lists_and_answers_its_real_paths(kind, tmp_path):
    with serving(kind, tmp_path, prefix="/shop") as origin:
        manifest = httpx.get(f"{origin}/shop/.well-known/agent-actions.json").json()
        paths = {entry["name"]: entry["path"] for entry in manifest["actions"]}
        assert paths["search_products"] == "/shop/agent/search_products"
        names = ("receipts", "refunds", "revocations")
        endpoints = {name: f"{origin}/shop/agent-actions/{name}" for name in names}
        assert manifest["endpoints"] == endpoints
        answer = signed("GET", f"{origin}{paths['search_products']}?query=tea")
        assert answer.status_code == 200, answer.text
        assert json.loads(answer.text) == {"found": {"query": "tea"}}
        assert signed("GET", manifest["endpoints"]["receipts"]).json() == {"items": [], "next_cursor": None}
