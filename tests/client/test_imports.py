"""The client and the wire stand on their own: no Django, and httpx only when something is sent."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import agentweb.client
import agentweb.wire
from agentweb.client.agent import AgentClient
from agentweb.client.keystore import KeyStore
from agentweb.wire.errors import ClientError
from tests.client.site import Site, Time

ROOT = Path(__file__).parents[2]
MODULES = [
    module.name
    for package in (agentweb.wire, agentweb.client)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


def run(program: str, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wire_and_client_import_without_django() -> None:
    program = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(sorted(name for name in sys.modules if name.partition(".")[0] in {"django", "rest_framework", "celery"}))
"""
    assert len(MODULES) > 20
    assert run(program, *MODULES) == "[]\n"


def test_what_a_caller_catches_is_exported() -> None:
    for name in agentweb.client.__all__:
        assert getattr(agentweb.client, name).__name__ == name
    for name in ("AgentError", "AuthenticationError", "ClientError", "InputError", "SiteError"):
        assert name in agentweb.client.__all__


def test_each_module_imports_alone() -> None:
    # In one process, with our own modules forgotten in between: an import cycle would show.
    program = """
import importlib, sys
for name in sys.argv[1:]:
    for known in [known for known in sys.modules if known.partition(".")[0] == "agentweb"]:
        del sys.modules[known]
    importlib.import_module(name)
"""
    run(program, *[name for name in MODULES if name.startswith("agentweb.client")])


def test_commands_load_mcp_only_to_serve_it() -> None:
    program = """
import sys
import agentweb.client.command_line
print(sorted(name for name in sys.modules if name.partition(".")[0] in {"mcp", "mcp_types", "pydantic"}))
"""
    assert run(program) == "[]\n"


def test_without_httpx_everything_works_until_something_is_sent(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["httpx"] = None
from agentweb.client.agent import AgentClient
from agentweb.client.keystore import KeyStore
from agentweb.wire.errors import ClientError
from agentweb.wire.errors import ClientError
client = AgentClient(KeyStore(sys.argv[1]))
assert client.pending() == []
for call in (client.discover_actions, lambda url: client.call_action(url, "x"), client.receipts):
    try:
        call("https://shop.example")
    except ClientError as error:
        assert isinstance(error, ImportError)
        print(error.message)
client.close()
"""
    lines = run(program, str(tmp_path / "agent.json")).splitlines()
    assert len(lines) == 3
    assert {"pip install agentweb-django[client]" in line for line in lines} == {True}


def test_own_http_client_is_used_and_left_open(site: Site, keystore: KeyStore, time: Time) -> None:
    asked: list[str] = []
    own = httpx.Client(
        event_hooks={"request": [lambda request: asked.append(str(request.url))]},
        follow_redirects=True,
        auth=("user", "password"),
        cookies={"session": "1"},
    )
    with AgentClient(keystore, http=own, clock=time, sleep=time.sleep) as client:
        client.discover_actions(site.url)
    assert asked == [f"{site.url}/.well-known/agent-actions.json"]
    assert not {"authorization", "cookie"} & site.seen[0].headers.keys()
    assert not own.is_closed
    own.close()


MANIFEST = b'{"version":"agent-actions/0.1","site":"shop.internal"}'
JSON = ("Content-Type", "application/json")


def app(environ: Any, start_response: Any) -> list[bytes]:
    start_response("200 OK", [JSON])
    return [MANIFEST]


@pytest.mark.parametrize(
    "transport",
    [
        httpx.WSGITransport(app),
        httpx.MockTransport(lambda request: httpx.Response(200, content=MANIFEST, headers=[JSON])),
    ],
)
def test_host_that_is_vouched_for_is_called_through_the_own_client(
    keystore: KeyStore, time: Time, transport: httpx.BaseTransport
) -> None:
    with httpx.Client(transport=transport) as own:
        client = AgentClient(keystore, http=own, allow_hosts=["Shop.internal"], clock=time, sleep=time.sleep)
        assert client.discover_actions("https://shop.internal").site == "shop.internal"
        stranger = AgentClient(keystore, http=own, clock=time, sleep=time.sleep)
        with pytest.raises(ClientError) as caught:
            stranger.discover_actions("https://shop.internal")
        assert caught.value.code == "site_unreachable"
