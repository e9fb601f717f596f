"""Payment providers: what a site plugs in to have charges paid by somebody outside (AGENT_ACTIONS section 3.3).

``AGENTWEB["PAYMENTS"]`` names a ``PaymentProvider``: a subclass, an instance, or a function that makes one. Without it
charges live in the site's own ledger alone.

A provider is called outside of every transaction, and with our id as *its* idempotency key: a call that is repeated
with one id moves money at most once. Whatever it raises, and a time-out, means ``UNKNOWN``: nobody can tell whether
money moved, so we ask again with the same id, and never take silence for an answer.
"""

from __future__ import annotations

import contextvars
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from django.core.signals import setting_changed
from django.db import connections
from django.utils.module_loading import import_string

from agentweb import conf
from agentweb.wire.money import format_amount
from agentweb.wire.visible import visible

logger = logging.getLogger("agentweb.payments")

MAX_REFERENCE: Final = 200
"""Characters of a provider's own id, and of the reason why it declined."""


class State(StrEnum):
    """How a payment, or a refund, stands at the provider."""

    CAPTURED = "captured"
    """The money was taken."""
    REFUNDED = "refunded"
    """The money was given back; of refunds only."""
    DECLINED = "declined"
    """It was not moved, and with this id it never will be."""
    PENDING = "pending"
    """The provider has begun, and will know later."""
    UNKNOWN = "unknown"
    """Nobody can tell at the moment."""
    ABSENT = "absent"
    """The provider has never heard of this id; an answer of ``find`` only."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``reference`` is the provider's own id of it, for people; ``reason`` says why it declined, in words that the
    agent may read."""

    state: State
    reference: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeOrder:
    """What is to be charged. ``id`` (``rc_…``) is the idempotency key, and the id of the receipt when all goes well.

    ``amount`` is minor units, ``amount_text`` the same as ``"19.99"``. ``metadata`` is what the handler gave to
    ``ctx.charge``, a payment method for instance. ``agent`` is the caller's key or session, ``grant`` the grant it
    acts under, ``user_id`` the text of the primary key of the person for whom it acts, "" for nobody.
    """

    id: str
    amount: int
    currency: str
    item: str
    site: str
    action: str
    request_id: str
    agent: str
    grant: str
    user_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def amount_text(self) -> str:
        return format_amount(self.amount, self.currency)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundOrder:
    """What is to be given back of a charge. ``id`` (``rf_…``) is the idempotency key, ``charge_id`` the charge's id and
    ``charge_reference`` what the provider calls it."""

    id: str
    charge_id: str
    charge_reference: str
    amount: int
    currency: str
    reason: str

    @property
    def amount_text(self) -> str:
        return format_amount(self.amount, self.currency)


