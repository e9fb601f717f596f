"""``python -m benchmarks --suite actions``: see ``--help``."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path

from benchmarks import databases, servers
from benchmarks.suites import actions, aim, content, finding, retention, startup

SUITES = {
    "actions": actions.run,
    "aim": aim.run,
    "content": content.run,
    "finding": finding.run,
    "retention": retention.run,
    "startup": startup.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--suite", choices=[*SUITES, "all"], default="all")
    parser.add_argument("--rounds", type=int, default=5, help="Rounds of each contestant; medians are shown.")
    parser.add_argument("--seconds", type=int, default=3, help="Load on each contestant in a round.")
    parser.add_argument("--server", choices=[*servers.KINDS, "both"], default="both")
    parser.add_argument("--database", choices=[*databases.KINDS, "both"], default="sqlite")
    parser.add_argument(
        "--quick", action="store_true", help="aim: a short log, and fewer messages in a round."
    )
    parser.add_argument("--json", type=Path, help="Write every figure of every round to this file.")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}; ratios of one run are what to read.")
    found = {}
    for name in SUITES if options.suite == "all" else (options.suite,):
        print(f"\n== {name}")
        found[name] = SUITES[name](options)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
