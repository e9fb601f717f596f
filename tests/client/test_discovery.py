from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from agentweb.client.agent import AgentClient
from agentweb.client.discovery import MAX_BYTES, manifest_url
from agentweb.client.errors import UnreachableError
from agentweb.client.keystore import KeyStore
from agentweb.wire.errors import ClientError
from tests.client.conftest import AGENT
from tests.client.site import MANIFEST, Reply, Site, Time, error


def refusal(call: Callable[[], object]) -> ClientError:
    with pytest.raises(ClientError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(
    ("url", "manifest"),
    [
        ("https://shop.example", f"https://shop.example{MANIFEST}"),
        ("https://SHOP.example:443/some/page?q=1#x", f"https://shop.example{MANIFEST}"),
        ("HTTPS://shop.example/", f"https://shop.example{MANIFEST}"),
        ("http://localhost:8000", f"http://localhost:8000{MANIFEST}"),
        ("http://[::1]:8000/x", f"http://[::1]:8000{MANIFEST}"),
        (f"https://shop.example{MANIFEST}", f"https://shop.example{MANIFEST}"),
    ],
)
def test_manifest_is_at_the_sites_well_known_address(url: str, manifest: str) -> None:
    assert manifest_url(url) == manifest


@pytest.mark.parametrize("url", ["", "https://", "ftp://shop.example", "https://user:pw@shop.example", "a b"])
def test_what_is_no_address_of_a_site_is_refused(url: str, client: AgentClient) -> None:
    assert refusal(lambda: client.discover_actions(url)).code == "site_unreachable"


@pytest.mark.parametrize("url", [None, 5, b"https://shop.example", ["https://shop.example"]])
def test_what_is_no_text_is_refused(url: Any, client: AgentClient) -> None:
    assert refusal(lambda: client.discover_actions(url)).code == "site_unreachable"
    assert refusal(lambda: client.discover_actions(url, signed=True)).code == "site_unreachable"
    assert refusal(lambda: client.call_action(url, "ping")).code == "site_unreachable"
    assert refusal(lambda: client.receipts(url)).code == "site_unreachable"


@pytest.mark.parametrize("url", ["shop.example", "localhost:8000", "127.0.0.1:8000/agent/x"])
def test_url_without_a_scheme_is_refused_with_the_two_that_there_are(url: str, client: AgentClient) -> None:
    error = refusal(lambda: client.call_action(url, "ping"))
    assert error.code == "site_unreachable"
    assert f"write https://{url}, or http://" in error.message


def test_a_failed_connection_names_host_and_port(client: AgentClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert (
        f"127.0.0.1 port {port}"
        in refusal(lambda: client.discover_actions(f"http://127.0.0.1:{port}")).message
    )


def test_an_answer_that_does_not_come_names_host_and_port(site: Site, client: AgentClient) -> None:
    site.script(MANIFEST, *[Reply(drop=True)] * 9)
    port = site.authority.partition(":")[2]
    assert (
        f"127.0.0.1 port {port} did not answer" in refusal(lambda: client.discover_actions(site.url)).message
    )


def test_manifest_is_read_from_its_site(site: Site, client: AgentClient) -> None:
    site.action("ping", effect="read", method="GET")
    manifest = client.discover_actions(f"{site.url}/some/page")
    assert (manifest.site, manifest.url) == (site.authority, site.url + MANIFEST)
    assert list(manifest.actions) == ["ping"]
    (seen,) = site.seen
    assert (seen.method, seen.path, seen.body) == ("GET", MANIFEST, b"")
    assert site.is_unsigned(seen)
    assert not {"cookie", "authorization"} & seen.headers.keys()


def test_http_is_for_loopback_only(client: AgentClient) -> None:
    assert refusal(lambda: client.discover_actions("http://shop.example")).code == "site_unreachable"


def test_host_in_a_private_network_is_not_called(site: Site, client: AgentClient) -> None:
    port = site.authority.partition(":")[2]
    for host in ("127.0.0.2", "0.0.0.0", "10.0.0.1", "[::ffff:127.0.0.1]"):  # noqa: S104
        assert refusal(lambda: client.discover_actions(f"https://{host}:{port}")).code == "site_unreachable"  # noqa: B023
    assert site.seen == []


@pytest.mark.parametrize("name", ["shop.example", "localhost", "127.0.0.1", "127.0.0.1:1"])
def test_manifest_that_names_another_site_is_refused(site: Site, client: AgentClient, name: str) -> None:
    site.manifest["site"] = name
    error = refusal(lambda: client.discover_actions(site.url))
    assert error.code == "manifest_invalid"
    assert f"calls itself {name} and was called as {site.authority}" in error.message
    assert 'AGENTWEB["ORIGIN"]' in error.message


@pytest.mark.parametrize("name", [None, 5, "a\nb", "x" * 300, ""])
def test_a_name_that_is_none_is_not_repeated(site: Site, client: AgentClient, name: Any) -> None:
    site.manifest["site"] = name
    error = refusal(lambda: client.discover_actions(site.url))
    assert (error.code, "calls itself" in error.message) == ("manifest_invalid", False)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"not json",
        b"<html></html>",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'\xef\xbb\xbf{"version":"agent-actions/0.1"}',
        b'{"version":"agent-actions/0.1","version":"agent-actions/0.1"}',
        b'{"version":NaN}',
        b"[" * 100 + b"]" * 100,
    ],
)
def test_malformed_manifest_is_refused(site: Site, client: AgentClient, body: bytes) -> None:
    site.script(MANIFEST, Reply(body=body))
    assert refusal(lambda: client.discover_actions(site.url)).code == "manifest_invalid"


