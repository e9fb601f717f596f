"""What the processes of the approval races do; see tests/support/races.py. The action exists in them only."""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth.models import User
from django.db import OperationalError

from agentweb import AgentError, action, conf
from agentweb.access import approvals, site_keys
from agentweb.access.models import Approval
from agentweb.invoke.models import IdempotencyRecord
from tests.site.models import Note
from tests.support.calls import caller_with, do


@action(
    effect="write",
    scope="notes:write",
    description="Write a note that a person approved.",
    confirm="person",
    input={"type": "object", "properties": {"text": {"type": "string"}}},
)
def approved_note(inp: Any, ctx: Any) -> Any:
    time.sleep(0.05)
    return {"id": Note.objects.create(text=inp["text"]).pk}


def call(chain: list[dict[str, Any]], user_id: Any, text: str, key: str) -> dict[str, Any]:
    """Call until there is an answer other than "busy": its code, and the approval that it speaks of."""
    for _ in range(400):
        try:
            do("approved_note", {"text": text}, caller_with(chain, user_id=user_id), key=key)
        except AgentError as error:
            if error.code in {"unavailable", "idempotency_in_progress"}:
                time.sleep(0.02)
                continue
            return {"code": error.code, "approval": error.extra.get("approval")}
        return {"code": "ok", "approval": None}
    raise AssertionError("never answered")


def prepare(chain: list[dict[str, Any]], texts: list[str], decide: bool) -> dict[str, Any]:
    """A person whose agent asked for each text, and who approved if so told."""
    site_keys.ensure_active_key()
    person = User.objects.create_user("ann")
    idents = []
    for number, text in enumerate(texts):
        asked = call(chain, person.pk, text, f"prepare-{number:012d}")
        assert asked["code"] == "needs_human"
        if decide:
            assert approvals.approve(asked["approval"], by=person)
        idents.append(asked["approval"])
    return {"user_id": person.pk, "approvals": idents}


def flood(chain: list[dict[str, Any]], user_id: Any, racer: int, calls: int) -> dict[str, int]:
    found = [call(chain, user_id, f"{racer}-{n}", f"flood-{racer:04d}-{n:08d}")["code"] for n in range(calls)]
    return {code: found.count(code) for code in set(found)}


def decide(approval_id: str, user_id: Any, racer: int) -> bool:
    """The even ones approve, the odd ones deny; whether this one decided."""
    person = User.objects.get(pk=user_id)
    while True:
        try:
            return (approvals.deny if racer % 2 else approvals.approve)(approval_id, by=person)
        except OperationalError as error:  # SQLite gives up waiting after a while; the race goes on
            if "locked" not in str(error):
                raise


def outcome() -> dict[str, Any]:
    states = list(Approval.objects.values_list("state", flat=True))
    return {
        "notes": Note.objects.count(),
        "states": {state: states.count(state) for state in set(states)},
        "keys": IdempotencyRecord.objects.count(),
        "limit": conf.get("OPEN_APPROVALS"),
    }
