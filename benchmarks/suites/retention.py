"""How long writers wait while half of a million events is deleted: ``python -m benchmarks --suite retention``.

A writer, a process of its own, appends two events in a transaction every 10 ms, as an accepted message does. Its
slowest append is what counts; beside it stands the slowest while nothing is deleted. ``benchmarks.retaining`` does it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import databases
from benchmarks.environment import ROOT
from benchmarks.figures import table
from benchmarks.retaining import DATABASE


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure and print; the figures as dicts."""
    kinds = databases.KINDS if options.database == "both" else (options.database,)
    found = []
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder, databases.fresh(kind, Path(folder)) as settings:
            found.append({"database": kind, **_measure(settings)})
    print(
        table(
            ["database", "deleted", "seconds", "worst append ms", "p99 ms", "worst alone ms", "p99 alone ms"],
            [
                [
                    each["database"],
                    str(each["deleted"]),
                    f"{each['seconds']:.1f}",
                    *(f"{each[when][what]:.0f}" for when in ("during", "alone") for what in ("worst", "p99")),
                ]
                for each in found
            ],
        )
    )
    return found


def _measure(settings: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.retaining", "delete"],
        cwd=ROOT,
        env={**os.environ, DATABASE: json.dumps(settings)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
