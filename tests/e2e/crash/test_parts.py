"""Processes of the harness are really gone when they are killed, and come back; journals survive it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.crash import cluster
from tests.e2e.crash.journal import Journal, Tail, read
from tests.e2e.crash.parts import Part, python
from tests.e2e.crash.reader import page, resumed_at
from tests.e2e.crash.writer import unfinished
from tests.e2e.servers import free_port

FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
child.wait()
time.sleep(600)
"""


def _is_alive(pid: int) -> bool:
    return _state(pid) not in "ZX"


def _state(pid: int) -> str:
    """Of a process, as in proc(5); X when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def _line(path: Path) -> str:
    while not path.exists() or not path.read_text().endswith("\n"):
        time.sleep(0.01)
    return path.read_text().splitlines()[-1]


def test_a_part_is_killed_with_what_it_started_and_comes_back(tmp_path: Path) -> None:
    part = Part("family", python("-c", FAMILY), {}, tmp_path / "log")
    part.start()
    assert part.process is not None
    first, child = part.process.pid, int(_line(part.log))
    part.kill()
    while _is_alive(child):  # orphans are reaped by somebody else
        time.sleep(0.01)
    assert not part.is_running
    part.tick(random.Random(1), time.monotonic())
    assert part.is_running
    assert part.process.pid != first
    part.end()


def test_only_a_child_is_killed_where_its_parent_replaces_it(tmp_path: Path) -> None:
    part = Part("family", python("-c", FAMILY), {}, tmp_path / "log", one_of=1.0)
    part.start()
    child = int(_line(part.log))
    part.kill(random.Random(1))
    while _is_alive(child):
        time.sleep(0.01)
    assert part.is_running
    part.end()


def test_a_part_is_killed_only_after_it_answered(tmp_path: Path) -> None:
    answers = False
    part = Part("sleeper", python("-c", FAMILY), {}, tmp_path / "log", interval=1e-9, answers=lambda: answers)
    source = random.Random(1)
    assert [part.tick(source, time.monotonic()) for _ in range(5)] == [False] * 5
    answers = True
    assert [part.tick(source, time.monotonic() + later) for later in (1, 100)] == [False, True]
    assert part.kills == 1
    part.end()


def test_a_part_that_never_answers_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    words = python("-c", "print('no such table', flush=True); import time; time.sleep(600)")
    part = Part("mute", words, {}, tmp_path / "log", interval=1, answers=lambda: False)
    part.start()
    _line(part.log)
    with pytest.raises(RuntimeError, match="no such table"):
        part.tick(random.Random(1), time.monotonic() + 1_000)
    part.end()


def test_a_part_hangs_before_it_is_killed(tmp_path: Path) -> None:
    part = Part("sleeper", python("-c", FAMILY), {}, tmp_path / "log", interval=1e-9, hangs=1.0)
    source, now = random.Random(1), time.monotonic()
    part.start()
    assert part.process is not None
    assert not any(part.tick(source, now + each) for each in (0, 0.5))
    while _state(part.process.pid) != "T":
        time.sleep(0.01)
    assert part.tick(source, now + 10)
    part.end()


def test_a_part_that_hangs_is_replaced_when_it_is_needed(tmp_path: Path) -> None:
    part = Part("sleeper", python("-c", FAMILY), {}, tmp_path / "log", interval=1e-9, hangs=1.0)
    source, now = random.Random(1), time.monotonic()
    part.start()
    hung = part.process
    assert not any(part.tick(source, now + each) for each in (0, 0.5))
    part.wait_until_up()
    assert part.process is not hung
    assert part.is_running
    part.end()


def test_a_part_that_ends_by_itself_is_started_again_or_is_an_error(tmp_path: Path) -> None:
    part = Part("short", python("-c", "print('no more', flush=True)"), {}, tmp_path / "log")
    part.start()
    assert part.process is not None
    part.process.wait()
    part.tick(random.Random(1), time.monotonic())
    assert part.ends == 1
    part.process.wait()
    part.lives = True
    with pytest.raises(RuntimeError, match="no more"):
        part.tick(random.Random(1), time.monotonic())


def test_waiting_for_a_part_that_ends_at_once_is_given_up(tmp_path: Path) -> None:
    part = Part("short", python("-c", "print('no such setting', flush=True)"), {}, tmp_path / "log")
    part.answers = lambda: False
    with pytest.raises(RuntimeError, match=r"(?s)ends at once.*no such setting"):
        part.wait_until_up()


def test_a_postmaster_killed_with_its_children_recovers_what_was_committed(tmp_path: Path) -> None:
    import psycopg

    try:
        cluster.binaries()
    except FileNotFoundError as error:
        if os.environ.get("AGENTWEB_REQUIRE_SERVICES") == "1":
            raise
        pytest.skip(str(error))
    directory = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    directory.chmod(0o755)
    port = free_port()
    part = Part(
        "postgres",
        cluster.command(cluster.initialise(directory), port),
        {},
        tmp_path / "log",
        answers=lambda: cluster.answers(port),
        with_children=True,
        identity=cluster.identity(),
    )
    try:
        part.wait_until_up()
        where = {"host": "127.0.0.1", "port": port, "user": "postgres", "dbname": "postgres"}
        with psycopg.connect(**where, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept (number int)")
            connection.execute("INSERT INTO kept VALUES (7)")
            assert part.process is not None
            children = cluster.children(part.process.pid)
            part.kill()
            assert children
            assert not any(_is_alive(child) for child in children)
        part.wait_until_up()
        with psycopg.connect(**where) as connection:
            assert connection.execute("SELECT number FROM kept").fetchall() == [(7,)]
    finally:
        part.kill()
        subprocess.run(["rm", "-rf", str(directory)], check=True)


KILLED = """
import sys
from pathlib import Path
from tests.e2e.crash.journal import Journal
journal = Journal(Path(sys.argv[1]))
for number in range(10_000_000):
    journal.write({"number": number, "filler": "x" * 2000})
"""


def test_a_journal_keeps_whole_lines_when_its_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)]) as process:
        while not path.exists() or path.stat().st_size < 1_000_000:
            time.sleep(0.01)
        process.kill()
    with path.open("ab") as file:
        file.write(b'{"number": 1')  # at worst
    lines = read(path)
    assert [line["number"] for line in lines] == list(range(len(lines)))
    tail = Tail(path)
    assert len(tail.new()) == len(lines)
    Journal(path).write({"number": len(lines)})
    assert [line["number"] for line in tail.new()] == [len(lines)]
    assert [line["number"] for line in read(path)] == list(range(len(lines) + 1))


def test_a_writer_goes_on_with_what_was_not_answered_for_good() -> None:
    lines = [{"is": "intent", "id": ident, "envelope": f"text of {ident}"} for ident in "abcd"]
    lines += [
        {"is": "answer", "id": "a", "accepted": True, "final": False},
        {"is": "answer", "id": "b", "accepted": False, "final": True},
        {"is": "answer", "id": "c", "accepted": False, "final": False},
        {"is": "lost", "id": "d"},
    ]
    assert unfinished(lines) == {"c": "text of c", "d": "text of d"}


def test_a_reader_resumes_at_what_it_committed() -> None:
    assert resumed_at([{"is": "start", "cursor": "one"}], "one") == "one"
    lines = [
        page("one", {"events": [], "cursor": "two", "has_more": False}),
        {"is": "commit", "cursor": "two"},
    ]
    lines.append(page("two", {"events": [], "cursor": "three", "has_more": False}))
    assert resumed_at(lines, "one") == "two"
