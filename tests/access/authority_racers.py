"""What the processes of ``test_authority_races`` do."""

from __future__ import annotations

import json
import secrets
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from agentweb.access import principals, revocation_log, sessions, site_keys
from agentweb.access.models import Grant, Mandate, PrincipalKey, Revocation
from agentweb.ledger.models import Receipt
from agentweb.testing import TestAgent
from agentweb.wire.errors import InputError
from agentweb.wire.grants import Mandate as Terms
from agentweb.wire.grants import attenuate, encode_chain, parse_grant
from agentweb.wire.revocations import verify_list
from agentweb.wire.signing import SigningKey
from tests.access.racers import again_when_locked, meet
from tests.access.signing import AGENT, OTHER, PERSON, SITE, enrol, person_grant
from tests.site.models import Note

REVOCATIONS = "/agent-actions/revocations"
TERMS = Terms("USD", 100, 1_000_000)
SCOPES = ["shop:pay", "notes:write"]
KEYS_EACH = 5
WIDE = (1_000, 10**6)
RATES = ("CALLER_RATE", "ANONYMOUS_RATE", "FAILURE_RATE", "NEW_GRANT_RATE")


def set_up(processes: int) -> dict[str, Any]:
    """A person with a key and with sessions; nothing that they issued is known yet."""
    site_keys.ensure_active_key()
    ann = User.objects.create_user("ann")
    enrol(ann)
    for number in range(processes):
        User.objects.create_user(f"user{number}")
    begin = {"user": ann, "scopes": SCOPES, "expires_in": 3_600, "site": SITE}
    spending, token = sessions.create(mandate=TERMS, **begin)
    _, once = sessions.create(one_time=True, **begin)
    return {"session": spending.pk, "token": token, "token_once": once}


def chains() -> dict[str, Any]:
    """Grants that nobody has shown yet."""
    root = [person_grant(scopes=SCOPES, mandate=TERMS, delegate=1)]
    return {
        "chain": attenuate(root, AGENT, subject=OTHER.public, mandate=TERMS),
        "chain_once": [person_grant(scopes=SCOPES, one_time=True)],
        "unseen": [[person_grant(scopes=SCOPES, mandate=TERMS)] for _ in range(24)],
    }


def race_all(place: int, processes: int, meeting_point: str, given: dict[str, Any]) -> dict[str, Any]:
    """One race after the other; before each, all processes wait for each other. The first one takes back."""
    settings.AGENTWEB = {**settings.AGENTWEB, **dict.fromkeys(RATES, WIDE)}
    leads = place == 0
    person = TestAgent(key=PERSON)
    races: dict[str, Callable[[], Any]] = {
        "session": lambda: (
            end_session(given["session"]) if leads else spend(lambda: by_token(given["token"], pay_body()))
        ),
        "endpoint": lambda: (
            take_back(person, given["chain"]) if leads else spend(lambda: by_chain(OTHER, given["chain"]))
        ),
        "claims": lambda: (
            claim(person, given["unseen"]) if leads else first_sights(given["unseen"], place, processes)
        ),
        "once": lambda: use_once(given["chain_once"]),
        "session_once": lambda: use_session_once(given["token_once"]),
        "numbers": lambda: read_along(KEYS_EACH * (processes - 1)) if leads else take_back_own(),
        "enrolled": lambda: enrol_for(f"user{place}", given["key"]),
    }
    answers = {}
    for name, run in races.items():
        meet(Path(meeting_point) / name, place, processes)
        try:
            answers[name] = run()
        except Exception:
            (Path(meeting_point) / "failure").write_text(traceback.format_exc())
            raise
    return answers


def outcome(given: dict[str, Any]) -> dict[str, Any]:
    """What is in the database after the races."""
    unseen = [parse_grant(chain[0]).id for chain in given["unseen"]]
    known = Grant.objects.filter(pk__in=unseen)
    items, _ = revocation_log.page(after=0, limit=500)
    return {
        "session": _spent(_session_grant(given["session"])),
        "endpoint": _spent(parse_grant(given["chain"][0]).id),
        "receipts": Receipt.objects.count(),
        "unmarked": known.filter(revoked_at=None).count(),
        "unmarked_mandates": Mandate.objects.filter(pk__in=unseen, revoked_at=None).count(),
        "notes": Note.objects.count(),
        "list": verify_list(items, revocation_log.signed_head(SITE)),
        "entries": [len(items), Revocation.objects.exclude(seq=None).count()],
        "enrolled": PrincipalKey.objects.filter(public=given["key"]).count(),
    }


