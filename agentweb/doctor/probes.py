"""Everything that the doctor looks at, in the order in which it reports."""

from __future__ import annotations

from agentweb import rooms
from agentweb.doctor import (
    answers_probes,
    database_probes,
    documents_probes,
    keys_probes,
    money_probes,
    queue_probes,
    settings_probes,
)
from agentweb.http.probes import Probe


def all_probes() -> list[Probe]:
    """The database comes first: what needs its tables waits for it."""
    return [
        *database_probes.PROBES,
        *settings_probes.PROBES,
        *keys_probes.PROBES,
        *money_probes.PROBES,
        *queue_probes.PROBES,
        *documents_probes.PROBES,
        *answers_probes.PROBES,
        *rooms.probes(),
    ]
