"""Running the site's own function, and reading what it raises: a refusal that speaks to the caller, or a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import async_to_sync

from agentweb.catalog.actions import Effect
from agentweb.invoke import refusals, results
from agentweb.invoke.calls import Call
from agentweb.invoke.context import Context
from agentweb.invoke.later import Later
from agentweb.ledger.charges import Till
from agentweb.ledger.payments import Unpaid
from agentweb.wire.errors import AgentError
from agentweb.wire.strict_json import Json


class Refusal(Exception):
    """The handler began and said no (4xx): its work is taken back, its answer is kept."""

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.code)
        self.error = error


class Aborted(Exception):
    """The handler ended by something that is no Exception (SystemExit, CancelledError ...): a crash like others."""


def run(
    call: Call,
    value: Json,
    *,
    till: Till | None,
    consent: Callable[[], None] | None = None,
    former: str = "",
) -> Any:
    """What the handler returns. Raises Refusal, an AgentError of the site's side (5xx), or what crashed.

    ``consent`` is called when all but the handler itself has agreed to the input; what it raises comes out as it is.
    """
    action = call.action
    context = Context(
        action=action,
        caller=call.caller,
        request=call.request,
        request_id=call.request_id,
        idempotency_key=None if action.effect is Effect.READ else call.idempotency_key,
        till=till,
        former=former,
    )
    handler: Callable[[Any, Any], Any] = action.handler
    is_async = iscoroutinefunction(handler)
    with _heard(call):
        # A type of the site's own may refuse values too, while it is made.
        inp = action.to_python(action.input.prepare(value), context)
        if consent is not None:
            consent()
        result = handler(inp, context)
        if is_async:
            result = async_to_sync(awaited)(result)
        if action.represent is None or isinstance(result, Later):
            return result
        return action.represent(result, context)


async def awaited(coming: Awaitable[Any]) -> Any:
    """What comes of the site's own coroutine. A SystemExit in it is a crash: it would end the loop that runs us all."""
    try:
        return await coming
    except SystemExit as error:
        raise Aborted("ended by SystemExit") from error


def wait(call: Call, later: Later) -> Any:
    """What comes in the end; raises as ``run`` does."""
    with _heard(call):
        return later.wait()


@contextmanager
def _heard(call: Call) -> Iterator[None]:
    """Tell a refusal from a crash, for what the site's own code raises in the block."""
    try:
        yield
    except Exception as error:
        refusal = refusals.refusal_of(error)
        if refusal is None or refusal.status >= 500:
            raise
        raise Refusal(_fit_to_send(refusal, call.label)) from error
    except (KeyboardInterrupt, Unpaid):
        raise
    except BaseException as error:
        raise Aborted(f"{call.action.name} ended by {type(error).__name__}") from error


def _fit_to_send(error: AgentError, call: str) -> AgentError:
    """The refusal as plain JSON, converted and redacted like a result, before anything of it is kept.

    Raises ResultError, or ValueError for what JSON or a header cannot hold.
    """
    error.extra = results.published(error.extra, call)
    error.message = results.published(error.message, call)
    error.field = results.published(error.field, call)
    if error.problems is not None:
        error.problems = results.published(error.problems, call)
        if not isinstance(error.problems, list) or not all(isinstance(each, dict) for each in error.problems):
            raise results.ResultError("the problems of an error are a list of objects")
    if any(set("\r\n\0") & set(name + text) for name, text in error.headers.items()):
        raise results.ResultError("a header of an error has a line feed")
    return error
