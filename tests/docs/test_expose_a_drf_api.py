"""What docs/how-to/expose-a-drf-api.md shows is declared without a fault, and answers as the page says."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group, User

from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.docs.pages import blocks
from tests.docs.running import running

PAGE = "how-to/expose-a-drf-api.md"
TEAM = {"name": "Kitchen", "lead": "ada@shop.example"}

pytestmark = pytest.mark.django_db


@pytest.fixture
def invited() -> Iterator[list[str]]:
    found: list[str] = []
    with running(PAGE, invite=found.append):
        yield found


def agent(**options: object) -> TestAgent:
    return TestAgent(scopes=["*"], **options)  # type: ignore[arg-type]


def test_the_schema_is_the_one_shown(invited: object) -> None:
    shown = blocks(PAGE, "json")[0]
    assert registry.get("open_team").input_schema == json.loads(shown.text)


def test_a_team_is_opened_once(invited: list[str]) -> None:
    answer = agent().post("/agent/open_team", TEAM)
    assert answer.json() == {"id": Group.objects.get().pk, "name": "Kitchen"}
    assert invited == ["ada@shop.example"]
    answer = agent().post("/agent/open_team", TEAM)
    shown = blocks(PAGE, "json")[1]
    assert (answer.status_code, answer.json()["error"]["problems"]) == (422, json.loads(shown.text))
    answer = agent().post("/agent/open_team", {**TEAM, "name": "Admins"})
    assert [each["code"] for each in answer.json()["error"]["problems"]] == ["reserved"]


def test_the_author_is_the_person(invited: object) -> None:
    person = User.objects.create(username="ada")
    answer = agent(user=person).post("/agent/write_note", {"text": "Tea"})
    assert answer.json() == {"text": "Tea", "author": "ada"}


def test_teams_leave_with_the_serializer_s_fields(invited: object) -> None:
    team = Group.objects.create(name="Kitchen")
    assert agent().get("/agent/teams").json() == [{"id": team.pk, "name": "Kitchen"}]
    schema = registry.get("teams").output_schema
    assert schema is not None
    assert schema["type"] == "array"


def test_a_field_of_the_site_s_own_is_published_as_it_says(invited: object) -> None:
    answer = agent().post("/agent/paint", {"color": "#ff0000"})
    assert answer.json() == {"color": 0xFF0000}
    answer = agent().post("/agent/paint", {"color": "red"})
    assert [each["code"] for each in answer.json()["error"]["problems"]] == ["pattern"]