def _session_grant(ident: str) -> str:
    return sessions.Session.objects.get(pk=ident).grant_id


def _spent(grant: str) -> int:
    return Mandate.objects.get(pk=grant).spent


# -- one call, as it is answered


def pay_body() -> dict[str, Any]:
    return {"item": "tea", "price": 1}


def by_token(token: str, body: Any, action: str = "pay") -> str:
    answer = Client().post(
        f"/agent/{action}",
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}", "Idempotency-Key": secrets.token_urlsafe(16)},
    )
    return _read(answer)


def by_chain(key: SigningKey, chain: Any, body: Any = None, action: str = "pay") -> str:
    agent = TestAgent(key=key)
    agent.grant_header = encode_chain(chain)
    return _read(agent.post(f"/agent/{action}", pay_body() if body is None else body))


def _read(answer: HttpResponse) -> str:
    return "ok" if answer.status_code == 200 else str(json.loads(answer.content)["error"]["code"])


def _until_answered(ask: Callable[[], str]) -> str:
    """SQLite with a site's default options gives up waiting; then the site says so, and the agent asks again."""
    while (code := ask()) == "unavailable":
        pass
    return code


# -- the races


def spend(ask: Callable[[], str]) -> dict[str, int]:
    """Spend until it is over; how often each answer came."""
    answers: Counter[str] = Counter()
    while True:
        code = _until_answered(ask)
        answers[code] += 1
        if code != "ok":
            return dict(answers)


def end_session(ident: str) -> dict[str, int]:
    grant = _session_grant(ident)
    _wait_until_spent(grant)
    assert again_when_locked(sessions.revoke, ident)
    # Committed: whatever is spent later would show.
    return {"spent": again_when_locked(_spent, grant)}


def take_back(person: TestAgent, chain: Any) -> dict[str, int]:
    """Revoke the root over HTTP, while its child is being spent from."""
    root = parse_grant(chain[0]).id
    _wait_until_spent(root)
    _revoke(person, root)
    return {"spent": again_when_locked(_spent, root)}


def _wait_until_spent(grant: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        row = again_when_locked(Mandate.objects.filter(pk=grant, spent__gte=1_000).first)
        if row is not None:
            return
        time.sleep(0.01)
    raise AssertionError("nobody spends")


def _revoke(agent: TestAgent, ident: str) -> None:
    code = _until_answered(lambda: _read(agent.request("POST", REVOCATIONS, {"grant": ident})))
    assert code == "ok", code


def claim(person: TestAgent, unseen: Any) -> int:
    """Revoke grants, some of which the site has not seen at that moment."""
    for chain in unseen:
        _revoke(person, parse_grant(chain[0]).id)
    return len(unseen)


def first_sights(unseen: Any, place: int, processes: int) -> dict[str, int]:
    """Show each of one's share, from the end on, and show it again."""
    mine = unseen[place - 1 :: processes - 1][::-1]
    codes = [_until_answered(lambda chain=chain: by_chain(AGENT, chain)) for chain in mine]
    return dict(Counter(codes))


def use_once(chain: Any) -> str:
    return _until_answered(lambda: by_chain(AGENT, chain, {"text": "once"}, "write_note"))


def use_session_once(token: str) -> str:
    return _until_answered(lambda: by_token(token, {"text": "once"}, "write_note"))


def take_back_own() -> int:
    """Revoke keys, one after the other, each in a transaction of its own."""
    for _ in range(KEYS_EACH):
        again_when_locked(principals.revoke, SigningKey.generate().public)
    return KEYS_EACH


def read_along(keys: int) -> list[int]:
    """The numbers that a reader sees who always goes on after the last one, until ``keys`` keys were among them."""
    seen: list[Any] = []
    deadline = time.monotonic() + 120
    while sum(item["id"].startswith("ed25519:") for item in seen) < keys and time.monotonic() < deadline:
        last = seen[-1]["seq"] if seen else 0
        seen += again_when_locked(partial(revocation_log.page, after=last, limit=500))[0]
        time.sleep(0.01)  # or SQLite's writers wait for the reader's next turn, and its next
    return [item["seq"] for item in seen]


def enrol_for(name: str, public: str) -> str:
    try:
        again_when_locked(principals.enrol, User.objects.get(username=name), public)
    except InputError as error:
        return str((error.problems or [])[0]["code"])
    return "enrolled"
