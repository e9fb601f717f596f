"""The one door: every protocol runs an action through ``invoke``, and the order of checks stands here once.

grant and scope, JSON, schema, idempotency, declared cost against mandate, a person's approval, handler. Route, size,
media type and signature come before, on the HTTP floor; the protocols add nothing after (AGENT_ACTIONS, order of
checks). A person is asked last, so that nobody is asked about a call that would be refused anyway.

What commits together: the handler's own writes, its charges and receipts, the kept answer of its idempotency
key, and the audit row. A refusal of the handler (a 4xx AgentError, or what ``refusals`` knows) takes back what the
handler did and is kept as the answer; a crash takes back everything and frees the key. Both leave an approval as
it was: it is used up only together with what it allowed.

A handler whose answer comes from elsewhere returns a ``Later``. Then its own writes, the use of grant and approval and
the audit row commit first, and the answer is waited for without a transaction and kept in a second one.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final, NoReturn

from django.contrib.auth import get_user_model
from django.db import DatabaseError, InterfaceError, transaction

from agentweb.access import authorization, limits, site_keys
from agentweb.access.database import begun, is_passing, patiently, write_patiently
from agentweb.catalog.actions import Action, Effect
from agentweb.invoke import audit, consent, handlers, idempotency, results, transactions
from agentweb.invoke.calls import Call, Outcome
from agentweb.invoke.later import Later
from agentweb.ledger import charges, receipts
from agentweb.signals import action_invoked, receipt_issued
from agentweb.wire import canonical, strict_json
from agentweb.wire.errors import AgentError, AuthenticationError, Code, ConflictError, ServerError
from agentweb.wire.json_types import Json
from agentweb.wire.money import parse_amount
from agentweb.wire.safe_numbers import nearest_doubles
from agentweb.wire.signing import SigningKey
from agentweb.wire.visible import visible

logger = logging.getLogger("agentweb.invoke")

REPLAYED_HEADER: Final = "Idempotent-Replayed"
Receipts = tuple[dict[str, Any], ...]


def invoke(call: Call) -> Outcome:
    """Run the action, or answer why not: returns the outcome, raises an AgentError for every refusal.

    An anonymous read leaves no row; every other call that got as far as a known caller leaves one audit row.
    """
    entry = audit.Audit(call)
    try:
        outcome = _checked(call, entry)
    except AgentError as error:
        replayed = REPLAYED_HEADER in error.headers
        _report(call, status=error.status, outcome=audit.REPLAYED if replayed else error.code)
        raise
    _report(call, status=outcome.status, outcome=audit.REPLAYED if outcome.replayed else audit.OK)
    return outcome


def _checked(call: Call, entry: audit.Audit) -> Outcome:
    """Every check up to the handler; a refusal here is recorded and frees the key."""
    action = call.action
    try:
        authorization.authorize(call.caller, action=action.name, effect=action.effect, scope=action.scope)
        if action.rate is not None:
            left = limits.take(f"action:{action.name}:{_rate_key(call)}", action.rate, limits.ACTION)
            if call.on_limit is not None:
                call.on_limit(left)
        value = call.read_input()
        action.input.check(value)
        entry.input_digest, fingerprint = _digests(call, value)
        key = _key(call)
    except AgentError as error:
        entry.close(status=error.status, outcome=error.code)
        raise
    if action.effect is Effect.READ:
        return _read(call, entry, value)
    if key is None:
        return _act(call, entry, value, lease=None)
    try:
        claimed = patiently(
            partial(
                idempotency.claim,
                subject=call.caller.subject,
                action=action.name,
                key=key,
                fingerprint=fingerprint,
                request_id=call.request_id,
            )
        )
    except (AgentError, DatabaseError, InterfaceError) as error:
        failure = _failure(call, error)
        _undo(entry, None, failure)
        raise failure from error
    if isinstance(claimed, idempotency.Stored):
        entry.close(status=claimed.status, outcome=audit.REPLAYED)
        return _replay(claimed)
    if claimed.former is not None:
        return _resume(call, entry, value, claimed)
    return _act(call, entry, value, lease=claimed)


def _rate_key(call: Call) -> str:
    """The holder of the first grant, so that handing a grant on makes no new rate; else the address."""
    return call.caller.rate_key or limits.address_key(call.caller.address)


def _key(call: Call) -> str | None:
    """The idempotency key that counts: none for a read, required for a spend."""
    if call.action.effect is Effect.READ:
        return None
    if call.idempotency_key is not None:
        idempotency.check_key(call.idempotency_key)
    elif call.action.effect is Effect.SPEND:
        raise ConflictError(
            Code.IDEMPOTENCY_KEY_REQUIRED,
            "Send an Idempotency-Key with every call that spends: one key for each intent, kept for its retries.",
        )
    return call.idempotency_key


def _digests(call: Call, value: Json) -> tuple[str, str]:
    """(digest of the input for the audit log, fingerprint of the call for its idempotency key)."""
    try:
        return canonical.digest(value), canonical.digest([call.method, call.path, value])
    except canonical.CanonicalError:
        # An integer that no double holds exactly; what is compared is the nearest one (clarification on numbers).
        near = nearest_doubles(value)
        return canonical.digest(near), canonical.digest([call.method, call.path, near])


# -- running the handler


def _read(call: Call, entry: audit.Audit, value: Json) -> Outcome:
    """A read opens no transaction: on SQLite a read that later writes inside one fails at once."""
    failed = _failure
    try:
        result = handlers.run(call, value, till=None)
        if isinstance(result, Later):
            failed = _unsure
            result = handlers.wait(call, result)
        body = results.encode(result, call.label, call.action.output)
    except handlers.Refusal as refusal:
        entry.close(status=refusal.error.status, outcome=refusal.error.code)
        raise refusal.error from None
    except Exception as error:
        failure = failed(call, error)
        entry.close(status=failure.status, outcome=failure.code)
        raise failure from error
    entry.close(status=200, outcome=audit.OK)
    return Outcome(body=body)


def _act(call: Call, entry: audit.Audit, value: Json, *, lease: idempotency.Lease | None) -> Outcome:
    """The handler in its transaction; afterwards either everything of it holds, or nothing."""
    done = _Done()
    try:
        till, signing_key = None, None
        if call.action.effect is Effect.SPEND:
            till = charges.Till(call.caller, _ceiling(call.action, value))
            signing_key = site_keys.active_key()
        patiently(partial(_transaction, call, entry, value, lease, till, signing_key, done))
    except Exception as error:
        if done.is_committed:
            # A callback that the handler left for after the commit: what was done is done, and so is answered.
            logger.error("A callback of %s (%s) failed", call.action.name, call.request_id, exc_info=error)
        else:
            failure = _failure(call, error)
            _undo(entry, lease, failure)
            raise failure from error
    if done.refusal is not None:
        raise done.refusal
    if done.later is not None:
        return _await(call, entry, lease, done.later)
    return Outcome(body=done.body, receipts=done.receipts)


@dataclass(slots=True)
class _Done:
    """What a transaction comes to; it holds once ``is_committed``."""

    refusal: AgentError | None = None
    body: bytes = b""
    receipts: Receipts = ()
    later: Later | None = None
    is_committed: bool = False


def _transaction(
    call: Call,
    entry: audit.Audit,
    value: Json,
    lease: idempotency.Lease | None,
    till: charges.Till | None,
    signing_key: SigningKey | None,
    done: _Done,
) -> None:
    """Begins with the right to write and the fence of the key, and ends with the last lock, the receipt head."""
    asking = consent.Consent(call, value, till.ceiling if till is not None else None)
    is_final = True
    with begun(None if lease is None else partial(idempotency.enter, lease)):
        # Before any callback of the handler's, so that one that fails cannot keep it from being told.
        transaction.on_commit(partial(_committed, call, done), robust=True)
        try:
            with transactions.inner(call.action.name):
                charges.enter(call.caller, spends=till is not None)
                if till is not None:
                    till.open(charges.check_declared(call.caller, till.ceiling))
                with transactions.undivided(call.action.name):
                    result = handlers.run(
                        call, value, till=till, consent=asking.use if asking.is_needed else None
                    )
                if isinstance(result, Later):
                    done.later = _without_money(call, result)
                else:
                    done.body = results.encode(result, call.label, call.action.output)
                _check_whole(call, till)
        except handlers.Refusal as refusal:
            done.refusal = refusal.error
            # "Come again" is no final answer: the same key is to get another one.
            is_final = refusal.error.retry_after is None and refusal.error.status != 429
        except consent.Missing:
            # What was taken before (a use, a lock) is given back; the question alone stays.
            done.refusal, is_final = asking.ask(), False
        else:
            if till is not None and signing_key is not None and till.charges:
                occasion = receipts.Occasion(call.site, call.action.name, call.request_id, call.caller)
                done.receipts = tuple(receipts.append(till.charges, occasion, signing_key))
        if done.later is not None:
            if lease is not None:
                idempotency.hold(lease, done.later.seconds, done.later.reference)
            entry.close(status=202, outcome=audit.WAITING)
            return
        status = done.refusal.status if done.refusal is not None else 200
        if lease is not None:
            if done.refusal is None:
                idempotency.finish(lease, status=status, body=done.body.decode())
            elif is_final:
                idempotency.finish(lease, status=status, body=_error_text(done.refusal, call))
            else:
                idempotency.free(lease)
        entry.close(status=status, outcome=done.refusal.code if done.refusal is not None else audit.OK)


def _check_whole(call: Call, till: charges.Till | None) -> None:
    """Refuse to commit half of a handler's work: what it swallowed may have undone a part of it."""
    if transaction.get_rollback():
        raise RuntimeError(
            f"{call.action.name} swallowed a database error, so its transaction cannot commit. "
            "Put the statement that may fail into its own transaction.atomic()."
        )
    if till is not None:
        till.close()


