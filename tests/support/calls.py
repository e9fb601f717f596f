"""Calls that come to the door without HTTP: a caller under a grant, and its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentweb.access.callers import AGENT, Caller, anonymous
from agentweb.catalog.registry import registry
from agentweb.invoke.calls import Call, Outcome
from agentweb.invoke.door import invoke
from agentweb.testing import mandate
from agentweb.wire import clock
from agentweb.wire.encoding import random_id
from agentweb.wire.grants import attenuate, new_grant, parse_grant
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import Json, loads

SITE = "shop.example"
ISSUER = SigningKey.from_seed(bytes(range(32)))


def seed(number: int) -> SigningKey:
    return SigningKey.from_seed(bytes([number]) * 32)


def chain_of(
    *,
    scopes: Sequence[str] = ("notes:write", "notes:read", "shop:pay"),
    spending: str | None = None,
    agent: SigningKey | None = None,
    nonce: str | None = None,
    expires_in: int = 3_600,
    **more: Any,
) -> list[dict[str, Any]]:
    now = int(clock.now())
    return [
        new_grant(
            issuer=ISSUER,
            subject=(agent or seed(7)).public,
            audience=SITE,
            scopes=list(scopes),
            mandate=mandate(spending) if spending else None,
            not_before=now - 60,
            expires=now + expires_in,
            nonce=nonce,
            **more,
        )
    ]


def caller_with(chain: list[dict[str, Any]], *, user_id: Any = None) -> Caller:
    parsed = tuple(parse_grant(document) for document in chain)
    subject = parsed[-1].subject
    return Caller(kind=AGENT, subject=subject, agent_key=subject, chain=parsed, user_id=user_id)


def agent_caller(**more: Any) -> Caller:
    return caller_with(chain_of(**more))


def call_of(
    name: str, value: Json, caller: Caller | None = None, *, key: str | None = None, request: Any = None
) -> Call:
    action = registry.get(name)
    assert action is not None, name
    return Call(
        action=action,
        caller=caller or anonymous("127.0.0.1"),
        read_input=lambda: value,
        protocol="test",
        method=action.method,
        path=action.path,
        site=SITE,
        request_id=random_id("rq_"),
        idempotency_key=key,
        request=request,
    )


def do(name: str, value: Json, caller: Caller | None = None, *, key: str | None = None) -> Outcome:
    return invoke(call_of(name, value, caller, key=key))


def answer(outcome: Outcome) -> Any:
    return loads(outcome.body)


__all__ = [
    "ISSUER",
    "SITE",
    "agent_caller",
    "answer",
    "attenuate",
    "call_of",
    "caller_with",
    "chain_of",
    "do",
    "seed",
]
