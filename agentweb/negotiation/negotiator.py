"""Asking the site's negotiator: where it is, what it is told, and what its answer comes to."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync
from django.utils.module_loading import import_string

from agentweb import conf
from agentweb.access.callers import Caller
from agentweb.invoke import refusals, results
from agentweb.negotiation.answers import MAX_NOTE, Accept, Answer, Counter, Offer, Reject
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AgentError, Code, MoneyError, ServerError
from agentweb.wire.money import parse_amount

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import HttpRequest

logger = logging.getLogger("agentweb.negotiation")

Negotiator = Callable[[Offer, "Context"], Answer]


class Refusal(Exception):
    """The negotiator said no in a way of its own, by an AgentError (4xx); its answer is ``error``."""

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.code)
        self.error = error


@dataclass(frozen=True, slots=True)
class Context:
    """``ctx`` of a negotiator: who bargains. ``caller``, ``user`` and ``request`` are those of a handler."""

    caller: Caller
    request_id: str
    request: HttpRequest | None = None

    @property
    def user(self) -> AbstractBaseUser | AnonymousUser:
        return self.caller.user

    @property
    def now(self) -> datetime:
        """The current time in UTC, from the same clock as every rule of the negotiation."""
        return now_datetime()


def is_set() -> bool:
    """Whether the site bargains at all."""
    return conf.get("NEGOTIATOR") is not None


def what_is_wrong() -> str | None:
    """Why AGENTWEB["NEGOTIATOR"] cannot be asked, or None."""
    path = conf.get("NEGOTIATOR")
    try:
        found = _found(path)
    except ImportError as error:
        return str(error)
    if not callable(found):
        return f"{path} is a {type(found).__name__}, and no function."
    try:
        inspect.signature(found).bind(None, None)
    except (TypeError, ValueError):
        return f"{path} does not take two arguments: an offer and ctx."
    return None


def ask(offer: Offer, context: Context) -> Answer:
    """The negotiator's answer, as it may be used: a price of the currency, notes within bounds.

    Raises Refusal; and ``handler_error`` for a crash and for an answer that is none, whose reason is in the log.
    """
    label = f"negotiator ({context.request_id})"
    try:
        negotiator: Any = _found(conf.get("NEGOTIATOR"))
        answer = negotiator(offer, context)
        if inspect.isawaitable(answer):
            answer = async_to_sync(_awaited)(answer)
        return _checked(answer, offer.currency)
    except Exception as error:
        refusal = refusals.refusal_of(error)
        if refusal is None or refusal.status >= 500 or isinstance(error, _Wrong):
            logger.exception("%s failed", label)
            raise ServerError(
                Code.HANDLER_ERROR,
                "The site could not answer this offer; it stands. Send the same offer again later, or report the "
                "request id to the site.",
            ) from error
        refusal.extra = results.published(refusal.extra, label)
        refusal.message = results.published(refusal.message, label)
        raise Refusal(refusal) from error


class _Wrong(AgentError):
    """What only the site can have got wrong, though it is found by what refuses an agent's amount."""


async def _awaited(coming: Any) -> Any:
    return await coming


def _checked(answer: Any, currency: str) -> Answer:
    if not isinstance(answer, (Accept, Counter, Reject)):
        raise TypeError(
            f"A negotiator returns accept(), counter(price) or reject(), and not a {type(answer).__name__}."
        )
    if isinstance(answer, Accept):
        return answer
    if not isinstance(answer.note, str) or len(answer.note) > MAX_NOTE:
        raise ValueError(f"A note has at most {MAX_NOTE} characters.")
    if isinstance(answer, Counter):
        try:
            parse_amount(answer.price, currency)
        except MoneyError as error:
            raise _Wrong(error.code, f"counter({answer.price!r}): {error.message}") from None
    return answer


@lru_cache(maxsize=8)
def _found(path: str) -> Any:
    return import_string(path)