class PaymentProvider(ABC):
    """One way to move money. Its methods are called from several threads and processes at once, and may take as long
    as AGENTWEB["PAYMENT_TIMEOUT_SECONDS"]; what they do later is found out by ``find``, or by ``refund`` once more.
    """

    @abstractmethod
    def charge(self, order: ChargeOrder) -> Answer:
        """Take the money, once for each ``order.id`` however often it is called: a repeated call answers how it is.

        CAPTURED, DECLINED, PENDING or UNKNOWN.
        """

    @abstractmethod
    def find(self, charge_id: str) -> Answer:
        """How a charge stands, without changing anything. ABSENT when there is none with this id."""

    @abstractmethod
    def cancel(self, charge_id: str) -> Answer:
        """See to it that no money is taken for this id any more, also when ``charge`` should still be on its way.

        DECLINED when that is sure; CAPTURED when the money was taken already; else PENDING or UNKNOWN, and it is asked
        again later. For an id that the provider has not seen, put something dead under it: an intent that was cancelled
        at once, with this id as its idempotency key.
        """

    @abstractmethod
    def refund(self, order: RefundOrder) -> Answer:
        """Give a part of a charge back, or all of it; once for each ``order.id``.

        REFUNDED, DECLINED, PENDING or UNKNOWN.
        """

    def read_event(self, headers: Mapping[str, str], body: bytes) -> str | None:
        """The id of the charge or refund (ours, ``rc_…`` or ``rf_…``) that a webhook of the provider tells of; None
        when it tells of none.

        Verify its signature first, and raise PermissionError when that does not hold. What the event says beyond the id
        is not believed: the provider is asked, so events may come twice, late and out of order. Header names are in
        lower case. A provider without webhooks leaves this as it is.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Named:
    """A provider under the dotted path by which rows remember it."""

    path: str
    provider: PaymentProvider


def configured() -> Named | None:
    """The provider of new charges; None in a site that keeps its own ledger. Raises as ``named``."""
    path: str | None = conf.get("PAYMENTS")
    return None if path is None else named(path)


def is_configured() -> bool:
    return conf.get("PAYMENTS") is not None


@lru_cache(maxsize=8)
def named(path: str) -> Named:
    """The provider of a dotted path, made once in each process. Raises ImportError, and TypeError for what is none."""
    found = import_string(path)
    provider = found if isinstance(found, PaymentProvider) else found()
    if not isinstance(provider, PaymentProvider):
        raise TypeError(f"{path} is no PaymentProvider and makes none")
    return Named(path, provider)


def remembered(path: str) -> Named:
    """The provider of a row, which was the site's when the row was written. Of one that cannot be made any more nobody
    knows how anything stands, until it can."""
    try:
        return named(path)
    except Exception as error:
        return Named(path, _Gone(error))


class _Gone(PaymentProvider):
    """``why`` it cannot be asked stands in the log whenever it should be."""

    def __init__(self, why: Exception) -> None:
        self._why = why

    def charge(self, order: ChargeOrder) -> Answer:
        raise self._why

    def find(self, charge_id: str) -> Answer:
        raise self._why

    def cancel(self, charge_id: str) -> Answer:
        raise self._why

    def refund(self, order: RefundOrder) -> Answer:
        raise self._why


def _forget(*, setting: str, **_more: Any) -> None:
    if setting == "AGENTWEB":
        named.cache_clear()


setting_changed.connect(_forget, dispatch_uid="agentweb.ledger.providers")

_CHARGES: Final = frozenset({State.CAPTURED, State.DECLINED, State.PENDING, State.UNKNOWN})
_FINDS: Final = _CHARGES | {State.ABSENT}
_REFUNDS: Final = frozenset({State.REFUNDED, State.DECLINED, State.PENDING, State.UNKNOWN})
_UNKNOWN: Final = Answer(State.UNKNOWN)


def charge(by: Named, order: ChargeOrder) -> Answer:
    return _ask(by, "charge", order.id, lambda: by.provider.charge(order), _CHARGES)


def find(by: Named, charge_id: str) -> Answer:
    return _ask(by, "find", charge_id, lambda: by.provider.find(charge_id), _FINDS)


def cancel(by: Named, charge_id: str) -> Answer:
    return _ask(by, "cancel", charge_id, lambda: by.provider.cancel(charge_id), _CHARGES)


def refund(by: Named, order: RefundOrder) -> Answer:
    return _ask(by, "refund", order.id, lambda: by.provider.refund(order), _REFUNDS)


def _ask(
    by: Named, what: str, ident: str, question: Callable[[], Answer], possible: frozenset[State]
) -> Answer:
    """The provider's answer, UNKNOWN for everything that is none and when there is none in time."""
    timeout: int = conf.get("PAYMENT_TIMEOUT_SECONDS")
    try:
        answer = _in_time(question, timeout)
        if isinstance(answer, Answer) and answer.state in possible:
            return Answer(State(answer.state), _as_kept(answer.reference), _as_kept(answer.reason))
    except TimeoutError:
        logger.warning("%s: %s of %s did not answer within %d s", by.path, what, ident, timeout)
        return _UNKNOWN
    except Exception:
        logger.exception("%s: %s of %s failed", by.path, what, ident)
        return _UNKNOWN
    logger.error("%s: %s of %s answered %r, which is no answer to that", by.path, what, ident, answer)
    return _UNKNOWN


def _as_kept(text: object) -> str:
    """What the provider wrote, as every database takes it: PostgreSQL refuses NUL, and all of them lone surrogates. A
    payment that went through must not be lost for its text. People and agents read it, so nothing in it is hidden."""
    return "" if text is None else visible(str(text)[:MAX_REFERENCE])[:MAX_REFERENCE]


def _in_time(question: Callable[[], Answer], timeout: float) -> Answer:
    """Run it in a thread of its own, which is left alone when it takes too long: nothing else can end a call that
    hangs. Raises TimeoutError, and what it raises."""
    box: list[Answer | BaseException] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            box.append(context.run(question))
        except BaseException as error:
            box.append(error)
        finally:
            connections.close_all()  # of this thread

    thread = threading.Thread(target=run, name="agentweb-payment", daemon=True)
    thread.start()
    thread.join(timeout)
    if not box:
        raise TimeoutError
    [answer] = box
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, BaseException):
        raise RuntimeError(f"ended by {type(answer).__name__}") from answer
    return answer
