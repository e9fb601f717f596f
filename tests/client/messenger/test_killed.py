"""The client is killed (SIGKILL) at the worst moments, against a server that answers over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentweb.aim.models import Account, Message
from agentweb.client.keystore import KeyStore
from agentweb.client.messenger import Messenger
from tests.client.messenger.live import live_site

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.django_db(transaction=True)

_SEND = """
import os, signal, sys
import httpx
from agentweb.client.keystore import KeyStore
from agentweb.client.messenger import Messenger

when, url, store, to = sys.argv[1:]

class Killed(httpx.HTTPTransport):
    def handle_request(self, request):
        is_it = request.url.path == "/v2/messages"
        if is_it and when == "before the request":
            os.kill(os.getpid(), signal.SIGKILL)
        response = super().handle_request(request)
        if is_it and when == "before the answer is read":
            os.kill(os.getpid(), signal.SIGKILL)
        if is_it and when == "when the answer is read":
            response.read()
            os.kill(os.getpid(), signal.SIGKILL)
        return response

with httpx.Client(transport=Killed()) as http:
    Messenger(url, KeyStore(store), http=http).send(to, {"text": "exactly once"})
"""

_READ = """
import os, signal, sys
from agentweb.client.keystore import KeyStore
from agentweb.client.messenger import Messenger

url, store, done, fatal = sys.argv[1:]
for event in Messenger(url, KeyStore(store)).events():
    if event.message is None:
        continue
    with open(done, "a") as file:
        print(event.message.body, file=file, flush=True)
        os.fsync(file.fileno())
    if str(event.message.body) == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def run(program: str, *arguments: object) -> int:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=environment | {"PYTHONPATH": str(ROOT)},
        timeout=120,
        check=False,
    ).returncode


@pytest.fixture
def url(transactional_db: None, settings: Any) -> Iterator[str]:
    with live_site() as url:
        settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": url, "CHALLENGE_DIFFICULTY": 4}
        yield url


@pytest.fixture
def stores(tmp_path: Path, url: str) -> tuple[Path, Path, str]:
    """The key stores of alice and bob, connected, and bob's address."""
    paths = tmp_path / "alice.json", tmp_path / "bob.json"
    addresses = []
    for name, path in zip(("alice", "bob"), paths, strict=True):
        with Messenger(url, KeyStore(path)) as messenger:
            addresses.append(messenger.connect(name).address)
    return *paths, addresses[1]


@pytest.mark.requirement("AIM-S17.1", "AIM-S17.2", "AIM-S17.3", "AIM-S17.4")
@pytest.mark.parametrize(
    ("when", "arrived"),
    [("before the request", 0), ("before the answer is read", 1), ("when the answer is read", 1)],
)
def test_a_message_is_there_once_after_its_sender_was_killed(
    url: str, stores: tuple[Path, Path, str], when: str, arrived: int
) -> None:
    store, _, bob = stores
    assert run(_SEND, when, url, store, bob) == -signal.SIGKILL
    assert Message.objects.count() == arrived
    with Messenger(url, KeyStore(store)) as alice:
        [kept] = alice.outbox()
        [outcome] = alice.resume()
        assert outcome.receipt is not None
        assert (outcome.id, outcome.receipt.duplicate) == (kept.id, bool(arrived))
        assert alice.outbox() == alice.resume() == []
    message = Message.objects.get()
    assert message.envelope == kept.envelope
    assert json.loads(message.envelope)["body"] == {"text": "exactly once"}
    assert Account.objects.get(agent__name="alice").charged == 1


@pytest.mark.requirement("AIM-S21.2")
def test_a_reader_that_is_killed_misses_nothing(
    url: str, stores: tuple[Path, Path, str], tmp_path: Path
) -> None:
    store, reader, bob = stores
    with Messenger(url, KeyStore(reader)) as messenger:
        messenger.accept("alice")
    with Messenger(url, KeyStore(store)) as alice:
        for number in range(6):
            alice.send(bob, number)
    done = tmp_path / "done.txt"
    for fatal in ("2", "4"):
        assert run(_READ, url, reader, done, fatal) == -signal.SIGKILL
    assert run(_READ, url, reader, done, "none") == 0
    # What was being worked on comes again; what was done does not.
    assert done.read_text().split() == ["0", "1", "2", "2", "3", "4", "4", "5"]
