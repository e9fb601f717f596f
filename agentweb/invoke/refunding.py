"""Asking for a refund: who may, what the site's policy says, and an answer that is kept (AGENT_ACTIONS section 4).

Repeating a request with its Idempotency-Key gives one refund and one answer, as for actions. Only the buyer may ask:
the agent whose key or session the receipt names, under whatever grant it comes now, or under none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db import DatabaseError, InterfaceError
from django.utils.module_loading import import_string

from agentweb import conf
from agentweb.access import site_keys
from agentweb.access.callers import Caller
from agentweb.access.database import begun, is_passing, patiently, write_patiently
from agentweb.invoke import idempotency
from agentweb.ledger import receipts, refunds
from agentweb.ledger.models import Receipt
from agentweb.ledger.payment_models import Refund
from agentweb.wire import canonical, strict_json
from agentweb.wire.errors import (
    AgentError,
    AuthorizationError,
    Code,
    ConflictError,
    MoneyError,
    RequestError,
    ServerError,
)
from agentweb.wire.money import format_amount, parse_amount
from agentweb.wire.signing import SigningKey

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

logger = logging.getLogger("agentweb.payments")

NAME: Final = "agent-actions/refunds"
"""In the records of idempotency keys; no action can be called so."""
_POLL_SECONDS: Final = 5

State = Refund.State


class Verdict(StrEnum):
    """What a refund policy answers."""

    APPROVE = "approve"
    PENDING = "pending"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A request as it was read. ``amount`` is None for all that is left."""

    receipt: str
    amount: int | str | Decimal | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a policy is told beside the receipt and the amount: ``reason`` is the agent's own, ``remaining`` what is
    left of the charge."""

    caller: Caller
    reason: str
    remaining: Decimal
    currency: str
    request_id: str

    @property
    def user(self) -> AbstractBaseUser | AnonymousUser:
        return self.caller.user


@dataclass(frozen=True, slots=True)
class Answered:
    """``body`` is the answer's JSON, as it was kept when ``is_replayed``."""

    status: int
    body: bytes
    is_replayed: bool = False


Policy = Callable[[dict[str, Any], Decimal, Asked], str]


def policy() -> Policy:
    """The site's policy, else one by which everything waits for the staff. Raises ImportError and TypeError."""
    path: str | None = conf.get("REFUND_POLICY")
    if path is None:
        return lambda receipt, amount, ctx: Verdict.PENDING
    found = import_string(path)
    if not callable(found):
        raise TypeError(f"{path} is no function")
    return found  # type: ignore[no-any-return]


def ask(
    caller: Caller, wanted: Wanted, *, site: str, request_id: str, key: str | None, path: str
) -> Answered:
    """Give a refund, let it wait, or refuse: the answer. Raises an AgentError for every other end.

    Raises receipt_not_found, refund_not_allowed, refund_exceeds_charge, amount_invalid, payment_declined,
    payment_unknown, conflict, and those of the key.
    """
    if key is None:
        raise ConflictError(
            Code.IDEMPOTENCY_KEY_REQUIRED,
            "Send an Idempotency-Key with a refund: one key for each intent, kept for its retries.",
        )
    idempotency.check_key(key)
    document = receipts.find(caller, wanted.receipt, site=site)
    if not isinstance(document, dict) or document["agent"] not in {caller.subject, caller.agent_key}:
        raise AuthorizationError(
            Code.REFUND_NOT_ALLOWED,
            "Only the agent that paid asks for a refund: sign with the key of the receipt.",
        )
    fingerprint = canonical.digest(
        ["POST", path, wanted.receipt, None if wanted.amount is None else str(wanted.amount), wanted.reason]
    )
    claimed = patiently(
        partial(
            idempotency.claim,
            subject=caller.subject,
            action=NAME,
            key=key,
            fingerprint=fingerprint,
            request_id=request_id,
        )
    )
    if isinstance(claimed, idempotency.Stored):
        return Answered(claimed.status, claimed.body.encode(), is_replayed=True)
    asking = _Asking(caller, wanted, document, request_id, claimed)
    try:
        return asking.answer()
    except (DatabaseError, InterfaceError) as error:
        _let_go(claimed)
        if not is_passing(error):
            raise
        raise ServerError(
            Code.UNAVAILABLE,
            "The site is busy. Repeat the same request with the same Idempotency-Key.",
            retry_after=1,
        ) from error
    except Exception:
        _let_go(claimed)
        raise


