"""The environment in which the contestants run: a virtual one of its own, made once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / ".benchmarks"
_REQUIREMENTS: Final = ROOT / "benchmarks" / "requirements.txt"


def python() -> str:
    """The interpreter of the contestants' environment, which is made when it is not there or out of date."""
    venv = FOLDER / f"venv-{sys.version_info[0]}.{sys.version_info[1]}"
    executable, mark = venv / "bin" / "python", venv / "installed.txt"
    wanted = _REQUIREMENTS.read_text()
    if not mark.exists() or mark.read_text() != wanted:
        print(f"Installing the contestants into {venv.relative_to(ROOT)} …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run(
            [str(executable), "-m", "pip", "install", "-q", "-r", str(_REQUIREMENTS)], cwd=ROOT, check=True
        )
        mark.write_text(wanted)
    return str(executable)
