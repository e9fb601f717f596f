"""Following the tutorial leads where it says."""

from __future__ import annotations

import json
import re

from tests.docs.pages import blocks
from tests.docs.tutorial import PAGE, Site


def test_the_checks_of_the_site_are_clean(shop: Site) -> None:
    assert shop.said["python manage.py check --database default"] == (
        "System check identified no issues (0 silenced).\n"
    )


def test_what_the_page_shows_is_what_the_commands_print(shop: Site) -> None:
    shown = [
        block.text for block in blocks(PAGE) if block.language in {"json", "text"} and block.path is None
    ]
    listed, bought, said = shown
    assert json.loads(shop.said["curl http://127.0.0.1:8000/agent/list_teas"]) == json.loads(listed)
    [answer] = [
        text for command, text in shop.said.items() if "buy_tea" in command and "--confirm" in command
    ]
    assert {**json.loads(answer), "receipt": "rc_…"} == json.loads(bought)
    assert shop.said["python buy.py"] == said


def test_the_receipt_of_the_purchase_is_listed(shop: Site) -> None:
    said = shop.said["python -m agentweb.client receipts http://127.0.0.1:8000"]
    assert re.fullmatch(r"rc_[\w-]{22}  18\.00 USD  buy_tea\n", said)


def test_the_manifest_is_the_site_s(shop: Site) -> None:
    manifest = json.loads(shop.said["curl http://127.0.0.1:8000/.well-known/agent-actions.json"])
    assert [action["name"] for action in manifest["actions"]] == ["buy_tea", "list_teas"]
    assert manifest["site"] == shop.origin.removeprefix("http://")
