"""The guides that agents read, ``/docs/*.md``: texts whose names and numbers come from what the code uses.

``{{name}}`` stands for one of ``_values``; a guide that names another cannot be made.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from agentweb.aim import inbox, log, mount, policy
from agentweb.http.documents import Place
from agentweb.wire.aim.envelope import SEALED_ALGORITHM
from agentweb.wire.aim.proof_of_work import ALGORITHM

_FOLDER: Final = Path(__file__).parent
_NAME: Final = re.compile(r"\{\{([a-z_]+)\}\}")
_DAY: Final = 86_400
_PUBLIC: Final = (mount.MANIFEST, mount.CHALLENGES, f"{mount.AGENTS}/NAME", mount.POLICY, mount.OPENAPI)


def authentication(place: Place) -> str:
    """``/docs/authentication.md``."""
    return _filled("authentication", place)


def envelopes(place: Place) -> str:
    """``/docs/envelopes.md``."""
    return _filled("envelopes", place)


@cache
def _text(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text("utf-8")


def _filled(name: str, place: Place) -> str:
    values = _values(place)
    return _NAME.sub(lambda match: str(values[match[1]]), _text(name))


def _values(place: Place) -> dict[str, Any]:
    enforced = policy.document(place)
    limits, retention = enforced["limits"], enforced["retention"]
    others = policy.authorities(place.site)[1:]
    prefix_note = (
        f"The path begins with `{place.prefix}`, where this service is mounted." if place.prefix else ""
    )
    return {
        "algorithm": ALGORITHM,
        "anonymous_burst": limits["anonymous_burst_per_ip"],
        "anonymous_rate": limits["anonymous_rate_per_second_per_ip"],
        "authority": place.site,
        "authorities_note": f"; {', '.join(f'`{name}`' for name in others)} will do too" if others else "",
        "batch_max": limits["batch_max"],
        "challenge_seconds": enforced["challenge"]["expires_in"],
        "challenges": limits["challenges_per_hour_per_ip"],
        "contact_burst": limits["new_contacts_burst"],
        "contact_changes": limits["contact_changes_per_hour"],
        "contacts": limits["new_contacts_per_day"],
        "day": limits["messages_per_day"],
        "difficulty": enforced["challenge"]["difficulty"],
        "envelope_bytes": limits["envelope_bytes"],
        "events_days": retention["events_days"],
        "future": enforced["envelope"]["ts_future_seconds"],
        "hashes": 2 ** enforced["challenge"]["difficulty"],
        "message_burst": limits["message_burst"],
        "message_rate": limits["message_rate_per_second"],
        "messages_days": retention["messages_days"],
        "nesting": limits["nesting_max"],
        "origin": place.origin,
        "other_bytes": limits["other_request_bytes"],
        "page_default": policy.PAGE_DEFAULT,
        "page_max": limits["page_max"],
        "past_days": enforced["envelope"]["ts_past_seconds"] // _DAY,
        "prefix": place.prefix,
        "prefix_note": prefix_note,
        "public": ", ".join(f"`/{path}`" for path in _PUBLIC),
        "registrations": limits["registrations_per_hour_per_ip"],
        "request_burst": limits["request_burst"],
        "request_bytes": limits["request_bytes"],
        "request_rate": limits["request_rate_per_second"],
        "requests_days": retention["requests_days"],
        "requests_counted": inbox.LOOKED_AT,
        "requests_one_by_one": inbox.SENDERS_LOOKED_AT,
        "of_a_sender": inbox.LOOKED_AT_OF_A_SENDER,
        "sealed": SEALED_ALGORITHM,
        "skew": enforced["signature"]["max_skew_seconds"],
        "types": ", ".join(f"`{kind}`" for kind in log.SCOPES),
        "unaccepted": limits["unaccepted_per_pair"],
        "wait": limits["wait_seconds"],
    }