@pytest.mark.parametrize(
    "media_type", ["text/html", "text/plain", "application/jsonx", "", "application/json, text/html"]
)
def test_manifest_of_another_media_type_is_refused(site: Site, client: AgentClient, media_type: str) -> None:
    site.script(MANIFEST, Reply(value=site.manifest, headers={"Content-Type": media_type}))
    assert refusal(lambda: client.discover_actions(site.url)).code == "manifest_invalid"


@pytest.mark.parametrize(
    "media_type", ["application/json; charset=utf-8", "Application/JSON", "application/ld+json"]
)
def test_manifest_of_any_json_type_is_read(site: Site, client: AgentClient, media_type: str) -> None:
    site.script(MANIFEST, Reply(value=site.manifest, headers={"Content-Type": media_type}))
    assert client.discover_actions(site.url).site == site.authority


def test_manifest_over_a_mebibyte_is_refused_while_it_comes(site: Site, client: AgentClient) -> None:
    room = MAX_BYTES - len(json.dumps(site.manifest)) - len('"filler": "", ')
    site.manifest["filler"] = "x" * room
    assert client.discover_actions(site.url).site == site.authority
    site.manifest["filler"] = "x" * (room + 100)
    assert refusal(lambda: client.discover_actions(site.url)).code == "manifest_invalid"
    site.script(MANIFEST, Reply(body=b"x" * 20_000_000))
    assert refusal(lambda: client.discover_actions(site.url)).code == "manifest_invalid"


