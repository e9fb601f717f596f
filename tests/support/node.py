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
    node = _node()
    modules = Path(os.environ.get("AGENTWEB_NODE_MODULES", JUDGES / "node_modules"))
    package = modules / "@toon-format" / "toon" / "dist" / "index.mjs"
    if not package.is_file():
        _not_here("@toon-format/toon is not installed: npm ci in tests/judges, or set AGENTWEB_NODE_MODULES")
    texts = [document.decode() for document in documents]
    found: list[Any] = _ask([node, "--input-type=module", "-e", _DECODE, str(package)], texts)
    return found


def messenger_verdict(vector: dict[str, Any], texts: list[str]) -> tuple[list[str], list[str]]:
    """What of a signing vector does not hold, and the RFC 8785 form of each JSON text, by ``judges/aim.mjs``.

    Skips where Node.js is not; fails where it must be.
    """
    found = _ask([_node(), str(JUDGES / "aim.mjs")], {"vector": vector, "texts": texts})
    return found["wrong"], found["texts"]


def judged_client(origin: str) -> dict[str, Any]:
    """What ``judges/aim_client.mjs``, written from the messenger's guides, saw of the messenger at ``origin``.

    Skips where Node.js is not; fails where it must be, and where the messenger does not do what its guides say.
    """
    done = subprocess.run(
        [_node(), str(JUDGES / "aim_client.mjs"), origin],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        _not_here("Node.js is not installed")
    return str(node)


def _ask(command: list[str], question: Any) -> Any:
    done = subprocess.run(
        command, input=json.dumps(question), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _not_here(why: str) -> None:
    if os.environ.get("AGENTWEB_REQUIRE_SERVICES") == "1":
        raise AssertionError(why)
    pytest.skip(why)
