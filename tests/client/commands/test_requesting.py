"""``request-grant`` and ``take-back`` as an agent's owner runs them: processes, against this package's own site."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentweb import action
from agentweb.access import pairing, site_keys
from agentweb.access.models import Pairing
from tests.support.web_fixtures import catalog, many_callers

__all__ = ["catalog", "many_callers"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("many_callers")]

ROOT = Path(__file__).parents[3]
OPENED = "A person opens "
QUESTION = "Take it back? [y/N] "


@pytest.fixture
def origin(request: pytest.FixtureRequest, settings: Any, catalog: None) -> Iterator[str]:
    # The server would look for files of STATIC_ROOT there.
    settings.STATIC_URL = "/unused/"
    server = request.getfixturevalue("live_server")
    settings.AGENTWEB = {**settings.AGENTWEB, "ORIGIN": server.url, "GRANT_REQUESTS": True}
    site_keys.ensure_active_key()

    @action(effect="write", scope="cart:write", description="Put in.", input={"type": "object"})
    def add_to_cart(inp: Any, ctx: Any) -> Any:
        return {}

    yield str(server.url)
    # Threads that answered hold connections to the database, which is to be dropped.
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(timeout=10)


@pytest.fixture
def command(tmp_path: Path) -> dict[str, Any]:
    """What starts a command: where, and with which environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return {"cwd": tmp_path, "env": environment, "text": True, "encoding": "utf-8"}


@pytest.fixture
def run(command: dict[str, Any]) -> Callable[..., tuple[int, Any]]:
    """(exit code, the JSON value) of a command."""

    def run(*arguments: str) -> tuple[int, Any]:
        done = subprocess.run(
            [*CLIENT, *arguments, "--json"], **command, capture_output=True, timeout=60, check=False
        )
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    return run


CLIENT = (sys.executable, "-m", "agentweb.client")
ASKING = ("--scope", "cart:write", "--reason", "To shop.")


def state() -> str:
    return str(Pairing.objects.get().state)


def test_a_request_is_taken_back_from_the_shell_and_the_next_is_a_new_one(
    origin: str, run: Callable[..., tuple[int, Any]]
) -> None:
    code, first = run("request-grant", origin, *ASKING)
    ident = first["request"]["request_id"]
    assert (code, state()) == (3, "pending")
    for _ in range(2):
        assert run("take-back", origin, ident) == (0, {"request_id": ident, "state": "cancelled"})
    assert state() == "cancelled"
    code, again = run("request-grant", origin, *ASKING)
    assert code == 3
    assert again["request"]["request_id"] != ident


def test_taking_back_says_when_the_person_was_faster_and_the_grant_still_comes(
    origin: str, run: Callable[..., tuple[int, Any]]
) -> None:
    ident = run("request-grant", origin, *ASKING)[1]["request"]["request_id"]
    given = pairing.approve(
        Pairing.objects.get(),
        by=User.objects.create_user("ann"),
        scopes=["cart:write"],
        mandate=None,
        expires_in=600,
        site=origin.partition("://")[2],
    )
    code, refused = run("take-back", origin, ident)
    assert (code, refused["error"]["code"]) == (1, "conflict")
    code, brought = run("request-grant", origin, *ASKING)
    assert (code, brought["grant"]["id"]) == (0, given)


def test_nobody_takes_back_what_another_key_asked(
    origin: str, run: Callable[..., tuple[int, Any]], tmp_path: Path
) -> None:
    ident = run("request-grant", origin, *ASKING)[1]["request"]["request_id"]
    code, refused = run("--key-store", str(tmp_path / "other.json"), "take-back", origin, ident)
    assert (code, refused["error"]["code"], state()) == (1, "not_found", "pending")


def test_people_are_told_how_to_take_it_back(origin: str, command: dict[str, Any]) -> None:
    done = subprocess.run(
        [*CLIENT, "request-grant", origin, *ASKING], **command, capture_output=True, timeout=60, check=False
    )
    ident = Pairing.objects.get().pk
    assert done.returncode == 3
    assert f"take-back {origin} {ident}" in done.stdout
    taken = subprocess.run(
        [*CLIENT, "take-back", origin, ident], **command, capture_output=True, timeout=60, check=False
    )
    assert (taken.returncode, taken.stderr) == (0, "")
    assert taken.stdout == f"{ident} is taken back; nobody is asked any more.\n"


class Terminal:
    """A command whose standard error, and input if it is to be asked, is a terminal; and what stands there."""

    def __init__(self, process: subprocess.Popen[str], end: int) -> None:
        self.process = process
        self._end = end
        self.shown = ""

    def read_until(self, words: str) -> None:
        until = time.monotonic() + 60
        while words not in self.shown:
            ready, _, _ = select.select([self._end], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"{words!r} does not come: {self.shown!r}"
            self.shown += os.read(self._end, 1_024).decode()

    def types(self, text: str) -> None:
        os.write(self._end, text.encode())

    def is_interrupted(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def ends(self) -> tuple[int, str]:
        """(exit code, standard output)."""
        told, _ = self.process.communicate(timeout=60)
        return self.process.returncode, told


@contextmanager
def waiting(command: dict[str, Any], *arguments: str, is_asked: bool) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    # A shell's job in the background ignores interrupts, and so would what it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [*CLIENT, *arguments],
        **command,
        stdin=theirs if is_asked else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    signal.signal(signal.SIGINT, before)
    os.close(theirs)
    try:
        terminal = Terminal(process, ours)
        terminal.read_until(OPENED)
        yield terminal
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
        os.close(ours)


def test_a_person_who_interrupts_the_waiting_is_asked_and_takes_it_back(
    origin: str, command: dict[str, Any]
) -> None:
    with waiting(command, "request-grant", origin, *ASKING, "--wait", is_asked=True) as terminal:
        terminal.is_interrupted()
        terminal.read_until(QUESTION)
        terminal.types("y\n")
        assert terminal.ends() == (
            130,
            f"{Pairing.objects.get().pk} is taken back; nobody is asked any more.\n",
        )
    assert state() == "cancelled"


@pytest.mark.parametrize("said", ["\n", None], ids=["no", "another-interrupt"])
def test_a_person_who_does_not_say_yes_leaves_it_waiting(
    origin: str, command: dict[str, Any], said: str | None
) -> None:
    with waiting(command, "request-grant", origin, *ASKING, "--wait", is_asked=True) as terminal:
        terminal.is_interrupted()
        terminal.read_until(QUESTION)
        terminal.types(said) if said else terminal.is_interrupted()
        code, told = terminal.ends()
    assert (code, state()) == (130, "pending")
    assert "Traceback" not in terminal.shown
    if said:
        assert f"take-back {origin} {Pairing.objects.get().pk}" in told


@pytest.mark.parametrize(
    ("more", "left", "member"), [(["--take-back"], "cancelled", "state"), ([], "pending", "request")]
)
def test_without_a_terminal_an_interrupt_does_what_the_option_says(
    origin: str, command: dict[str, Any], more: list[str], left: str, member: str
) -> None:
    asking = ("request-grant", origin, *ASKING, "--wait", "--json", *more)
    with waiting(command, *asking, is_asked=False) as terminal:
        terminal.is_interrupted()
        code, told = terminal.ends()
    assert (code, state()) == (130, left)
    assert member in json.loads(told)
    assert QUESTION not in terminal.shown