def test_packed_manifest_is_refused(site: Site, client: AgentClient) -> None:
    site.script(MANIFEST, Reply(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}))
    assert refusal(lambda: client.discover_actions(site.url)).code == "manifest_invalid"
    assert site.seen[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("status", [404, 401, 403, 410, 500, 204])
def test_site_without_a_manifest_is_said_to_have_none(site: Site, client: AgentClient, status: int) -> None:
    site.script(MANIFEST, Reply(status, body=b"" if status == 204 else b"<html>"))
    caught = refusal(lambda: client.discover_actions(site.url))
    assert (caught.code, caught.extra["http_status"]) == ("manifest_invalid", status)


# --- redirects ---


def moved(to: str, status: int = 302) -> Reply:
    return Reply(status, body=b"", headers={"Location": to})


def test_redirects_on_the_same_host_are_followed_three_times(site: Site, client: AgentClient) -> None:
    site.script(MANIFEST, moved("/a", 301))
    site.script("/a", moved("b", 307))
    site.script("/b", moved(f"{site.url}/c", 308), moved(f"{site.url}/c"))
    site.script("/c", Reply(value=site.manifest), moved("/d"))
    assert client.discover_actions(site.url).url == f"{site.url}/c"
    site.script(MANIFEST, moved("/b"))
    site.script("/d", moved("/e"))
    assert refusal(lambda: client.discover_actions(site.url)).code == "site_unreachable"
    assert not site.calls("/e")


@pytest.mark.parametrize(
    "to",
    [
        "https://evil.example/x",
        "//evil.example/x",
        "http://localhost:{port}/x",
        "http://127.0.0.1:1/x",
        "https://127.0.0.1:{port}/x",
        "http://user@127.0.0.1:{port}/x",
        "file:///etc/passwd",
        "http://[",
    ],
)
def test_redirect_to_elsewhere_is_refused(site: Site, client: AgentClient, to: str) -> None:
    site.script(MANIFEST, moved(to.format(port=site.authority.partition(":")[2])))
    assert refusal(lambda: client.discover_actions(site.url)).code == "site_unreachable"
    assert len(site.seen) == 1


def test_redirect_without_a_target_is_no_manifest(site: Site, client: AgentClient) -> None:
    site.script(MANIFEST, Reply(302, body=b""))
    assert refusal(lambda: client.discover_actions(site.url)).code == "manifest_invalid"


# --- keeping and asking again ---


def test_known_manifest_is_asked_for_by_its_etag(site: Site, client: AgentClient) -> None:
    site.manifest_headers["ETag"] = '"one"'
    first = client.discover_actions(site.url)
    site.script(MANIFEST, Reply(304, body=b""))
    assert client.discover_actions(site.url) is first
    assert "if-none-match" not in site.seen[0].headers
    assert site.seen[1].headers["if-none-match"] == '"one"'


def test_changed_manifest_replaces_the_known_one(site: Site, client: AgentClient) -> None:
    site.manifest_headers["ETag"] = '"one"'
    client.discover_actions(site.url)
    site.manifest_headers["ETag"] = '"two"'
    site.action("new", effect="read")
    assert "new" in client.discover_actions(site.url).actions
    client.discover_actions(site.url)
    assert site.seen[2].headers["if-none-match"] == '"two"'


def test_304_for_a_manifest_that_is_not_known_is_refused(site: Site, client: AgentClient) -> None:
    site.script(MANIFEST, Reply(304, body=b""))
    assert refusal(lambda: client.discover_actions(site.url)).code == "manifest_invalid"


@pytest.mark.parametrize(
    ("control", "seconds"),
    [
        ("public, max-age=100", 100),
        ("max-age=999999", 3600),
        ("", 60),
        ("no-store", 0),
        ("no-cache, max-age=100", 0),
        ("max-age=0", 0),
        ("s-maxage=5", 60),
    ],
)
def test_calls_use_a_manifest_while_it_is_fresh(
    site: Site, client: AgentClient, time: Time, control: str, seconds: int
) -> None:
    site.manifest_headers["Cache-Control"] = control
    site.action("ping", effect="read", method="GET")
    client.call_action(site.url, "ping")
    time.now += max(0, seconds - 1)
    client.call_action(site.url, "ping")
    assert len(site.calls(MANIFEST)) == (1 if seconds else 2)
    time.now += 2
    client.call_action(site.url, "ping")
    assert len(site.calls(MANIFEST)) == (2 if seconds else 3)


def test_manifests_in_memory_are_bounded(
    site: Site, client: AgentClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentweb.client.discovery.MAX_KEPT", 1)
    site.action("ping", effect="read", method="GET")
    other = site.url.replace("127.0.0.1", "localhost")
    client.call_action(site.url, "ping")
    site.manifest["site"] = other.partition("://")[2]
    client.call_action(other, "ping")
    client.call_action(other, "ping")
    site.manifest["site"] = site.authority
    client.call_action(site.url, "ping")
    assert len(site.calls(MANIFEST)) == 3


def test_discovering_always_asks_the_site(site: Site, client: AgentClient) -> None:
    client.discover_actions(site.url)
    client.discover_actions(site.url)
    assert len(site.seen) == 2


# --- a site that is away ---


def test_busy_site_is_asked_again_when_it_says(site: Site, client: AgentClient, time: Time) -> None:
    site.script(MANIFEST, error(503, "unavailable", retry_after=7), Reply(drop=True))
    assert client.discover_actions(site.url).site == site.authority
    assert len(site.seen) == 3
    assert time.pauses[0] == 7


def test_site_that_stays_busy_is_given_up(site: Site, client: AgentClient, time: Time) -> None:
    site.script(MANIFEST, *[error(503, "unavailable", retry_after=7)] * 10)
    caught = refusal(lambda: client.discover_actions(site.url))
    assert (caught.code, caught.retry_after) == ("site_unreachable", 7)
    assert len(site.seen) == 5
    assert sum(time.pauses) <= 60


def test_site_that_asks_for_more_patience_than_there_is_is_given_up_at_once(
    site: Site, client: AgentClient, time: Time
) -> None:
    site.script(MANIFEST, error(429, "rate_limited", retry_after=3_600))
    caught = refusal(lambda: client.discover_actions(site.url))
    assert (caught.retry_after, len(site.seen), time.pauses) == (3_600, 1, [])


def test_site_that_does_not_listen_is_unreachable(client: AgentClient, time: Time) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert refusal(lambda: client.discover_actions(f"http://127.0.0.1:{port}")).code == "site_unreachable"
    assert len(time.pauses) == 4


def test_site_that_answers_byte_by_byte_is_left(site: Site, keystore: KeyStore, time: Time) -> None:
    gate = threading.Event()

    def pause() -> None:
        gate.wait(0.02)

    site.script(MANIFEST, Reply(value=site.manifest, pause=pause))
    with AgentClient(keystore, clock=time, sleep=time.sleep, seconds=0.15, attempts=1) as client:
        assert refusal(lambda: client.discover_actions(site.url)).code == "site_unreachable"
    gate.set()


@pytest.mark.parametrize(
    ("beginning", "drip"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
)
@pytest.mark.parametrize("is_kept_alive", [False, True])
def test_site_that_trickles_before_its_answer_is_left(
    keystore: KeyStore, time: Time, beginning: bytes, drip: bytes, is_kept_alive: bool
) -> None:
    gate = threading.Event()

    def serve(listener: socket.socket) -> None:
        connection = listener.accept()[0]
        with connection, suppress(OSError):
            if is_kept_alive:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            connection.recv(65_536)
            connection.sendall(beginning)
            while not gate.wait(0.005):
                connection.sendall(drip)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with AgentClient(keystore, clock=time, sleep=time.sleep, seconds=0.3, attempts=1) as client:
            if is_kept_alive:
                assert refusal(lambda: client.discover_actions(url)).code == "manifest_invalid"
            begun = monotonic()
            caught = refusal(lambda: client.discover_actions(url))
            taken = monotonic() - begun
        gate.set()
        thread.join()
    assert isinstance(caught, UnreachableError)
    assert caught.may_have_arrived
    assert 0.2 < taken < 1.5


def test_site_that_never_answers_is_left(site: Site, keystore: KeyStore, time: Time) -> None:
    gate = threading.Event()

    def hang(seen: Any) -> Reply:
        gate.wait(5)
        return Reply(drop=True)

    site.script(MANIFEST, hang)
    with AgentClient(keystore, clock=time, sleep=time.sleep, seconds=0.1, attempts=1) as client:
        assert refusal(lambda: client.discover_actions(site.url)).code == "site_unreachable"
    gate.set()


def test_two_clients_share_nothing_but_the_store(site: Site, tmp_path: Path, time: Time) -> None:
    for _ in range(2):
        with AgentClient(KeyStore(tmp_path / "a.json", key=AGENT), clock=time, sleep=time.sleep) as client:
            client.discover_actions(site.url)
    assert ["if-none-match" in seen.headers for seen in site.seen] == [False, False]
