"""Hints by Celery: after an accepted message the site's workers look at the log at once, and not when beat says so.

A hint carries no work. One that a broker loses, or that nobody takes in time, costs the period of the next sweep.
"""

from __future__ import annotations

from typing import Any, Final

from agentweb.aim import wakeups
from agentweb.aim.periods import SWEEP_SECONDS

TASK: Final = "agentweb.sweep"
QUEUE: Final = "agentweb"
"""Of our tasks alone, and its messages need no acknowledgement.

A worker whose acknowledgement a hanging Redis does not take counts that message as its own for ever; when it has as
many as it may prefetch, it takes no other, though Redis is back. Our tasks carry nothing that could be lost.
"""

_FAIL_FAST: Final = {"socket_connect_timeout": 0.5, "socket_timeout": 1, "max_retries": 0}


def send_by(app: Any) -> None:
    """Send a hint through this Celery app after messages were accepted, many of them one hint.

    From a thread of its own and with time-outs of its own, so whatever the broker does, no request notices. The app's
    workers take them from ``QUEUE``, beside the queues of the site.
    """
    app.amqp.queues.select_add(QUEUE, routing_key=QUEUE, no_ack=True)
    wakeups.add_outlet("Celery", _Sender(app))


class _Sender:
    """One connection, kept while it is good."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._connection: Any = None

    def __call__(self) -> None:
        if self._connection is None:
            options = dict(self._app.conf.broker_transport_options or {})
            self._connection = self._app.connection_for_write(
                connect_timeout=_FAIL_FAST["socket_connect_timeout"],
                transport_options={**options, **_FAIL_FAST},
            )
        try:
            self._app.send_task(
                TASK,
                connection=self._connection,
                queue=QUEUE,
                expires=SWEEP_SECONDS,
                retry=False,
                ignore_result=True,
            )
        except Exception:
            self._connection.release()
            self._connection = None
            raise
