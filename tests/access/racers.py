"""What the processes of the race tests do; each function runs in many at once."""

from __future__ import annotations

from typing import Any

from django.db import OperationalError, connection, transaction

from agentweb.access import grants, limits, mandates, nonces, site_keys
from agentweb.access.models import Mandate, Revocation, SiteKey
from agentweb.wire.clock import now
from agentweb.wire.errors import AgentError
from agentweb.wire.grants import parse_grant
from tests.access.signing import AGENT, deliver, enrol, signed, site_grant


def again_when_locked(operation: Any, *arguments: Any) -> Any:
    """SQLite with a site's default options gives up waiting after five seconds; the race goes on."""
    while True:
        try:
            return operation(*arguments)
        except OperationalError:
            if connection.vendor != "sqlite":
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


def take(key: str, rate: tuple[float, int], tries: int) -> int:
    """How many requests this process got admitted."""
    admitted = 0
    for _ in range(tries):
        try:
            again_when_locked(limits.take, key, rate)
        except AgentError as error:
            if error.code != "rate_limited":
                raise
        else:
            admitted += 1
    return admitted


def set_up_grant() -> list[dict[str, Any]]:
    return site_grant()


def call(chain: list[dict[str, Any]], tokens: list[str]) -> dict[str, int]:
    """Send one signed request for each nonce; the same ones as everybody else."""
    outcomes: dict[str, int] = {}
    for token in tokens:
        while True:
            try:
                deliver(signed(grant=chain, nonce=token))
            except AgentError as error:
                if error.code == "unavailable":
                    continue
                outcome = error.code
            else:
                outcome = "accepted"
            break
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


def count(model: str) -> int:
    from django.apps import apps

    return int(apps.get_model("agentweb", model).objects.count())


def first_key() -> str:
    return str(again_when_locked(site_keys.ensure_active_key).public)


def rotate() -> bool:
    try:
        again_when_locked(site_keys.rotate)
    except site_keys.SiteKeyError:
        return False
    return True


def keys() -> dict[str, int]:
    return {"all": SiteKey.objects.count(), "active": SiteKey.objects.filter(is_active=True).count()}


def ensure_rows(chain: list[dict[str, Any]]) -> int:
    """Make a chain's rows inside a transaction that goes on to write."""

    def work() -> None:
        with transaction.atomic():
            mandates.ensure_rows([parse_grant(document) for document in chain])
            Mandate.objects.filter(spent=0).update(uses=0)

    again_when_locked(work)
    return Mandate.objects.count()


def enrol_person() -> None:
    from django.contrib.auth.models import User

    enrol(User.objects.create_user("ann"))


def first_sights(chains: list[list[dict[str, Any]]]) -> int:
    """Send chains that nobody has sent before; how many were accepted."""
    accepted = 0
    for chain in chains:
        while True:
            try:
                deliver(signed(AGENT, chain))
                accepted += 1
            except AgentError as error:
                if error.code == "unavailable":
                    continue
                if error.code != "grant_revoked":
                    raise
            break
    return accepted


def revoke(ident: str) -> int:
    again_when_locked(grants.revoke, ident)
    return -1


def unmarked() -> dict[str, int]:
    return {
        "revocations": Revocation.objects.count(),
        "mandates": Mandate.objects.count(),
        "unmarked": Mandate.objects.filter(revoked_at=None).count(),
    }
