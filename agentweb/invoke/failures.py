"""What a caller learns of a failure, and what is put in order after it."""

from __future__ import annotations

import logging
from functools import partial

from django.contrib.auth import get_user_model
from django.db import DatabaseError, InterfaceError

from agentweb.access.database import is_passing, write_patiently
from agentweb.invoke import audit, idempotency, transactions
from agentweb.invoke.calls import Call
from agentweb.wire import strict_json
from agentweb.wire.errors import AgentError, AuthenticationError, Code, ServerError
from agentweb.wire.visible import visible

logger = logging.getLogger("agentweb.invoke")


def failure_of(call: Call, error: Exception) -> AgentError:
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


def unsure(call: Call, error: Exception) -> AgentError:
    """What the caller learns when an answer that was waited for did not come as it should."""
    if isinstance(error, AgentError):
        return error
    logger.error("%s failed after its transaction had committed", call.label, exc_info=error)
    return ServerError(
        Code.HANDLER_ERROR,
        "The action was begun, and its answer cannot be told: it may have been done. Report the request id to the "
        "site, and look at the state before you call again.",
    )


def undo(entry: audit.Audit, lease: idempotency.Lease | None, failure: AgentError) -> None:
    """After the rollback: give the key back and record the failure, as far as the database lets us."""
    try:
        if lease is not None:
            write_patiently(partial(idempotency.free, lease))
        entry.close(status=failure.status, outcome=failure.code)
    except (DatabaseError, InterfaceError):
        # The lease ends by itself and the failure is in the log: the first error is the one to answer with.
        logger.warning("Could not record the failure of %s", entry.call.request_id, exc_info=True)


def error_text(error: AgentError, call: Call) -> str:
    """A refusal as it is kept: its body, and the headers that the handler gave it."""
    return strict_json.dumps({"error": error.as_dict(call.request_id), "headers": {**error.headers}}).decode()
