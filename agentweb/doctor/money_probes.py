"""Payments: whether somebody brings them to their end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agentweb.http.probes import WITH_TABLES, Examined, Level, Probe, Problem
from agentweb.ledger import providers, settling


def unsettled_payments(site: Examined) -> Iterable[Problem] | None:
    found = settling.unsettled()
    if not providers.is_configured() and not found.payments and not found.refunds:
        return None
    if found.late_since is None:
        return []
    return [
        Problem(
            f"Of {found.payments} payments and {found.refunds} refunds that the provider has not settled, the "
            f"oldest is of {found.late_since:%Y-%m-%d %H:%M} UTC.",
            "Run `agentweb_worker`, or Celery, or `agentweb_payments` by cron; `agentweb_payments --list` shows them.",
        )
    ]


PROBES: Final = (
    Probe("D046", Level.WARNING, "Payments come to their end.", unsettled_payments, after=WITH_TABLES),
)
