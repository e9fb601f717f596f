"""``manage.py demo`` as people run it: a process, from anywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from demo_project.origin import lock_of, note_of, noted_origin
from demo_project.story.browser import Browser
from tests.demo.shopping import ROOT

ESCAPE = "\x1b"


def command(*arguments: Any) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), "demo", *map(str, arguments)]


def environment() -> dict[str, str]:
    """Ours, without what the test run or a terminal's user put there."""
    taken_out = ("DJANGO_SETTINGS_MODULE", "AGENTWEB_", "FORCE_COLOR", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(taken_out)}


def tell(*arguments: Any, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@contextmanager
def served(*arguments: Any) -> Iterator[tuple[subprocess.Popen[str], str, str, str]]:
    """(process, origin, user, password) of a shop that is open."""
    process = subprocess.Popen(
        command("--serve", *arguments),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        ready, staff = process.stdout.readline(), process.stdout.readline()
        origin = re.fullmatch(r"ready (http://127\.0\.0\.1:\d+)\n", ready)
        person = re.fullmatch(r"staff: (\S+) (\S+)\n", staff)
        if origin is None or person is None:
            process.kill()
            raise AssertionError(f"{ready}{staff}{process.communicate()[1]}")
        yield process, origin[1], person[1], person[2]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def descendants(pid: int) -> set[int]:
    """All processes below a process, as the system lists them."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(child): int(parent) for child, parent in (line.split() for line in listed.splitlines())}
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in {pid, *found}} - found:
        found |= more
    return found


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> list[subprocess.CompletedProcess[str]]:
    """The story, told twice in one shop."""
    folder = tmp_path_factory.mktemp("story")
    return [tell("--database", folder / "story.sqlite3", cwd=folder) for _ in range(2)]


@pytest.fixture
def told_in(stories: list[subprocess.CompletedProcess[str]], tmp_path: Path) -> Path:
    """A copy of the database in which the story was told."""
    [folder] = {Path(done.args[done.args.index("--database") + 1]).parent for done in stories}
    for file in folder.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path / "story.sqlite3"


def test_the_story_ends_well_and_prints_plain_text_into_a_pipe(
    stories: list[subprocess.CompletedProcess[str]],
) -> None:
    for done in stories:
        assert done.returncode == 0, done.stdout + done.stderr
        assert ESCAPE not in done.stdout
        assert "NOT OK" not in done.stdout
        for word in (
            "invalid_input",
            "grant_required",
            "request_replayed",
            "mandate_exceeded",
            "grant_revoked",
            "state_scope: public_schema_only",
            "session_pending",
            "insufficient_scope",
            "boxes of tea in the cart: 2",
            '"input": "req-',
            "session_revoked",
            "NO MONEY MOVES",
            "the same request now brings the grant",
            "how it ended: accepted",
            "the agreement that it used up: ag_",
            "given back, in the provider's books: [1150]",
        ):
            assert word in done.stdout
        assert longest(done.stdout) <= 260


def longest(text: str) -> int:
    """The length of the longest line that is told; nobody reads on when they are longer."""
    return max(map(len, text.splitlines()))


def test_the_story_compares_the_two_forms_of_a_page_by_a_counter_that_it_names(
    stories: list[subprocess.CompletedProcess[str]],
) -> None:
    told = stories[0].stdout
    assert "Tokens are counted by cl100k_base." in told
    found = re.findall(
        r"(/\w+): +JSON +([\d,]+) tokens, +([\d,]+) bytes; +TOON +([\d,]+) tokens, +([\d,]+) bytes",
        told,
    )
    assert [page for page, *_ in found] == ["/index", "/cart", "/orders"]
    json_tokens, json_bytes, toon_tokens, toon_bytes = (
        int(number.replace(",", "")) for number in found[0][1:]
    )
    assert toon_tokens < json_tokens < json_bytes
    assert toon_bytes < json_bytes


def test_a_story_that_goes_otherwise_says_what_was_expected_and_ends_with_1(
    told_in: Path, tmp_path: Path
) -> None:
    spoil = (
        "from demo_project.shop.models import Product\n"
        "Product.objects.filter(pk='copy-paper-a4-recycled').update(price=9900)"
    )
    subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "shell", "-c", spoil],
        env={**environment(), "AGENTWEB_DEMO_DATABASE": str(told_in)},
        capture_output=True,
        check=True,
    )
    done = tell("--database", told_in, cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"NOT OK .*\n +expected .*\n +got +.*grant_required", done.stdout), done.stdout
    assert "Traceback" not in done.stderr
    assert "--fresh" in done.stderr


def test_the_shop_stays_open_answers_briskly_and_leaves_nothing_behind(tmp_path: Path) -> None:
    port = free_port()
    with served("--port", port, "--database", tmp_path / "shop.sqlite3") as (process, origin, *_):
        assert origin == f"http://127.0.0.1:{port}"
        manifest = httpx.get(f"{origin}/.well-known/agent-actions.json", trust_env=False)
        assert manifest.status_code == 200
        assert manifest.json()["site"] == f"127.0.0.1:{port}"
        assert manifest.json()["keys"]
        statuses = twenty_a_second(f"{origin}/agent/search_products?query=tea", seconds=3)
        assert statuses == [200] * 60
        below = descendants(process.pid)
        assert below
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


def twenty_a_second(url: str, *, seconds: int) -> list[int]:
    """The statuses of 20 requests a second over one connection, at their times."""
    statuses = []
    with httpx.Client(trust_env=False, timeout=10) as http:
        began = time.monotonic()
        for number in range(20 * seconds):
            time.sleep(max(0.0, began + number / 20 - time.monotonic()))
            statuses.append(http.get(url).status_code)
    return statuses


def test_the_site_ends_even_when_its_parent_is_killed(told_in: Path) -> None:
    with served("--database", told_in) as (process, *_):
        below = descendants(process.pid)
        process.kill()
        process.wait(10)
        deadline = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in below):
            assert time.monotonic() < deadline, "the site outlived its parent"
            time.sleep(0.1)


@dataclass(frozen=True)
class Shop:
    """A shop that is open, and what its demo printed: ``customers`` are passwords by name."""

    database: Path
    origin: str
    user: str
    password: str
    told: dict[str, str]
    customers: dict[str, str]
    asking: str
    money: str


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    database = tmp_path_factory.mktemp("open") / "a shop.sqlite3"
    with served("--database", database) as (process, *login):
        yield Shop(database, *login, lines_for_people(process), passwords(process), *last_lines(process))


def test_staff_log_in_with_the_printed_password(shop: Shop) -> None:
    with httpx.Client(base_url=shop.origin, trust_env=False, timeout=30, follow_redirects=True) as browser:
        page = browser.get("/admin/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token is not None
        answer = browser.post(
            "/admin/login/?next=/admin/shop/product/",
            data={"username": shop.user, "password": shop.password, "csrfmiddlewaretoken": token[1]},
        )
        assert answer.status_code == 200
        assert "Copy paper A4" in answer.text
        for page in ("/admin/shop/order/", "/admin/shop/contactmessage/", "/static/admin/css/base.css"):
            assert browser.get(page).status_code == 200


def run(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command line as a person pastes it into a shell, in the folder where the shop was opened."""
    return subprocess.run(
        ["/bin/sh", "-c", command],
        env=environment() | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def lines_for_people(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout is not None
    lines = [process.stdout.readline().rstrip("\n") for _ in range(5)]
    return dict(line.split(": ", 1) for line in lines)


def passwords(process: subprocess.Popen[str]) -> dict[str, str]:
    """Of the customers, by name; what stands before them has been read."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(2)]
    return dict(re.fullmatch(r"customer: (\S+) (\S+)\n", line).groups() for line in lines)  # type: ignore[union-attr]


def last_lines(process: subprocess.Popen[str]) -> tuple[str, str]:
    """(the command with which an agent asks for a grant, what is said of money); what stands before has been read."""
    assert process.stdout is not None
    asking, money = (process.stdout.readline().rstrip("\n") for _ in range(2))
    return asking.partition(": ")[2], money


def test_people_log_in_with_the_printed_passwords_to_a_shop_with_some_life(shop: Shop) -> None:
    assert sorted(shop.customers) == ["ada", "grace"]
    grace = Browser(shop.origin)
    grace.log_in("grace", shop.customers["grace"])
    assert "Refund: pending" in grace.open("/orders")
    staff = Browser(shop.origin)
    staff.log_in(shop.user, shop.password)
    page = " ".join(re.sub(r"<[^>]+>", " ", staff.open("/control-panel")).split())
    assert "2 requests wait for a decision." in page
    assert re.search(r"req-3 Refund For grace, order or_[\w-]{22} \$42\.00 Approve", page)
    assert "req-1 Large purchase ada $267.00 approved staff" in page
    assert "2 reviews" in staff.open("/products/copy-paper-a4")


def test_the_printed_lines_let_an_agent_in(shop: Shop, tmp_path: Path) -> None:
    for name in (
        "front page",
        "admin, for the staff login",
        "manifest",
        "control panel, for the staff login",
    ):
        assert shop.told[name].startswith(f"{shop.origin}/")
        assert httpx.get(shop.told[name], trust_env=False, follow_redirects=True).status_code == 200
    store = {"AGENTWEB_KEY_STORE": str(tmp_path / "agent-keys.json")}
    issued = run(shop.told["let an agent in"], **store)
    assert issued.returncode == 0, issued.stderr
    assert issued.stderr == ""
    assert shop.origin.partition("://")[2] in issued.stdout
    client = f"{sys.executable} -m agentweb.client"
    cart = '{"product_id": "hojicha-100", "quantity": 1}'
    called = run(f"{client} call {shop.origin} add_to_cart '{cart}'", **store)
    assert called.returncode == 0, called.stderr
    assert "cart_id" in called.stdout
    ada = Browser(shop.origin)
    ada.log_in("ada", shop.customers["ada"])
    assert run(f"{client} key", **store).stdout.strip() in ada.open("/agent-access/")


def test_an_agent_asks_with_the_printed_line_and_a_customer_decides(shop: Shop, tmp_path: Path) -> None:
    assert shop.money.startswith("NO MONEY MOVES")
    store = {"AGENTWEB_KEY_STORE": str(tmp_path / "agent-keys.json")}
    asking = shop.asking.replace(" --wait", " --json")
    assert asking != shop.asking
    asked = run(asking, **store)
    assert asked.returncode == 3, asked.stderr
    grace = Browser(shop.origin)
    grace.log_in("grace", shop.customers["grace"])
    page = grace.open(json.loads(asked.stdout)["request"]["approve_url"])
    assert "To shop for you." in page
    grace.press("Approve")
    brought = run(asking, **store)
    assert brought.returncode == 0, brought.stderr
    # She ticked nothing that spends.
    grant = json.loads(brought.stdout)["grant"]
    assert (grant["scopes"], grant["mandate"]) == (["cart:read", "cart:write"], None)


GRANT = "import sys; from django.conf import settings; sys.stdout.write(settings.AGENTWEB['ORIGIN'])"


def origin_beside(database: Path, **variables: str) -> str:
    """What a command that is started now on this database takes for the shop's origin."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "shell", "--verbosity=0", "-c", GRANT],
        env={**environment(), "AGENTWEB_DEMO_DATABASE": str(database), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_commands_know_the_origin_of_the_shop_that_is_open_and_no_other(
    told_in: Path, tmp_path: Path
) -> None:
    database, note = told_in, tmp_path / "story.sqlite3-origin"
    usual = "http://127.0.0.1:8000"
    assert origin_beside(database) == usual
    with served("--database", database) as (process, origin, *_):
        assert origin_beside(database) == origin
        assert origin_beside(database, AGENTWEB_DEMO_ORIGIN="http://127.0.0.1:9") == "http://127.0.0.1:9"
        assert origin_beside(tmp_path / "another.sqlite3") == usual
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert not note.exists()
    with served("--database", database) as (process, *_):
        process.kill()
        process.wait(10)
        assert note.exists()
        # What a killed demo left behind is no origin, and the next demo is not hindered by it.
        assert origin_beside(database) == usual
    with served("--database", database) as (_, origin, *_):
        assert origin_beside(database) == origin


@pytest.mark.parametrize(
    "content", [b"", b"http://evil.example", b"\xff\xfe", b"http://127.0.0.1:8123\nmore"]
)
def test_a_note_that_no_demo_wrote_is_ignored(tmp_path: Path, content: bytes) -> None:
    database = tmp_path / "shop.sqlite3"
    note_of(database).write_bytes(content)
    with closing(sqlite3.connect(lock_of(database), isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        assert noted_origin(database) is None
        note_of(database).write_text("http://127.0.0.1:8123")
        assert noted_origin(database) == "http://127.0.0.1:8123"
    assert noted_origin(database) is None


def test_a_busy_port_is_said_clearly(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = tell("--serve", "--port", port, "--database", tmp_path / "shop.sqlite3", cwd=tmp_path)
    assert done.returncode == 1
    assert f"Port {port}" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_two_demos_on_one_database_do_not_collide(shop: Shop, tmp_path: Path) -> None:
    insisting = tell("--database", shop.database, cwd=tmp_path)
    easy = tell(cwd=tmp_path, AGENTWEB_DEMO_DATABASE=str(shop.database))
    assert insisting.returncode == 1
    assert "Another demo is using" in insisting.stderr
    assert "--database" in insisting.stderr
    # When the usual database is taken and none was asked for, another will do.
    assert easy.returncode == 0, easy.stdout + easy.stderr
    assert "a database of its own" in easy.stdout


@pytest.mark.parametrize("content", [b"my only copy", None], ids=["a file", "a folder"])
def test_fresh_deletes_only_databases_of_the_demo(tmp_path: Path, content: bytes | None) -> None:
    precious = tmp_path / "precious"
    if content is None:
        precious.mkdir()
    else:
        precious.write_bytes(content)
    done = tell("--fresh", "--database", precious, cwd=tmp_path)
    assert done.returncode == 1
    assert "is not deleted" in done.stderr
    assert "Traceback" not in done.stderr
    assert precious.is_dir() if content is None else precious.read_bytes() == content


def test_fresh_begins_with_a_database_that_holds_nothing_yet(tmp_path: Path) -> None:
    database = tmp_path / "empty.sqlite3"
    with closing(sqlite3.connect(database)) as empty:
        empty.execute("PRAGMA journal_mode=WAL")
    # The books of the test provider go too.
    database.with_name("empty.sqlite3-payments").write_bytes(b"of a shop that was here before")
    done = tell("--fresh", "--database", database, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_database_of_an_earlier_version_is_said_clearly(tmp_path: Path) -> None:
    database = tmp_path / "old.sqlite3"
    with closing(sqlite3.connect(database)) as old:
        old.execute("CREATE TABLE shop_product (slug)")
    done = tell("--database", database, cwd=tmp_path)
    assert done.returncode == 1
    assert "--fresh" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_database_with_another_secret_is_said_clearly(told_in: Path, tmp_path: Path) -> None:
    done = tell("--database", told_in, cwd=tmp_path, AGENTWEB_DEMO_SECRET_KEY="b" * 50)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "--fresh" in done.stderr
    assert "Traceback" not in done.stderr