def _without_money(call: Call, later: Later) -> Later:
    if call.action.effect is Effect.SPEND:
        raise RuntimeError(
            f"{call.action.name} spends, so its answer and its receipt commit together, not later."
        )
    return later


def _resume(call: Call, entry: audit.Audit, value: Json, lease: idempotency.Lease) -> Outcome:
    """The answer of a run that had committed what it did, and whose process ended while it waited."""
    try:
        later = handlers.run(call, value, till=None, former=lease.former) if lease.former else None
        if later is not None and not isinstance(later, Later):
            raise TypeError(f"{call.action.name} got ctx.former and returned no Later")
    except handlers.Refusal as refusal:
        entry.close(status=refusal.error.status, outcome=refusal.error.code)
        raise refusal.error from None
    except Exception as error:
        failure = _unsure(call, error)
        entry.close(status=failure.status, outcome=failure.code)
        raise failure from error
    entry.close(status=202, outcome=audit.WAITING)
    return _await(call, entry, lease, later or Later(_interrupted, 0))


def _interrupted() -> NoReturn:
    raise RuntimeError("The process that waited for the answer has ended.")


def _await(call: Call, entry: audit.Audit, lease: idempotency.Lease | None, later: Later) -> Outcome:
    """The answer that comes later, kept in a transaction of its own. None is open while it is waited for."""
    error: AgentError | None = None
    body = b""
    try:
        body = results.encode(handlers.wait(call, later), call.label, call.action.output)
    except handlers.Refusal as refusal:
        error = refusal.error
    except Exception as crash:
        error = _unsure(call, crash)
    try:
        patiently(partial(_keep, call, entry, lease, body, error))
    except (DatabaseError, InterfaceError):
        # What was done is done, and so is answered; the lease ends by itself.
        logger.warning("Could not keep the answer of %s", call.label, exc_info=True)
    if error is not None:
        raise error
    return Outcome(body=body)


