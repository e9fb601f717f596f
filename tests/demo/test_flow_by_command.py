"""An agent's owner runs the shop's flow from a shell, and is asked before it pays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from agentweb.client import KeyStore
from agentweb.wire.grants import encode_chain
from tests.demo.shopping import ROOT, Shop
from tests.docs.pages import blocks

WANTED = '{"query": "printer paper", "quantity": 2, "price": 20}'


def test_buy_product_runs_from_the_command_line_and_pays_once(shop: Shop, tmp_path: Path) -> None:
    def run(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "agentweb.client", *arguments],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
            input=said,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    def answer(*arguments: str, code: int = 0) -> Any:
        done = run(*arguments, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    key = run("key").stdout.strip()
    missing = answer("flow", shop.origin, "buy_product", WANTED, code=1)["error"]
    assert (missing["code"], missing["step"], missing["completed"]) == ("grant_required", 0, [])
    assert missing["grant_request"]["scopes"] == ["cart:write", "checkout"]
    assert missing["grant_request"]["mandate"]["total"] == "20.00"

    chain = shop.desk.ask(
        "issue",
        subject=key,
        scopes=["cart:*", "checkout"],
        site=urlsplit(shop.origin).netloc,
        user=None,
        spending="USD:50.00/200.00",
    )
    assert run("add-grant", "-", said=encode_chain(chain)).returncode == 0
    assert answer("flow", shop.origin, "buy_product", WANTED, "--plan")["cost"] == {"USD": "20.00"}
    asked = answer("flow", shop.origin, "buy_product", WANTED, code=3)["error"]
    assert (asked["code"], asked["step"], asked["action"]) == ("needs_human", 2, "checkout")
    assert asked["cost"] == {"amount": "20.00", "currency": "USD"}
    [waiting] = answer("approvals")
    assert waiting["approval"] == asked["approval"]
    [run_left] = answer("runs")
    assert run_left["run"] == asked["resume"]["run"]

    bought = answer("confirm", asked["approval"])
    assert bought["run"] == asked["resume"]["run"]
    assert bought["value"]["order_id"].startswith("or_")
    [receipt] = answer("receipts", shop.origin)
    assert receipt["id"] == bought["value"]["receipt"]
    [held] = answer("grants")
    left = float(held["mandate"]["remaining"])
    assert left == 200 - float(receipt["amount"])
    assert answer("runs") == []
    assert answer("confirm", asked["approval"], code=1)["error"]["code"] == "not_found"


def test_the_program_of_the_page_about_flows_buys_here(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store = KeyStore("agent-keys.json")
    chain = shop.desk.ask(
        "issue",
        subject=store.key.public,
        scopes=["cart:*", "checkout"],
        site=urlsplit(shop.origin).netloc,
        user=None,
        spending="USD:50.00/200.00",
    )
    store.add_grant(chain)
    [program] = blocks("how-to/run-flows.md", "python")
    exec(program.text, {"SHOP": shop.origin, "WANTED": json.loads(WANTED)})  # noqa: S102
    first, second = capsys.readouterr().out.splitlines()
    assert first == "checkout {'amount': '20.00', 'currency': 'USD'}"
    assert second.startswith("or_")
