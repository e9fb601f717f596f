"""Pages of 30 KB to Markdown in counted parts, and the memory that many of them take."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import Any, Final

from benchmarks.environment import ROOT
from benchmarks.figures import judged

_GOAL: Final = 30
_FEW: Final = 20
_MANY: Final = 200
_GOAL_MB: Final = 10
_PROGRAM: Final = """
import json, resource, sys, time
from pathlib import Path
from agentweb.awp.content.convert import convert
from agentweb.awp.content.parts import split

long = Path("tests/awp/content/pages/long.html").read_text()
body = long.partition("<main>")[2]

def page(number):
    # Another 30 KB of the same kind each time.
    start = number * 977 % (len(body) - 30_000)
    return f"<!DOCTYPE html><body><nav><a href=/>Home</a></nav><main>{body[start : start + 30_000]}</main></body>"

def made(number):
    return len(split(convert(page(number), url="https://shop.example/").markdown))

made(0)
start = time.process_time()
parts = sum(map(made, range(int(sys.argv[1]))))
print(json.dumps({
    "seconds": time.process_time() - start, "parts": parts,
    "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure and print; the figures as dicts."""
    few = [_convert(_FEW) for _ in range(options.rounds)]
    many = _convert(_MANY)
    rate = statistics.median(_FEW / each["seconds"] for each in few)
    more = many["mb"] - statistics.median(each["mb"] for each in few)
    print(
        judged(
            [
                ("pages of 30 KB a second of CPU, tokens counted", rate, "≥", _GOAL, ""),
                (f"memory of {_MANY} pages beyond that of {_FEW}", more, "≤", _GOAL_MB, "MB"),
            ]
        )
    )
    return [{"name": "few", "pages": _FEW, **each} for each in few] + [
        {"name": "many", "pages": _MANY, **many}
    ]


def _convert(pages: int) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(pages)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    return found
