"""The one door: every protocol runs an action through ``invoke``, and the order of checks stands here once.

grant and scope, JSON, schema, idempotency, declared cost against mandate, a person's approval, handler. Route, size,
media type and signature come before, on the HTTP floor; the protocols add nothing after (AGENT_ACTIONS, order of
checks). A person is asked last, so that nobody is asked about a call that would be refused anyway.

What commits together: the handler's own writes, its charges and receipts, the kept answer of its idempotency
key, and the audit row. A refusal of the handler (a 4xx AgentError, or what ``refusals`` knows) takes back what the
handler did and is kept as the answer; a crash takes back everything and frees the key. Both leave an approval as
it was: it is used up only together with what it allowed.

With a payment provider the handler of a spend may run several times, and commits once: see ``paying``.

A handler whose answer comes from elsewhere returns a ``Later``. Then its own writes, the use of grant and approval and
the audit row commit first, and the answer is waited for without a transaction and kept in a second one.
"""

from __future__ import annotations

import json
import logging
from decimal import Decimal
from functools import partial
from typing import Any, Final, NoReturn

from django.db import DatabaseError, InterfaceError

from agentweb.access import authorization, limits, site_keys
from agentweb.access.database import begun, patiently
from agentweb.catalog.actions import Effect
from agentweb.invoke import audit, costs, failures, handlers, idempotency, paying, results, transacted
from agentweb.invoke.calls import Call, Outcome
from agentweb.invoke.later import Later
from agentweb.ledger import charges, providers
from agentweb.signals import action_invoked
from agentweb.wire import canonical
from agentweb.wire.errors import AgentError, Code, ConflictError
from agentweb.wire.json_types import Json
from agentweb.wire.safe_numbers import nearest_doubles

logger = logging.getLogger("agentweb.invoke")

REPLAYED_HEADER: Final = "Idempotent-Replayed"


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
        failure = failures.failure_of(call, error)
        failures.undo(entry, None, failure)
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
    failed = failures.failure_of
    try:
        result = handlers.run(call, value, till=None)
        if isinstance(result, Later):
            failed = failures.unsure
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
    if call.action.effect is Effect.SPEND and lease is not None and providers.is_configured():
        return paying.act(call, entry, value, lease)
    done = transacted.Done()
    try:
        till, signing_key = None, None
        if call.action.effect is Effect.SPEND:
            till = charges.Till(call.caller, costs.ceiling_of(call.action, value))
            signing_key = site_keys.active_key()
        patiently(partial(transacted.run, call, entry, value, lease, till, signing_key, done))
    except Exception as error:
        if done.is_committed:
            # A callback that the handler left for after the commit: what was done is done, and so is answered.
            logger.error("A callback of %s (%s) failed", call.action.name, call.request_id, exc_info=error)
        else:
            failure = failures.failure_of(call, error)
            failures.undo(entry, lease, failure)
            raise failure from error
    if done.refusal is not None:
        raise done.refusal
    if done.later is not None:
        return _await(call, entry, lease, done.later)
    return Outcome(body=done.body, receipts=done.receipts)


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
        failure = failures.unsure(call, error)
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
        error = failures.unsure(call, crash)
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
                idempotency.finish(lease, status=status, body=failures.error_text(error, call))
            else:
                idempotency.free(lease)
        entry.settle(status=status, outcome=audit.OK if error is None else error.code)


# -- answers that were kept


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
