"""Node.js with the implementations of others that ``tests/judges/package.json`` names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

JUDGES = Path(__file__).resolve().parents[1] / "judges"
_DECODE = """
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";
const { decode } = await import(pathToFileURL(process.argv[1]).href);
const texts = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(texts.map((text) => decode(text, { strict: true }))));
"""


def toon_values(documents: list[bytes]) -> list[Any]:
    """What ``@toon-format/toon`` decodes these documents to.

    Skips where Node.js or the package is not; fails where they must be (AGENTWEB_REQUIRE_SERVICES=1).
    """
    node = shutil.which("node")
    if node is None:
        _not_here("Node.js is not installed")
    modules = Path(os.environ.get("AGENTWEB_NODE_MODULES", JUDGES / "node_modules"))
    package = modules / "@toon-format" / "toon" / "dist" / "index.mjs"
    if not package.is_file():
        _not_here("@toon-format/toon is not installed: npm ci in tests/judges, or set AGENTWEB_NODE_MODULES")
    asked = json.dumps([document.decode() for document in documents])
    done = subprocess.run(
        [str(node), "--input-type=module", "-e", _DECODE, str(package)],
        input=asked,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def _not_here(why: str) -> None:
    if os.environ.get("AGENTWEB_REQUIRE_SERVICES") == "1":
        raise AssertionError(why)
    pytest.skip(why)