def _keep(
    call: Call,
    entry: audit.Audit,
    lease: idempotency.Lease | None,
    body: bytes,
    error: AgentError | None,
) -> None:
    status = 200 if error is None else error.status
    with begun():
        if lease is not None:
            if error is None:
                idempotency.finish(lease, status=status, body=body.decode())
            elif error.retry_after is None:
                idempotency.finish(lease, status=status, body=_error_text(error, call))
            else:
                idempotency.free(lease)
        entry.settle(status=status, outcome=audit.OK if error is None else error.code)


def _unsure(call: Call, error: Exception) -> AgentError:
    """What the caller learns when an answer that was waited for did not come as it should."""
    if isinstance(error, AgentError):
        return error
    logger.error("%s failed after its transaction had committed", call.label, exc_info=error)
    return ServerError(
        Code.HANDLER_ERROR,
        "The action was begun, and its answer cannot be told: it may have been done. Report the request id to the "
        "site, and look at the state before you call again.",
    )


def _committed(call: Call, done: _Done) -> None:
    done.is_committed = True
    for document in done.receipts:
        receipt_issued.send_robust(sender=call.action.name, receipt=document)


def _ceiling(action: Action, value: Json) -> charges.Ceiling | None:
    """The declared cost of this call; a client's own amount that is no amount is an input problem."""
    cost = action.cost
    if cost is None:
        return None
    if cost.amount is not None:
        return charges.Ceiling(cost.amount, cost.currency, is_fixed=True)
    declared: Any = value
    for name in cost.field_path:
        declared = declared[name]
    if isinstance(declared, float):
        declared = Decimal(repr(declared))
    try:
        return charges.Ceiling(parse_amount(declared, cost.currency), cost.currency, is_fixed=False)
    except AgentError as error:
        error.field = ".".join(cost.field_path)
        raise


