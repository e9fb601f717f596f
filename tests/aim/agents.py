"""Agents of the tests: rows with keys, and the calls of the log made for them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from agentweb.aim import events, inbox, log, splicing
from agentweb.aim.accept import ItemResult, accept
from agentweb.aim.models import Account, Agent, AgentKey, Contact
from agentweb.wire.aim import envelope
from agentweb.wire.aim.keys import public_of
from agentweb.wire.clock import now_datetime
from agentweb.wire.signing import SigningKey

SITE = "shop.example"


@dataclass(frozen=True)
class Person:
    """An agent with its private key."""

    agent: Agent
    signer: SigningKey

    @property
    def key(self) -> str:
        return public_of(self.signer)

    @property
    def address(self) -> str:
        return f"{self.agent.name}@{SITE}"

    def write(self, to: Person | str, body: Any = "hello", **members: Any) -> dict[str, Any]:
        """A signed envelope."""
        address = to.address if isinstance(to, Person) else to
        return envelope.sign(envelope.compose(self.address, address, body, **members), self.signer)

    def post(self, *envelopes: Any) -> list[ItemResult]:
        return accept(self.agent, envelopes, key=self.key, authority=SITE)

    def send(self, to: Person | str, body: Any = "hello", **members: Any) -> ItemResult:
        """A new message, sent."""
        [result] = self.post(self.write(to, body, **members))
        return result

    def events(self, after: str | None = None, limit: int = 100, types: str | None = None) -> dict[str, Any]:
        return answer(events.read_events(self.agent, after, limit, types, SITE))

    def inbox(
        self, lane: str = "primary", with_: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> dict[str, Any]:
        return answer(
            inbox.read_inbox(self.agent, lane=lane, with_=with_, cursor=cursor, limit=limit, authority=SITE)
        )


def person(name: str, **fields: Any) -> Person:
    """A registered agent whose key follows from its name."""
    log.ends()
    signer = signer_of(name)
    agent = Agent.objects.create(name=name, created_at=now_datetime(), **fields)
    AgentKey.objects.create(agent=agent, public=public_of(signer), since=now_datetime())
    Account.objects.create(agent=agent)
    return Person(agent, signer)


def befriend(one: Person, other: Person) -> None:
    """Each has accepted the other."""
    for owner, friend in ((one, other), (other, one)):
        Contact.objects.create(
            owner=owner.agent, other=friend.agent, state="accepted", changed_at=owner.agent.created_at
        )


def code(result: ItemResult) -> str | None:
    """Why an envelope was refused; None when it was accepted."""
    return None if result.error is None else str(result.error.code)


def found(name: str) -> Person:
    """The agent of that name, made before by ``person``."""
    return Person(Agent.objects.get(name=name), signer_of(name))


def signer_of(name: str) -> SigningKey:
    return SigningKey.from_seed(hashlib.sha256(name.encode()).digest())


def answer(document: dict[str, Any]) -> dict[str, Any]:
    """A document as its reader gets it."""
    read: dict[str, Any] = json.loads(splicing.dumps(document))
    return read
