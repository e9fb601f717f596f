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


def test_when_the_day_s_money_is_used_up_the_script_says_so(shop: Site) -> None:
    said = shop.said["python buy.py  # ends with 3"]
    assert "Of 15.00 USD that may be spent without asking within 24 hours, 13.00 are used" in said


def test_the_receipt_of_the_purchase_is_listed(shop: Site) -> None:
    said = shop.said["python -m agentweb.client receipts http://127.0.0.1:8000"]
    assert re.fullmatch(
        r"rc_[\w-]{22}  \d{4}-\d\d-\d\d \d\d:\d\d UTC  18\.00 USD  buy_tea, 2 × Sencha\n", said
    )


def test_the_manifest_is_the_site_s(shop: Site) -> None:
    manifest = json.loads(shop.said["curl http://127.0.0.1:8000/.well-known/agent-actions.json"])
    assert [action["name"] for action in manifest["actions"]] == ["buy_tea", "list_teas"]
    assert manifest["site"] == shop.origin.removeprefix("http://")
