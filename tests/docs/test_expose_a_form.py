"""What docs/how-to/expose-a-form.md shows is declared without a fault, and answers as the page says."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from agentweb.testing import TestAgent
from tests.docs.pages import blocks
from tests.docs.running import running

PAGE = "how-to/expose-a-form.md"

pytestmark = pytest.mark.django_db


@pytest.fixture
def queued() -> Iterator[list[tuple[str, str]]]:
    sent: list[tuple[str, str]] = []
    with running(PAGE, queue=lambda *mail: sent.append(mail)):
        yield sent


def agent(**options: object) -> TestAgent:
    return TestAgent(scopes=["*"], **options)  # type: ignore[arg-type]


def test_an_account_is_opened_once(queued: object) -> None:
    answer = agent().post("/agent/open_account", {"username": "ada"})
    assert answer.json() == {"saved": True, "id": User.objects.get().pk}
    answer = agent().post("/agent/open_account", {"username": "ada"})
    [shown] = blocks(PAGE, "json")
    assert (answer.status_code, answer.json()["error"]["problems"]) == (422, json.loads(shown.text))
    answer = agent().post("/agent/open_account", {"username": "admin"})
    assert [each["code"] for each in answer.json()["error"]["problems"]] == ["reserved"]


def test_a_message_is_queued(queued: list[tuple[str, str]]) -> None:
    answer = agent().post("/agent/contact_us", {"email": "ada@shop.example", "message": "Hello"})
    assert (answer.json(), queued) == ({"queued": True}, [("ada@shop.example", "Hello")])


def test_the_person_is_renamed(queued: object) -> None:
    person = User.objects.create(username="ada")
    answer = agent(user=person).post("/agent/rename_me", {"first_name": "Ada"})
    assert answer.json() == {"saved": True, "id": person.pk}
    assert User.objects.get().first_name == "Ada"
    answer = agent().post("/agent/rename_me", {"first_name": "Ada"})
    assert [each["code"] for each in answer.json()["error"]["problems"]] == ["no_person"]


def test_a_title_is_changed_without_a_photo(queued: object) -> None:
    assert agent().post("/agent/change_title", {"title": "Sea"}).json() == {"saved": True}
