"""Doing what the tutorial says: its files written, its commands run, its server started on a free port."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.pages import ROOT, blocks

PAGE = "tutorial/first-purchase.md"
WRITTEN_PORT = "8000"
# Done before the tests, or by a person only: a folder, an environment, packages.
_NOT_RUN = re.compile(r"^(mkdir|cd|python3 -m venv|pip install) ")
_ENDS = re.compile(r"# ends with (\d)$")
_SERVE = "python manage.py runserver"


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


@dataclass
class Site:
    """The tutorial's project. ``said`` is what each command printed, by the command as the page has it."""

    folder: Path
    port: str = field(default_factory=free_port)
    said: dict[str, str] = field(default_factory=dict)
    server: subprocess.Popen[bytes] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", "")])
        for name in ("DJANGO_SETTINGS_MODULE", "AGENTWEB_TEST_DB", "AGENTWEB_TEST_DB_NAME"):
            env.pop(name, None)
        return env

    def here(self, text: str) -> str:
        """A text of the page with this site's port."""
        return text.replace(f"127.0.0.1:{WRITTEN_PORT}", f"127.0.0.1:{self.port}")

    def write(self, path: str, text: str, *, is_appended: bool = False) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a" if is_appended else "w", encoding="utf-8") as file:
            file.write("\n" * is_appended + self.here(text))

    def run(self, command: str, **env: str) -> str:
        """The command's output, in the project's folder; it must end as the page says, else with 0."""
        said = _ENDS.search(command)
        done = subprocess.run(  # noqa: S602 - the page's own words
            self.here(command),
            shell=True,
            cwd=self.folder,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == (int(said[1]) if said else 0), f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def serve(self) -> None:
        self.server = subprocess.Popen(
            [sys.executable, "manage.py", "runserver", "--noreload", self.port],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(300):
            assert self.server.poll() is None, "the server ended at once"
            try:
                socket.create_connection(("127.0.0.1", int(self.port)), timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError("the server does not answer")

    def stop(self) -> None:
        if self.server is not None:
            self.server.terminate()
            self.server.wait(timeout=20)

    def follow(self) -> None:
        """Everything on the page, from top to bottom."""
        for block in blocks(PAGE):
            if block.path is not None:
                self.write(block.path, block.text, is_appended=block.is_appended)
            elif block.language == "sh":
                for command in block.text.strip().splitlines():
                    if command == _SERVE:
                        self.serve()
                    elif not _NOT_RUN.match(command):
                        self.said[command] = self.run(command)
