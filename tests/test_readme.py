"""The README is run: its commands as they stand, its snippets on a project made by startproject."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.docs.pages import PAGES

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEMO = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && .venv/bin/python manage.py demo"
TESTS = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && .venv/bin/python -m pytest"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def block(language: str, start: str) -> str:
    [found] = [text for text in blocks(language) if text.startswith(start)]
    return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_the_two_commands_stand_in_the_readme() -> None:
    assert [text.strip() for text in blocks("sh")[:2]] == [DEMO, TESTS]


def test_every_file_that_the_readme_links_to_is_there() -> None:
    links = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in target]
    assert links
    assert [target for target in links if not (ROOT / target).exists()] == []


def test_nobody_is_led_to_install_another_project_of_that_name() -> None:
    for page in PAGES:
        for name in re.findall(r"pip install (?:\"|')?([^\s\"'`]+)", page.read_text(encoding="utf-8")):
            assert re.match(r"-r$|\.{0,2}/|agentweb-django\b", name), (page, name)


def test_every_package_that_comes_along_and_every_extra_is_described() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    needs = re.findall(r"^([\w-]+)[><=]", config["options"]["install_requires"], re.MULTILINE)
    rows = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs/reference/packages.md").read_text(), re.MULTILINE)
    assert rows == [*needs, *config["options.extras_require"]]


class Project:
    """A site made by startproject with one app, ``shop``, and then by the README's steps."""

    def __init__(self, directory: Path, port: int) -> None:
        self.directory = directory
        self.port = port
        self.origin = f"http://127.0.0.1:{port}"
        self.env = {**os.environ, "PYTHONPATH": str(ROOT)}
        for name in ("DJANGO_SETTINGS_MODULE", "AGENTWEB_TEST_DB", "AGENTWEB_TEST_DB_NAME"):
            self.env.pop(name, None)
        self.run(sys.executable, "-m", "django", "startproject", "mysite", ".")
        self.manage("startapp", "shop")
        self.append("mysite/settings.py", 'INSTALLED_APPS += ["shop"]\n')
        self.append("mysite/settings.py", self.here(block("python", "# settings.py")))
        self.append("mysite/urls.py", block("python", "# urls.py"))
        self.append("shop/agents.py", block("python", "# shop/agents.py"))

    def here(self, text: str) -> str:
        return text.replace("http://127.0.0.1:8000", self.origin)

    def append(self, path: str, text: str) -> None:
        with (self.directory / path).open("a", encoding="utf-8") as file:
            file.write("\n" + text)

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.directory,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def shell(self, line: str) -> str:
        """A line as it is pasted into a shell whose ``python`` is ours."""
        return self.run("/bin/sh", "-c", f'python() {{ "{sys.executable}" "$@"; }}; {line}')

    def manage(self, *arguments: str) -> str:
        return self.run(sys.executable, "manage.py", *arguments)

    def manifest(self) -> dict[str, object]:
        with urllib.request.urlopen(f"{self.origin}/.well-known/agent-actions.json", timeout=5) as answer:
            found: dict[str, object] = json.load(answer)
            return found


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path, free_port())
    for command in ("migrate", "agentweb_keys create"):
        assert f"`python manage.py {command}`" in README
        project.manage(*command.split())
    server = subprocess.Popen(
        [sys.executable, "manage.py", "runserver", "--noreload", str(project.port)],
        cwd=project.directory,
        env=project.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        for _ in range(300):
            try:
                project.manifest()
                break
            except OSError:
                assert server.poll() is None, server.stderr and server.stderr.read().decode()
                time.sleep(0.1)
        yield project
    finally:
        server.terminate()
        server.wait(timeout=20)


@pytest.mark.requirement("AA-6.1", "AA-7.1")
def test_the_quick_start_makes_a_site_that_an_agent_can_use(project: Project) -> None:
    project.manage("check")
    [listed] = project.manifest()["actions"]  # type: ignore[misc]
    assert listed["name"] == "add_to_cart"
    assert listed["input"]["properties"]["quantity"]["maximum"] == 20

    key = project.run(sys.executable, "-c", block("python", "# the agent's first step")).strip()
    assert key.startswith("ed25519:")
    command = block("sh", "python manage.py issue_grant").strip().replace("ed25519:…", key)
    printed = project.run(sys.executable, *command.split()[1:])
    # Pasted as it was printed, and as --quiet prints it.
    for text in (printed, project.run(sys.executable, *command.split()[1:], "--quiet")):
        second = project.here(block("python", "# the agent's second step")).replace("…", text)
        assert json.loads(project.run(sys.executable, "-c", second)) == {"added": 2, "for": key}


def test_an_agent_is_let_in_from_the_shell(project: Project) -> None:
    asking, granting, calling = project.here(block("sh", "python -m agentweb.client key")).splitlines()
    key = project.shell(asking).strip()
    assert project.shell(granting.replace("ed25519:…", key)).endswith(": cart:write\n")
    assert json.loads(project.shell(calling)) == {"added": 2, "for": key}


def test_the_public_documents_of_a_fresh_site_are_valid_and_its_checks_are_clean(project: Project) -> None:
    manifest = project.manifest()
    assert manifest["version"] == "agent-actions/0.1"
    assert manifest["site"] == f"127.0.0.1:{project.port}"
    report = project.manage("check", "--database", "default")
    assert "agentweb.E" not in report
