"""The five effects and what follows from each (AGENT_ACTIONS section 11)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Effect(StrEnum):
    """What an action does to the world; agents decide by it what a person must approve."""

    READ = "read"
    WRITE = "write"
    SEND = "send"
    SPEND = "spend"
    DELETE = "delete"


CONSEQUENTIAL: Final = frozenset({Effect.SEND, Effect.SPEND, Effect.DELETE})
"""Effects that always matter; an action may raise itself to this, never lower itself from it."""

IDEMPOTENT: Final = frozenset({Effect.READ, Effect.DELETE})
"""Effects that are safe to repeat by nature. A write is when it says so or is a PUT; send and spend never are."""

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
QUERY_METHODS: Final = frozenset({"GET", "DELETE"})
"""Methods whose input travels in the query string."""


def default_method(effect: Effect, *, has_flat_input: bool) -> str:
    """GET for a read whose input fits into a query string, else POST."""
    return "GET" if effect is Effect.READ and has_flat_input else "POST"


def suits(effect: Effect, method: str) -> bool:
    """Whether an action of this effect may be called by ``method``: reads by GET or POST, all others not by GET."""
    return method in {"GET", "POST"} if effect is Effect.READ else method != "GET"


def is_idempotent_by_nature(effect: Effect, method: str) -> bool:
    """The default of ``idempotent``."""
    return effect in IDEMPOTENT or (effect is Effect.WRITE and method == "PUT")
