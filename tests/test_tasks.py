"""The tasks of Celery are shells: what they do is what the functions do that commands call too."""

from __future__ import annotations

import pytest

from agentweb import beat, tasks
from agentweb.aim.models import Account
from tests.aim.filling import agent, post

pytestmark = pytest.mark.django_db


def test_a_sweep_does_what_is_left_to_do() -> None:
    post(agent("ann"), agent("bob"), 2)
    assert tasks.sweep() == {"events": 4, "told": 0, "lag": 0}
    assert Account.objects.get(agent__name="bob").received == 2
    assert tasks.sweep() == {"events": 0, "told": 0, "lag": 0}


def test_retention_clears_every_floor() -> None:
    assert {"nonces", "events", "messages", "audit_entries"} <= tasks.retention().keys()


def test_the_schedule_names_the_tasks_that_there_are_and_lets_none_pile_up() -> None:
    assert {entry["task"] for entry in beat.SCHEDULE.values()} == {
        tasks.sweep.name,
        tasks.retention.name,
        tasks.content_run.name,
        tasks.payments.name,
        tasks.background.name,
    }
    assert all(entry["options"]["expires"] == entry["schedule"] for entry in beat.SCHEDULE.values())


def test_no_result_is_kept() -> None:
    assert tasks.sweep.ignore_result
    assert tasks.retention.ignore_result
