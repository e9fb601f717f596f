"""A PostgreSQL cluster of one's own, whose postmaster may be killed. The machine's is never touched."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

_USER = "postgres"


def binaries() -> Path:
    """The directory of ``initdb`` and ``postgres``: Debian's newest, else whatever is in the PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if debian:
        return debian[-1].parent
    found = shutil.which("postgres")
    if found is None:
        raise FileNotFoundError("PostgreSQL's server is not installed: apt-get install postgresql")
    return Path(found).resolve().parent


def identity() -> dict[str, Any]:
    """As whom it runs: PostgreSQL refuses root."""
    return {"user": _USER, "group": _USER, "extra_groups": []} if os.geteuid() == 0 else {}


def initialise(directory: Path) -> Path:
    """A new cluster below ``directory``, which everybody may enter; its data directory."""
    home = directory / "postgres"
    home.mkdir()
    if os.geteuid() == 0:
        shutil.chown(home, _USER, _USER)
    data = home / "data"
    command = [binaries() / "initdb", "-D", data, "-A", "trust", "-U", _USER, "--no-sync", "-E", "UTF8"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=home, **identity())
    return data


def command(data: Path, port: int) -> list[str]:
    """Starts the postmaster in the foreground. Commits are flushed as a site's are, which is the point."""
    options = {"fsync": "on", "synchronous_commit": "on", "max_connections": "100", "shared_buffers": "64MB"}
    return [
        str(binaries() / "postgres"),
        "-D",
        str(data),
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-k",
        str(data.parent),
        *(part for name, value in options.items() for part in ("-c", f"{name}={value}")),
    ]


def children(pid: int) -> list[int]:
    """The processes that ``pid`` started and that still run. Each backend is in a session of its own."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found.append(int(path.parent.name))
    return found


def answers(port: int) -> bool:
    """Whether it lets clients in; a postmaster listens while it still recovers."""
    import psycopg

    try:
        psycopg.connect(host="127.0.0.1", port=port, user=_USER, dbname=_USER, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
