"""What only a real server shows: the raw target, bodies and their lengths, one Date, and a proxy in between."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.aim.servers.running import COMMANDS, KEEPS_RAW_PATH, nginx, serving
from tests.aim.wire import Speaker, encoded
from tests.e2e.servers import free_port
from tests.support.node import judged_client
from tests.support.races import fresh_database


class Remote(Speaker):
    """An agent that signs for a server and writes its requests to the socket byte by byte."""

    def __init__(self, name: str, origin: str, prefix: str = "") -> None:
        super().__init__(name, client=None)  # type: ignore[arg-type]
        self.origin, self.prefix = origin, prefix
        self.authority = origin.removeprefix("http://")

    @property
    def address(self) -> str:
        return f"{self.name}@{self.authority}"

    def raw(
        self, method: str, sent: str, body: bytes = b"", *, signed: str | None = None, **more: str
    ) -> Any:
        header = self.header(method, sent if signed is None else signed, body)
        lines = {"Host": self.authority, "Authorization": header, "Connection": "close"}
        if body:
            lines |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines |= {name.replace("_", "-"): value for name, value in more.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        return exchange(self.origin, f"{method} {sent} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)

    def remote_register(self) -> None:
        given = httpx.post(f"{self.origin}{self.prefix}/v2/challenges", timeout=30).json()
        from agentweb.wire.aim.proof_of_work import solve

        document = {
            "public_key": self.key,
            "name": self.name,
            "challenge": given["challenge"],
            "solution": solve(given["challenge"], self.key, given["difficulty"]),
        }
        status, _, body = self.raw("POST", f"{self.prefix}/v2/agents/register", encoded(document))
        assert status == 201, body


def exchange(origin: str, data: bytes) -> tuple[int, list[tuple[str, str]], Any]:
    """Send bytes, and read the answer to its end: status, headers, JSON."""
    host, port = origin.removeprefix("http://").split(":")
    answer = b""
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(data)
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while chunk := connection.recv(65_536):
                answer += chunk
    head, _, content = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    if ("transfer-encoding", "chunked") in headers:
        content = b"".join(content.split(b"\r\n")[1::2])
    is_json = content[:1] in {b"{", b"["}
    return int(first.split(" ")[1]), headers, json.loads(content) if is_json else content


@pytest.fixture(scope="module", params=sorted(COMMANDS))
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """A kind of server, and where it is."""
    with (
        fresh_database("sqlite", tmp_path_factory.mktemp("server")) as database,
        serving(request.param, database) as origin,
    ):
        yield request.param, origin


@pytest.fixture(scope="module")
def alice(server: tuple[str, str]) -> Remote:
    agent = Remote("alice", server[1])
    agent.remote_register()
    return agent


def failure(answer: tuple[int, Any, Any]) -> tuple[int, str]:
    return answer[0], answer[2]["error"]["code"]


@pytest.mark.parametrize(
    "target",
    [
        "/v2/inbox",
        "/v2/inbox/",
        "/v2/inbox?lane=requests&limit=5",
        "/v2/inbox?lane=%72equests",
        "/v2/events?after=now&types=message,request",
        "/v2/inbox?with=alice%40127.0.0.1",
    ],
)
def test_the_target_that_was_sent_is_the_one_that_is_verified(alice: Remote, target: str) -> None:
    status, _, body = alice.raw("GET", target)
    assert (status, body.get("error", {}).get("code")) in {(200, None), (422, "remote_authority")}


def test_a_bare_question_mark_is_not_signed(alice: Remote) -> None:
    assert alice.raw("GET", "/v2/inbox?", signed="/v2/inbox")[0] == 200
    refused = alice.raw("GET", "/v2/inbox?", signed="/v2/inbox?")
    assert failure(refused) == (401, "bad_signature")
    assert refused[2]["error"]["details"]["target"] == "/v2/inbox"


def test_needless_encoding_verifies_where_the_server_keeps_the_path(
    alice: Remote, server: tuple[str, str]
) -> None:
    answer = alice.raw("GET", "/v2/%69nbox")
    if server[0] in KEEPS_RAW_PATH:
        assert answer[0] == 200
        assert failure(alice.raw("GET", "/v2/%69nbox", signed="/v2/inbox")) == (401, "bad_signature")
    else:
        # The server hands over the decoded path only: its usual spelling is what can be verified.
        assert failure(answer) == (401, "bad_signature")
        assert answer[2]["error"]["details"]["target"] == "/v2/inbox"
        assert alice.raw("GET", "/v2/%69nbox", signed="/v2/inbox")[0] == 200


def test_a_target_in_absolute_form_is_that_of_its_path(alice: Remote, server: tuple[str, str]) -> None:
    status, _, body = alice.raw("GET", f"{server[1]}/v2/inbox?limit=3", signed="/v2/inbox?limit=3")
    # What is no URL of the server's own may not be found there.
    assert status in {200, 400, 404}, body


def test_another_host_in_the_request_changes_nothing(alice: Remote) -> None:
    assert alice.raw("GET", "/v2/inbox", Host="elsewhere.example:99")[0] == 200


def envelope_to_self(alice: Remote) -> bytes:
    from agentweb.wire.aim import envelope

    own = f"alice@{alice.authority}"
    signed = envelope.sign(envelope.compose(own, own, {"text": "é 😀", "n": [1.5, -0.0]}), alice.signer)
    return encoded(signed)


def test_a_message_is_accepted_once_and_read_again(alice: Remote) -> None:
    body = envelope_to_self(alice)
    status, _, first = alice.raw("POST", "/v2/messages", body)
    assert (status, first["duplicate"]) == (202, False)
    status, _, again = alice.raw("POST", "/v2/messages", body)
    assert (status, again["duplicate"], again["cursor"]) == (202, True, first["cursor"])
    status, _, page = alice.raw("GET", "/v2/inbox?limit=1")
    assert page["items"][0]["envelope"] == json.loads(body)


def test_a_body_without_a_length_is_refused(alice: Remote) -> None:
    body = envelope_to_self(alice)
    header = alice.header("POST", "/v2/messages", body)
    chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    head = (
        f"POST /v2/messages HTTP/1.1\r\nHost: {alice.authority}\r\nAuthorization: {header}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    assert failure(exchange(alice.origin, head.encode() + chunk)) == (411, "length_required")


def test_a_body_over_the_limit_is_refused_by_its_announced_length(alice: Remote) -> None:
    assert failure(alice.raw("POST", "/v2/messages", b" " * 1_400_001)) == (413, "too_large")


def test_every_answer_has_one_date(alice: Remote) -> None:
    for method, target in (
        ("GET", "/v2/inbox"),
        ("GET", "/v2/nothing"),
        ("POST", "/v2/inbox"),
        ("HEAD", "/v2/inbox"),
    ):
        _, headers, _ = alice.raw(method, target)
        assert len([value for name, value in headers if name == "date"]) == 1


def test_head_is_signed_as_head_and_has_no_content(alice: Remote) -> None:
    status, _, content = alice.raw("HEAD", "/v2/inbox")
    assert (status, content) == (200, b"")


@pytest.mark.requirement("AIM-S12.8", "AIM-S15.4", "AIM-S6.2", "AIM-S1.4")
def test_a_client_written_from_the_guides_alone_gets_along(server: tuple[str, str]) -> None:
    assert judged_client(server[1])["events"] >= 2


# -- behind nginx, which names another host to the server


@pytest.mark.parametrize("kind", ["gunicorn", "uvicorn"])
@pytest.mark.parametrize("mounted", ["", "/chat"], ids=["at the root", "under a path that nginx takes off"])
def test_behind_a_proxy_that_rewrites_host_and_path_signatures_hold(
    kind: str, mounted: str, tmp_path: Path
) -> None:
    port = free_port()
    public = f"http://127.0.0.1:{port}"
    with (
        fresh_database("sqlite", tmp_path) as database,
        serving(kind, database, public, mounted) as upstream,
        nginx(upstream, port, tmp_path, mounted=mounted) as origin,
    ):
        alice = Remote("alice", origin, mounted)
        alice.remote_register()
        # What nginx takes a part off it writes anew, so needless encoding in the path does not get through.
        for target in ("/v2/inbox", "/v2/inbox?lane=%72equests", *(() if mounted else ("/v2/%69nbox",))):
            status, headers, body = alice.raw("GET", f"{mounted}{target}")
            assert status == 200, body
            assert len([value for name, value in headers if name == "date"]) == 1
        body = envelope_to_self(alice)
        assert alice.raw("POST", f"{mounted}/v2/messages", body)[0] == 202
        # Without the path that the client sees, it is another target.
        if mounted:
            assert failure(alice.raw("GET", f"{mounted}/v2/inbox", signed="/v2/inbox")) == (
                401,
                "bad_signature",
            )
            paths = [each["path"] for each in httpx.get(f"{upstream}/.well-known/aim.json").json()["core"]]
            assert "/chat/v2/inbox" in paths
        # nginx gathers a chunked body and announces its length.
        chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
        head = (
            f"POST {mounted}/v2/messages HTTP/1.1\r\nHost: x\r\nAuthorization: "
            f"{alice.header('POST', f'{mounted}/v2/messages', body)}\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        status, _, answer = exchange(origin, head.encode() + chunk)
        assert (status, answer["duplicate"]) == (202, True)
