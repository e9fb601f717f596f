"""What the eight processes of the race tests do."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import OperationalError, transaction

from agentweb.access import grants, limits, mandates, nonces, site_keys
from agentweb.access.models import Mandate, Nonce, SiteKey
from agentweb.wire.clock import now
from agentweb.wire.errors import AgentError
from agentweb.wire.grants import parse_grant
from tests.access.signing import PERSON, deliver, enrol, signed, site_grant


def set_up() -> list[dict[str, Any]]:
    """A person with a key, and a grant of the site."""
    enrol(User.objects.create_user("ann"))
    return site_grant()


def race_all(place: int, processes: int, meeting_point: str, given: dict[str, Any]) -> dict[str, Any]:
    """One race after the other; before each, all processes wait for each other."""
    races: dict[str, Callable[[], Any]] = {
        "burned": lambda: burn("k", given["tokens"]),
        "admitted": lambda: take("k", given["rate"], given["tries"]),
        "called": lambda: call(given["site_chain"], given["call_tokens"]),
        "rows": lambda: ensure_rows(given["limited_chain"]),
        "rotated": rotate,
        # The first process revokes the person's key while the others bring grants that it issued.
        "first_seen": lambda: revoke(PERSON.public) if place == 0 else first_sights(given["unseen"][place]),
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


def outcome() -> dict[str, int]:
    """What is in the database after the races."""
    return {
        "nonces": Nonce.objects.count(),
        "keys": SiteKey.objects.count(),
        "active_keys": SiteKey.objects.filter(is_active=True).count(),
        "mandates": Mandate.objects.filter(currency="USD").count(),
        "unmarked": Mandate.objects.filter(currency="USD", revoked_at=None).count(),
    }


def first_key() -> str:
    return again_when_locked(site_keys.ensure_active_key).public


def meet(folder: Path, place: int, processes: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(place)).touch()
    while len(list(folder.iterdir())) < processes:
        time.sleep(0.002)
        if (folder.parent / "failure").exists():
            raise AssertionError((folder.parent / "failure").read_text())


def again_when_locked(operation: Callable[..., Any], *arguments: Any) -> Any:
    """SQLite with a site's default options gives up waiting after five seconds; the race goes on."""
    while True:
        try:
            return operation(*arguments)
        except OperationalError as error:
            if "locked" not in str(error):
                raise


def burn(key: str, tokens: list[str]) -> list[str]:
    """The nonces that this process was allowed to use up."""
    accepted = []
    for token in tokens:
        try:
            again_when_locked(nonces.burn, key, token, now() + 60)
        except AgentError as error:
            if error.code != "request_replayed":
                raise
        else:
            accepted.append(token)
    return accepted


def take(key: str, rate: tuple[float, int], tries: int) -> list[int]:
    """What was told to be left after each request that this process got admitted."""
    admitted = []
    for _ in range(tries):
        try:
            allowance = again_when_locked(limits.take, key, rate)
        except AgentError as error:
            if error.code != "rate_limited" or ";r=0;" not in error.headers["RateLimit"]:
                raise
        else:
            admitted.append(allowance.remaining)
    return admitted


def call(chain: list[dict[str, Any]], tokens: list[str]) -> dict[str, int]:
    """Send one signed request for each nonce, the same as everybody else; how they were answered."""
    return dict(Counter(answer(chain, nonce=token) for token in tokens))


def first_sights(chains: list[list[dict[str, Any]]]) -> dict[str, int]:
    """Send chains that nobody has sent before; how they were answered."""
    return dict(Counter(answer(chain) for chain in chains))


def answer(chain: list[dict[str, Any]], **wanted: Any) -> str:
    while True:
        try:
            deliver(signed(grant=chain, **wanted))
        except AgentError as error:
            if error.code != "unavailable":
                return error.code
            if "locked" not in str(error.__cause__):
                raise
        else:
            return "accepted"


def rotate() -> bool:
    try:
        again_when_locked(site_keys.rotate)
    except site_keys.SiteKeyError:
        return False
    return True


def ensure_rows(chain: list[dict[str, Any]]) -> int:
    """Make a chain's rows inside a transaction that goes on to write."""

    def work() -> int:
        with transaction.atomic():
            mandates.ensure_rows([parse_grant(document) for document in chain])
            return Mandate.objects.filter(currency="JPY").update(uses=0)

    return again_when_locked(work)


def revoke(ident: str) -> dict[str, int]:
    time.sleep(0.05)
    return {"revoked": int(again_when_locked(grants.revoke, ident))}