def find(caller: Caller, refund_id: str, *, site: str) -> Refund:
    """A refund of a receipt that the caller may read; somebody else's does not exist for it."""
    found = Refund.objects.filter(pk=refund_id[:64], receipt__site=site).first()
    if found is not None:
        try:
            receipts.find(caller, found.receipt_id, site=site)
        except MoneyError:
            found = None
    if found is None:
        raise RequestError(Code.NOT_FOUND, "You have no refund with this id.")
    return found


@dataclass(frozen=True, slots=True)
class _Asking:
    caller: Caller
    wanted: Wanted
    document: dict[str, Any]
    request_id: str
    lease: idempotency.Lease

    def answer(self) -> Answered:
        intent = idempotency.intent_of(self.lease)
        begun_before = refunds.of_intent(intent)
        refund = self._begin(intent) if begun_before is None else begun_before
        if refund is None:
            raise AuthorizationError(
                Code.REFUND_NOT_ALLOWED, "The site does not give this refund. Ask the site's staff."
            )
        if refund.state == State.PROCESSING:
            write_patiently(
                partial(
                    idempotency.enter,
                    self.lease,
                    conf.get("PAYMENT_TIMEOUT_SECONDS") + refunds.SPARE_SECONDS,
                )
            )
            refund = refunds.carry_out(refund.pk)
        if refund.state == State.PROCESSING:
            raise ServerError(
                Code.PAYMENT_UNKNOWN,
                "It is not known yet whether the money went back. Repeat the same request with the same "
                "Idempotency-Key: nothing is given back twice.",
                retry_after=_POLL_SECONDS,
                refund=refunds.as_document(refund),
            )
        return patiently(partial(self._keep, refund))

    def _begin(self, intent: str) -> Refund | None:
        """The refund, written down; None when the policy refuses it."""
        receipt = Receipt.objects.get(pk=self.document["id"])
        if receipt.kind != Receipt.Kind.CHARGE:
            raise AuthorizationError(
                Code.REFUND_NOT_ALLOWED, "This is the receipt of a refund; name the receipt of its charge."
            )
        left = refunds.remaining(receipt)
        amount = left if self.wanted.amount is None else parse_amount(self.wanted.amount, receipt.currency)
        if not left or amount > left:
            raise refunds.exceeds(left, receipt.currency)
        verdict = self._verdict(amount, left, receipt.currency)
        if verdict is Verdict.REFUSE:
            return None
        refund = refunds.new(
            receipt,
            amount,
            reason=self.wanted.reason,
            request_id=self.request_id,
            asked_by=self.caller.subject,
            intent=intent,
        )
        # Now, and not before the policy was asked: that may take longer than a key that was replaced still counts.
        patiently(partial(self._write, refund, verdict, site_keys.active_key()))
        return refund

    def _write(self, refund: Refund, verdict: Verdict, key: SigningKey) -> None:
        refund.state = ""
        with begun(partial(idempotency.enter, self.lease)):
            if verdict is Verdict.APPROVE:
                refunds.approve(refund, key)
            else:
                refunds.wait(refund)

    def _verdict(self, amount: int, left: int, currency: str) -> Verdict:
        asked = Asked(
            caller=self.caller,
            reason=self.wanted.reason,
            remaining=Decimal(format_amount(left, currency)),
            currency=currency,
            request_id=self.request_id,
        )
        said = policy()(dict(self.document), Decimal(format_amount(amount, currency)), asked)
        return Verdict(said)

    def _keep(self, refund: Refund) -> Answered:
        """Keep the answer, which is the same for every repetition of this request."""
        status = {State.PENDING: 202, State.DECLINED: 402}.get(State(refund.state), 200)
        body: dict[str, Any] = {"refund": refunds.as_document(refund)}
        if refund.state == State.DECLINED:
            error = MoneyError(
                Code.PAYMENT_DECLINED,
                "The payment provider does not give the money back; nothing was refunded. Ask the site's staff.",
                **body,
            )
            body = {"error": error.as_dict(self.request_id)}
        if refund.state == State.DONE:
            found = (
                Receipt.objects.filter(pk=refund.refund_receipt).values_list("document", flat=True).first()
            )
            body["receipt"] = strict_json.loads((found or "null").encode())
        text = strict_json.dumps(body).decode()
        with begun(partial(idempotency.enter, self.lease)):
            idempotency.finish(self.lease, status=status, body=text)
        return Answered(status, text.encode())


def _let_go(lease: idempotency.Lease) -> None:
    """A refusal frees the key; what has begun is found again by the next request with it."""
    try:
        is_begun = refunds.of_intent(idempotency.intent_of(lease)) is not None
        write_patiently(partial(idempotency.let_go if is_begun else idempotency.free, lease))
    except (AgentError, DatabaseError, InterfaceError):
        logger.warning("Could not give an idempotency key back", exc_info=True)
