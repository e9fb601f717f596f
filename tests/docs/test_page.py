"""What docs/reference/page.md shows is served so, and its tables name what there is."""

from __future__ import annotations

import inspect
import json
import re

import pytest
from django.contrib.auth.models import User
from django.test import override_settings

import agentweb
from agentweb.access import site_keys
from agentweb.http.page_context import PageContext
from agentweb.testing import TestAgent
from tests.docs.pages import DOCS, blocks
from tests.docs.running import running
from tests.support.web import send

PAGE = "reference/page.md"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")

pytestmark = pytest.mark.django_db


def rows(heading: str) -> list[str]:
    """The first cells of the table under a heading."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.requirement("AIP-5.10")
@override_settings(AGENTWEB={"ORIGIN": "https://shop.example"})
def test_the_manifest_is_the_one_shown_and_every_member_is_described() -> None:
    site_keys.ensure_active_key()
    [shown] = [json.loads(block.text) for block in blocks(PAGE, "json")]
    with running(PAGE):
        agent = TestAgent.with_session(scopes=["requests:approve"], user=User.objects.create_user("ada"))
        served = json.loads(agent.get("/control-panel.json").content)
        public = send("GET", "/control-panel.json").json()
        [denied] = (
            TestAgent.with_session(scopes=["other"])
            .get("/control-panel.json?include=denied")
            .json()["actions"]
        )
    served["session"]["expires_at"] = shown["session"]["expires_at"]
    assert json.dumps(served) == json.dumps(shown)
    members = {*served, *public, *(f"actions[].{name}" for name in denied)}
    assert set(rows("The members")) == members


def test_every_argument_is_described() -> None:
    assert rows("Arguments") == list(inspect.signature(agentweb.page).parameters)


def test_every_attribute_of_the_context_is_described() -> None:
    named = {name.removeprefix("ctx.") for name in rows("The state")}
    assert named == {name for name in dir(PageContext) if not name.startswith("_")}
