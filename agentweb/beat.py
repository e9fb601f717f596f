"""For a site that has Celery: when the tasks of ``agentweb.tasks`` run, and how its broker stays out of the way.

In its settings, for ``config_from_object("django.conf:settings", namespace="CELERY")``::

    from agentweb import beat

    CELERY_BROKER_TRANSPORT_OPTIONS = beat.TRANSPORT_OPTIONS
    CELERY_BEAT_SCHEDULE = beat.SCHEDULE

and in its ``celery.py``, after ``app.autodiscover_tasks()``::

    beat.send_hints_by(app)

Importing it needs neither Celery nor a set-up Django.
"""

from __future__ import annotations

from typing import Any, Final

from agentweb.aim import hints
from agentweb.aim.periods import RETENTION_SECONDS, SWEEP_SECONDS
from agentweb.awp.content.periods import CONTENT_SECONDS
from agentweb.ledger.periods import PAYMENTS_SECONDS

SWEEP: Final = hints.TASK
RETENTION: Final = "agentweb.retention"
CONTENT: Final = "agentweb.content"
PAYMENTS: Final = "agentweb.payments"
BACKGROUND: Final = "agentweb.background"
BACKGROUND_SECONDS: Final = 300.0
"""How often what rooms do in the background is looked for: sites of the index that are due."""

SCHEDULE: Final[dict[str, dict[str, Any]]] = {
    "agentweb-sweep": {
        "task": SWEEP,
        "schedule": SWEEP_SECONDS,
        "options": {"expires": SWEEP_SECONDS, "queue": hints.QUEUE},
    },
    "agentweb-retention": {
        "task": RETENTION,
        "schedule": RETENTION_SECONDS,
        "options": {"expires": RETENTION_SECONDS, "queue": hints.QUEUE},
    },
    "agentweb-payments": {
        "task": PAYMENTS,
        "schedule": PAYMENTS_SECONDS,
        # Not in our queue: a provider may keep it waiting, and a message would wait for that.
        "options": {"expires": PAYMENTS_SECONDS},
    },
    "agentweb-content": {
        "task": CONTENT,
        "schedule": CONTENT_SECONDS,
        # Not in our queue: it may take minutes, and a message would wait for them.
        "options": {"expires": CONTENT_SECONDS},
    },
    "agentweb-background": {
        "task": BACKGROUND,
        "schedule": BACKGROUND_SECONDS,
        # Not in our queue either, for the same reason.
        "options": {"expires": BACKGROUND_SECONDS},
    },
}
"""For ``beat_schedule``. What waited longer than until the next one is not run any more."""

TRANSPORT_OPTIONS: Final[dict[str, float]] = {
    "socket_connect_timeout": 0.5,
    "socket_timeout": 1,
    "max_retries": 0,
    "visibility_timeout": 60,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
}
"""For ``broker_transport_options`` with Redis: a broker that accepts and never answers is given up after a second, and
what a killed worker had taken comes back within a minute or so."""


def send_hints_by(app: Any) -> None:
    """Have this Celery app's workers serve our queue, and sweep at once after messages were accepted.

    A worker that is started with ``-Q`` has to name the queue ``agentweb`` too.
    """
    hints.send_by(app)
