"""Negotiators of test sites: one that says what it is told to, and others that are wrong in their own ways."""

from __future__ import annotations

from typing import Any

from agentweb.negotiation import Bargain, Offer

script: list[Any] = []
"""What ``scripted`` answers next; an exception is raised."""
seen: list[Offer] = []
contexts: list[Any] = []


def scripted(offer: Offer, ctx: Any) -> Any:
    seen.append(offer)
    contexts.append(ctx)
    answer = script.pop(0)
    if isinstance(answer, BaseException):
        raise answer
    return answer


async def scripted_later(offer: Offer, ctx: Any) -> Any:
    return scripted(offer, ctx)


def bargain(offer: Offer, ctx: Any) -> Any:
    return Bargain("100.00", floor="70.00", currency="USD").answer(offer)


def with_one_argument(offer: Offer) -> Any:
    return offer


NO_FUNCTION = "text"
