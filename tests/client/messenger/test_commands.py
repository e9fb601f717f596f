"""The messenger's commands as an agent's owner runs them: processes, against a server that answers over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentweb.aim.models import Message
from agentweb.client.messenger.commands import _progress
from tests.client.messenger.live import live_site

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.django_db(transaction=True)
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def url(transactional_db: None, settings: Any) -> Iterator[str]:
    with live_site() as url:
        settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": url, "CHALLENGE_DIFFICULTY": 4}
        yield url


@pytest.fixture
def run(tmp_path: Path) -> Run:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}

    def run(who: str, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "agentweb.client", "--key-store", f"{who}.json", *arguments],
            cwd=tmp_path,
            env=environment | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
            input=said,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run


def test_two_agents_talk_from_the_shell(run: Run, url: str) -> None:
    authority = url.partition("://")[2]
    connected = run("bob", "connect", url, "--name", "bob")
    assert (connected.returncode, connected.stdout) == (0, f"bob@{authority}\n")
    told = json.loads(run("bob", "connect", url, "--json").stdout)
    assert (told["address"], told["origin"]) == (f"bob@{authority}", url)

    # send connects by itself, and finds the service by the address.
    sent = run("alice", "send", f"bob@{authority}", "héllo", "--json")
    receipt = json.loads(sent.stdout)
    assert (sent.returncode, receipt["accepted"], receipt["charged"]) == (0, True, 1)

    assert run("bob", "inbox").stdout == "(1 waiting: inbox --lane requests)\n"
    [request] = json.loads(run("bob", "inbox", "--lane", "requests", "--json").stdout)
    assert (request["id"], request["body"], request["problem"]) == (receipt["id"], {"text": "héllo"}, None)
    assert run("bob", "accept", request["from"]).returncode == 0

    answer = run(
        "bob", "send", request["from"], "-", "--reply-to", request["id"], "--sealed", "--type", "note",
        said='{"secret": [1, 2]}\n',
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    lines = run("alice", "events").stdout.splitlines()
    assert f' from bob@{authority} (sealed): {{"secret":[1,2]}}  [' in lines[-1]
    assert "contact.accepted" in lines[0]
    assert run("alice", "events").stdout == ""
    shown = run("alice", "inbox", "--with", "bob").stdout.splitlines()
    assert [" to " in line for line in shown] == [False, True]
    assert "(sealed for its recipient)" in run("bob", "inbox", "--with", request["from"]).stdout


def test_a_prepared_message_is_printed_kept_and_sent_by_resume(run: Run, url: str) -> None:
    authority = url.partition("://")[2]
    unconnected = run("alice", "send", f"bob@{authority}", "x", "--prepare")
    assert (unconnected.returncode, unconnected.stderr.split(":")[0]) == (1, "not_connected")
    run("bob", "connect", url, "--name", "bob")
    run("alice", "connect", url, "--name", "alice")
    prepared = run("alice", "send", f"bob@{authority}", "later", "--prepare")
    envelope = json.loads(prepared.stdout)
    assert (envelope["from"], envelope["body"]) == (f"alice@{authority}", {"text": "later"})
    assert not Message.objects.exists()
    [outcome] = json.loads(run("alice", "resume", "--json").stdout)
    assert (outcome["id"], outcome["accepted"], outcome["duplicate"]) == (envelope["id"], True, False)
    assert Message.objects.get().envelope + "\n" == prepared.stdout
    assert run("alice", "resume").stdout == ""


def test_the_trial_prints_each_step_and_events_stream_as_json(run: Run, url: str) -> None:
    tried = run("alice", "self", url)
    assert tried.returncode == 0, tried.stderr
    assert [line.partition(":")[0] for line in tried.stdout.splitlines()] == [
        "discover", "connect", "send", "repeat", "seal", "events", "inbox"
    ]  # fmt: skip
    events = [json.loads(line) for line in run("alice", "events", "--json").stdout.splitlines()]
    assert [event["message"]["type"] for event in events] == ["self-test", "self-test"]
    assert "\u2028" in "".join(events[0]["message"]["body"])
    assert events[0]["message"]["body"] == events[1]["message"]["body"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["inbox"], "not_connected"),
        (["events", "--json"], "not_connected"),
        (["send", "bob", "x"], "not_connected"),
        (["send", "Bob@127.0.0.1:1", "x"], "invalid_address"),
        (["send", "bob@127.0.0.1:1", "{x"], "malformed_json"),
        (["send", "bob@127.0.0.1:1", "x", "--at", "nowhere"], "site_unreachable"),
        (["send", "bob@127.0.0.1:1", ""], "invalid_input"),
        (["send", "bob@127.0.0.1:1", " \n"], "invalid_input"),
        (["send", "bob@127.0.0.1:1", "-"], "invalid_input"),
        (["send", "bob@other.example", "x", "--at", "http://127.0.0.1:1"], "remote_authority"),
        (["accept", "bob@127.0.0.1:1"], "not_connected"),
        (["block", "bob@127.0.0.1:1"], "not_connected"),
    ],
    ids=lambda value: " ".join(value).strip() if isinstance(value, list) else value,
)
def test_what_cannot_be_done_ends_with_1_and_a_code(
    run: Run, db: None, arguments: list[str], code: str
) -> None:
    done = run("alice", *arguments, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == code


def test_a_refusal_of_the_service_ends_with_1(run: Run, url: str) -> None:
    authority = url.partition("://")[2]
    run("alice", "connect", url, "--name", "alice")
    refused = run("alice", "send", f"nobody@{authority}", "x")
    assert (refused.returncode, refused.stderr.split(":")[0]) == (1, "unknown_recipient")
    taken = run("carol", "connect", url, "--name", "alice")
    assert (taken.returncode, taken.stderr.split(":")[0]) == (1, "name_taken")


class Terminal:
    def __init__(self, *, is_one: bool) -> None:
        self.is_one = is_one
        self.written = ""

    def isatty(self) -> bool:
        return self.is_one

    def write(self, text: str) -> None:
        self.written += text

    def flush(self) -> None:
        pass


def test_work_is_shown_on_a_terminal_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(is_one=True)
    monkeypatch.setattr(sys, "stderr", terminal)
    show = _progress()
    assert show is not None
    for attempts in (50_000, 100_000, 300_000, 262_144):
        show(attempts, 262_144)
    first, *_, last = terminal.written.split("\r")[1:]
    assert first == "proof of work [#####.........................] 50,000 hashes"
    assert last == "proof of work [##############################] 262,144 hashes\n"
    monkeypatch.setattr(sys, "stderr", Terminal(is_one=False))
    assert _progress() is None
