"""A site's ``celery.py``, as docs/how-to/run-the-messenger.md has it."""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import worker_process_init

from agentweb import beat

app = Celery("tests", broker=os.environ["AGENTWEB_TEST_BROKER"])
app.conf.task_ignore_result = True
app.conf.worker_prefetch_multiplier = 1
app.conf.broker_connection_retry_on_startup = True
app.conf.broker_transport_options = {**beat.TRANSPORT_OPTIONS, "visibility_timeout": 5}
app.conf.beat_schedule = {
    name: {**entry, "schedule": 0.5 if name == "agentweb-sweep" else entry["schedule"]}
    for name, entry in beat.SCHEDULE.items()
}
app.autodiscover_tasks(["agentweb"])
beat.send_hints_by(app)


@worker_process_init.connect
def _record(**told: object) -> None:
    from tests.aim.working import recording

    recording.connect()
