"""How a key becomes an agent: once, whoever else wants the same name or uses the same challenge at that moment.

Everything that a registration writes is one transaction, in which unique columns decide. What fails has written
nothing: the challenge is still good, for another name say.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from agentweb import conf
from agentweb.access import limits
from agentweb.access.limits import Allowance
from agentweb.access.rows import insert_if_absent
from agentweb.aim import challenges, log, transactions
from agentweb.aim.models import Account, Agent, AgentKey, UsedChallenge
from agentweb.aim.policy import per_hour
from agentweb.aim.records import address_of
from agentweb.wire.aim import names
from agentweb.wire.aim.keys import parse_public
from agentweb.wire.clock import from_unix, now_datetime
from agentweb.wire.errors import Code, ConflictError, InputError, RequestError
from agentweb.wire.schema.problems import make_problem

POLICY: Final = "registrations"


class KeyRegisteredMeanwhile(Exception):
    """Another registration of the same key was faster."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a newcomer asks for and has worked for. ``challenge_ends`` is in Unix seconds."""

    key: str
    name: str | None
    challenge: str
    challenge_ends: float


def check_key(public: str) -> str:
    """The key, if it can be an agent's. Raises invalid_key (422)."""
    try:
        parse_public(public)
    except ValueError as error:
        raise RequestError(Code.INVALID_KEY, str(error), field="public_key") from None
    return public


def read_wish(document: dict[str, Any], *, site: str) -> Wish:
    """The wish of a key that is nobody's. ``document`` fits the schema of a registration.

    Raises invalid_input, invalid_name, challenge_invalid, challenge_expired or solution_invalid.
    """
    missing = [name for name in ("challenge", "solution") if name not in document]
    if missing:
        raise InputError(
            [make_problem((name,), "required", f"'{name}' is required of a new key.") for name in missing]
        )
    name = document.get("name")
    if name is not None:
        check_name(name, public=document["public_key"])
    ends = challenges.check_work(
        document["challenge"], document["public_key"], document["solution"], site=site
    )
    return Wish(document["public_key"], name, document["challenge"], ends)


def check_name(name: str, *, public: str) -> None:
    """Raises invalid_name (422, ``details.reason``) for one that may not be chosen with this key."""
    try:
        if name != names.key_name(public):
            names.check_name(name, reserved=conf.get("RESERVED_NAMES"))
    except names.NameRefusedError as error:
        raise RequestError(
            Code.INVALID_NAME, str(error), field="name", details={"reason": error.reason}
        ) from None


def register(wish: Wish, *, address: str) -> tuple[Agent, Allowance]:
    """The new agent, and what the limit of its address has left.

    Raises rate_limited, challenge_used, name_taken, KeyRegisteredMeanwhile or overloaded; each of them also where
    the same key was registered at the same moment, by a request that was sent twice.
    """
    log.ends()  # makes the log's head where there is none yet: inside a transaction that could collide
    return transactions.run(lambda: _register(wish, address))


def _register(wish: Wish, address: str) -> tuple[Agent, Allowance]:
    allowance = limits.take(
        f"aim-registrations:{limits.address_key(address)}",
        per_hour(conf.get("REGISTRATIONS_PER_HOUR")),
        POLICY,
    )
    used = UsedChallenge(
        digest=challenges.digest_of(wish.challenge),
        expires_at=from_unix(wish.challenge_ends),
    )
    if not insert_if_absent([used]):
        raise RequestError(
            Code.CHALLENGE_USED,
            "Somebody has registered with this challenge; ask for a new one.",
            field="challenge",
        )
    return _insert(wish), allowance


def _insert(wish: Wish) -> Agent:
    at = now_datetime()
    name = wish.name or names.key_name(wish.key)
    if not _insert_name(name, at):
        raise _taken(name, is_confusable=not Agent.objects.filter(name=name).exists())
    agent = Agent.objects.get(name=name)
    if not insert_if_absent([AgentKey(public=wish.key, agent=agent, since=at)]):
        raise KeyRegisteredMeanwhile
    insert_if_absent([Account(agent=agent)])
    return agent


def _insert_name(name: str, at: datetime) -> bool:
    """Whether the name could be given. The first name of those that look alike has their skeleton, whether or not the
    site compares them today: should it begin to, what is there already counts."""
    last = log.ends().last
    skeleton = None if names.is_key_name(name) else names.skeleton(name)
    seen = [skeleton] if conf.get("CONFUSABLE_NAMES") else dict.fromkeys([skeleton, None])
    return any(
        insert_if_absent([Agent(name=name, skeleton=each, created_at=at, registered_seq=last)])
        for each in seen
    )


def already_registered(agent: Agent, site: str) -> ConflictError:
    """The key has another name than the one asked for."""
    return ConflictError(
        Code.KEY_ALREADY_REGISTERED,
        f"This key is that of {agent.name} already, and a key has one name.",
        details={"address": address_of(agent.name, site)},
    )


def _taken(name: str, *, is_confusable: bool) -> ConflictError:
    if is_confusable:
        return ConflictError(
            Code.NAME_TAKEN,
            f"{name} looks like the name of another agent; choose one that differs more.",
            field="name",
            details={"reason": "confusable"},
        )
    return ConflictError(
        Code.NAME_TAKEN,
        f"{name} is taken, and names are given for good; choose another. The challenge can still be used.",
        field="name",
        details={"reason": "taken"},
    )
