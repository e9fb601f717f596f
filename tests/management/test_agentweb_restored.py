"""``manage.py agentweb_restored``: what agents know that the database has forgotten does not pass for its own."""

from __future__ import annotations

import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command

from agentweb.aim import consumers, log
from agentweb.aim.cursors import event_cursor
from agentweb.aim.events import read_events
from agentweb.aim.models import LogConsumer, LogHead
from agentweb.testing import clock
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError
from tests.aim.filling import agent, post

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0


def restored() -> dict[str, object]:
    out = io.StringIO()
    call_command("agentweb_restored", "--json", stdout=out)
    told: dict[str, object] = json.loads(out.getvalue())
    return told


def test_cursors_from_before_are_refused_although_their_position_exists_again() -> None:
    ann, bob = agent("ann"), agent("bob")
    post(ann, bob, 3)
    ends = log.ends()
    cursor = event_cursor(ends.epoch, ends.last)
    assert read_events(bob, cursor, 10, None, "shop.example")["events"] == []
    told = restored()
    assert told["epoch"] != ends.epoch
    assert (log.ends().last, log.ends().floor) == (ends.last, ends.floor)
    post(ann, bob)
    with pytest.raises(AgentError) as caught:
        read_events(bob, cursor, 10, None, "shop.example")
    assert caught.value.code == "cursor_future"


def test_signatures_from_before_are_known_by_the_time_that_is_kept() -> None:
    with clock(NOON) as time:
        restored()
        assert LogHead.objects.get().epoch_since == now_datetime()
        time.forward(5)
        restored()
        assert LogHead.objects.get().epoch_since == now_datetime()


def test_a_worker_that_worked_when_the_backup_was_made_is_not_waited_for() -> None:
    consumers.create(consumers.READERS)
    assert consumers.lease(consumers.TOLD) is not None
    LogConsumer.objects.update(leased_until=now_datetime() + timedelta(days=1))
    restored()
    assert consumers.lease(consumers.TOLD) is not None


def test_it_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("agentweb_restored")
    assert "goes on after position 0 in a new epoch" in capsys.readouterr().out
