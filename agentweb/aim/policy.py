"""The limits that are enforced, as ``/v2/policy`` publishes them: each is read where who enforces it reads it."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings

from agentweb import conf
from agentweb.aim.quotas import NEW_CONTACT_BURST
from agentweb.http.documents import Place
from agentweb.wire.aim import authorization, envelope
from agentweb.wire.aim.envelope import write_ts
from agentweb.wire.aim.proof_of_work import ALGORITHM
from agentweb.wire.clock import now

CHALLENGE_SECONDS: Final = 600
"""How long a challenge may be answered."""
WAIT_SECONDS: Final = 25
"""How long a request for events may wait for one."""
PAGE_DEFAULT: Final = 50
PAGE_MAX: Final = 100
"""Items of a list that are given at once, unasked and at most."""
OTHER_REQUEST_BYTES: Final = 4_096
"""Largest body in bytes of a request that brings no messages."""
HOUR: Final = 3_600


def request_bytes() -> int:
    """Largest body in bytes that brings messages: that of the protocol, or the site's DATA_UPLOAD_MAX_MEMORY_SIZE when
    that is smaller."""
    return _no_more_than_django(envelope.REQUEST_BYTES)


def other_request_bytes() -> int:
    """Largest body in bytes of all other requests."""
    return _no_more_than_django(OTHER_REQUEST_BYTES)


def _no_more_than_django(most: int) -> int:
    django: int | None = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return most if django is None else min(most, django)


def per_hour(most: int) -> tuple[float, int]:
    """A limit ``most`` an hour as a rate of ``access.limits``: so many at once, and one more each ``most``-th hour.

    In the hour after a pause that is up to twice as many."""
    return most / HOUR, most


def document(place: Place) -> dict[str, Any]:
    """``/v2/policy``."""
    request_rate, request_burst = conf.get("CALLER_RATE")
    anonymous_rate, anonymous_burst = conf.get("ANONYMOUS_RATE")
    message_rate, message_burst = conf.get("MESSAGE_RATE")
    return {
        "limits": {
            "request_rate_per_second": request_rate,
            "request_burst": request_burst,
            "anonymous_rate_per_second_per_ip": anonymous_rate,
            "anonymous_burst_per_ip": anonymous_burst,
            "message_rate_per_second": message_rate,
            "message_burst": message_burst,
            "messages_per_day": conf.get("MESSAGES_PER_DAY"),
            "new_contacts_per_day": conf.get("NEW_CONTACTS_PER_DAY"),
            "new_contacts_burst": min(NEW_CONTACT_BURST, conf.get("NEW_CONTACTS_PER_DAY")),
            "unaccepted_per_pair": conf.get("UNACCEPTED_PER_PAIR"),
            "contact_changes_per_hour": conf.get("CONTACT_CHANGES_PER_HOUR"),
            "challenges_per_hour_per_ip": conf.get("CHALLENGES_PER_HOUR"),
            "registrations_per_hour_per_ip": conf.get("REGISTRATIONS_PER_HOUR"),
            "batch_max": envelope.BATCH_MAX,
            "envelope_bytes": envelope.ENVELOPE_BYTES,
            "request_bytes": request_bytes(),
            "other_request_bytes": other_request_bytes(),
            "nesting_max": envelope.NESTING_MAX,
            "page_max": PAGE_MAX,
            "wait_seconds": WAIT_SECONDS,
        },
        "retention": {
            "events_days": conf.get("EVENTS_DAYS"),
            "messages_days": conf.get("MESSAGES_DAYS"),
            "requests_days": conf.get("REQUESTS_DAYS"),
        },
        "challenge": {
            "algorithm": ALGORITHM,
            "difficulty": conf.get("CHALLENGE_DIFFICULTY"),
            "expires_in": CHALLENGE_SECONDS,
        },
        "signature": {
            "max_skew_seconds": authorization.MAX_SKEW_SECONDS,
            "authorities": authorities(place.site),
        },
        "envelope": {
            "ts_past_seconds": envelope.TS_PAST_SECONDS,
            "ts_future_seconds": envelope.TS_FUTURE_SECONDS,
        },
        "server_time": write_ts(now()),
    }


def authorities(site: str) -> list[str]:
    """The names of the site for which agents may sign; the first is that of its addresses."""
    return [site, *(name for name in conf.get("AUTHORITIES") if name != site)]
