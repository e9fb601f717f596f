"""What docs/how-to/expose-a-drf-api.md shows of views is declared without a fault, and answers as the page says."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from types import ModuleType

import pytest
from django.contrib.auth.models import Group, User

from agentweb import action
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.catalog.drf.library import routed, urls
from tests.docs.pages import DOCS, blocks
from tests.docs.running import running

PAGE = "how-to/expose-a-drf-api.md"

pytestmark = pytest.mark.django_db


@pytest.fixture
def page() -> Iterator[ModuleType]:
    with running(PAGE, invite=lambda lead: None) as module:
        yield module


def test_the_actions_are_those_named(page: object) -> None:
    names = {each.name for each in registry.actions() if each.name.startswith("groups_")}
    text = (DOCS / PAGE).read_text(encoding="utf-8").partition("Now there are ")[2].partition(".")[0]
    assert set(re.findall(r"`(\w+)`", text)) == names
    shown = blocks(PAGE, "json")[2]
    assert registry.get("groups_partial_update").input_schema == json.loads(shown.text)


def test_the_view_answers_agents_and_browsers(page: ModuleType) -> None:
    group = Group.objects.create(name="Kitchen")
    ada = User.objects.create(username="ada")
    with urls(*routed(page.GroupViewSet, "groups")):
        agent = TestAgent(scopes=["groups:*"], user=ada)
        assert agent.get("/agent/groups_list").json() == [{"id": group.pk, "name": "Kitchen"}]
        assert agent.client.get("/api/groups/").json() == [{"id": group.pk, "name": "Kitchen"}]
        assert agent.post("/agent/groups_wave", {"pk": group.pk}).json() == {"waved_at": "Kitchen"}
        nobody = TestAgent(scopes=["groups:*"])
        assert nobody.post("/agent/groups_wave", {"pk": group.pk}).json()["error"]["code"] == "not_allowed"
        taken = agent.post("/agent/groups_create", {"name": "Kitchen", "lead": "a@b.example"}).json()["error"]
        assert [each["pointer"] for each in taken["problems"]] == ["/name"]


def test_a_view_of_which_nothing_is_known_takes_what_is_said(page: object) -> None:
    ada = User.objects.create(username="ada")
    agent = TestAgent(scopes=["greetings:send"], user=ada)
    assert agent.post("/agent/greeting", {"name": "Bob"}).json() == {"hello": "Bob", "from": "ada"}


def test_a_view_sells(page: object) -> None:
    agent = TestAgent(scopes=["tea:buy"], spending="EUR:5.00/5.00")
    assert agent.post("/agent/tea").json() == {"tea": True}
    assert agent.post("/agent/tea").json()["error"]["code"] == "mandate_exceeded"


def test_every_argument_of_from_view_stands_in_its_table() -> None:
    section = (DOCS / "reference/action.md").read_text(encoding="utf-8").partition("\n## Views\n")[2]
    table = section.partition("| argument |")[2].partition("\n\n")[0]
    listed = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    assert listed == set(inspect.signature(action.from_view).parameters) - {"view"}