# -- answers that were kept, and failures


def _replay(stored: idempotency.Stored) -> Outcome:
    if stored.status < 400:
        return Outcome(body=stored.body.encode(), status=stored.status, replay_of=stored.request_id)
    answer: dict[str, Any] = json.loads(stored.body, parse_float=Decimal)
    kept = answer["error"]
    error = AgentError(
        kept.pop("code"),
        kept.pop("message"),
        status=stored.status,
        field=kept.pop("field", None),
        problems=kept.pop("problems", None),
        headers={**answer["headers"], REPLAYED_HEADER: "true"},
    )
    # Not as keyword arguments: a member of the site's own may have the name of one.
    error.extra = kept
    raise error


def _error_text(error: AgentError, call: Call) -> str:
    """A refusal as it is kept: its body, and the headers that the handler gave it."""
    return strict_json.dumps({"error": error.as_dict(call.request_id), "headers": {**error.headers}}).decode()


def _failure(call: Call, error: Exception) -> AgentError:
    """What the caller learns of an exception: an AgentError as it is, a passing outage as such, else nothing."""
    if isinstance(error, AgentError):
        if error.status >= 500:
            logger.error(
                "%s (%s) failed: %s",
                call.action.name,
                call.request_id,
                visible(error.debug or error.message),
                exc_info=error,
            )
        return error
    if not isinstance(error, transactions.Torn) and _is_person_gone(call):
        logger.warning("%s (%s): its person was deleted meanwhile", call.action.name, call.request_id)
        return AuthenticationError(
            Code.GRANT_REVOKED, "The person who gave this grant is no longer at this site. Nothing was done."
        )
    if isinstance(error, (DatabaseError, InterfaceError)) and is_passing(error):
        logger.warning("%s (%s): %s", call.action.name, call.request_id, visible(str(error)))
        return ServerError(
            Code.UNAVAILABLE,
            "The site is busy. Repeat the same call with the same Idempotency-Key.",
            retry_after=1,
        )
    logger.error("%s (%s) crashed", call.action.name, call.request_id, exc_info=error)
    if isinstance(error, transactions.Torn):
        return ServerError(
            Code.HANDLER_ERROR,
            "The action failed inside the site, and a part of it may have been done. Report the request id to the "
            "site, and do not repeat the call before it has answered.",
        )
    return ServerError(
        Code.HANDLER_ERROR,
        "The action failed inside the site and nothing was changed. Report the request id to the site.",
    )


def _is_person_gone(call: Call) -> bool:
    """Whether the person of a call that failed was deleted while it ran, which breaks whatever refers to them."""
    if call.caller.user_id is None:
        return False
    try:
        return not get_user_model()._base_manager.filter(pk=call.caller.user_id).exists()
    except (DatabaseError, InterfaceError):
        return False


def _undo(entry: audit.Audit, lease: idempotency.Lease | None, failure: AgentError) -> None:
    """After the rollback: give the key back and record the failure, as far as the database lets us."""
    try:
        if lease is not None:
            write_patiently(partial(idempotency.free, lease))
        entry.close(status=failure.status, outcome=failure.code)
    except (DatabaseError, InterfaceError):
        # The lease ends by itself and the failure is in the log: the first error is the one to answer with.
        logger.warning("Could not record the failure of %s", entry.call.request_id, exc_info=True)


def _report(call: Call, *, status: int, outcome: str) -> None:
    action_invoked.send_robust(
        sender=call.action.name,
        request_id=call.request_id,
        protocol=call.protocol,
        subject=call.caller.subject,
        user_id=call.caller.user_id,
        status=status,
        outcome=outcome,
    )
