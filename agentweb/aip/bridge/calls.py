"""A browser action that an agent asks for, on its way to the page and back.

``ask`` runs in the call's transaction and writes the row; the answer is waited for after the commit, without one
(``invoke.later``). Whoever changes the row's state first decides: a call that is given up before a stream has taken
it is never delivered, and what had been delivered by then may have been done.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final

from django.db import connection, transaction

from agentweb import conf
from agentweb.access.callers import Caller
from agentweb.aip.bridge.watch import watch
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.catalog.effects import Effect
from agentweb.http.waiting import threads
from agentweb.invoke.context import Context
from agentweb.invoke.later import Later
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import (
    AgentError,
    AuthenticationError,
    AuthorizationError,
    Code,
    ConflictError,
    RequestError,
    ServerError,
)
from agentweb.wire.strict_json import Json, dumps

MAX_OPEN: Final = 8
"""Calls that the pages of one person may have before them at once."""

MAX_TABS: Final = 20
RETRY_SECONDS: Final = 5

_State: Final = BrowserCall.State
_OPEN: Final = (_State.WAITING, _State.SENT)
_OWN_CODES: Final = frozenset(code.value for code in Code)

_hurry: Final[list[Callable[[], None]]] = []


def ask(path: str, action: str, value: Json, ctx: Context) -> Later:
    """Ask the page at ``path`` that the caller's person has open; in the tab they used last of those that can.

    Raises browser_disconnected when none is open or can, rate_limited when it has not answered enough others.
    """
    if ctx.caller.user_id is None:
        raise _without_person(ctx.caller)
    page = _page(path, action, ctx.caller.user_id)
    seconds: int = conf.get("BRIDGE_SECONDS")
    is_threaded = ctx.request is not None and not hasattr(ctx.request, "scope")
    if is_threaded:
        threads.check_call()
    call = BrowserCall(
        id=random_id("bc_"),
        page_id=page,
        action=action,
        input=dumps(value).decode(),
        deadline=now_datetime() + timedelta(seconds=seconds),
    )
    call.save(force_insert=True)
    for hurry in _hurry:
        transaction.on_commit(hurry, robust=True)
    is_read = ctx.action.effect is Effect.READ
    return Later(partial(_answer, call.id, seconds, is_read=is_read, is_threaded=is_threaded), seconds)


def on_ask(hurry: Callable[[], None]) -> None:
    """Call this when something was asked in this process, so that its streams need not wait for their turn."""
    _hurry.append(hurry)


def answer(page: str, call: str, *, text: str, is_refused: bool) -> bool:
    """Keep the page's answer; False when nobody waits for it any more. The caller has made sure whose page it is."""
    done = BrowserCall.objects.filter(pk=call, page_id=page, state=_State.SENT).update(
        state=_State.DONE, answer=text, is_refused=is_refused
    )
    watch.hurry()
    return bool(done)


def _page(path: str, action: str, user_id: Any) -> str:
    at = now_datetime()
    rows = (
        OpenPage.objects.filter(user_id=user_id, page=path, connected_until__gt=at)
        .order_by("-active_at")
        .values_list("pk", "offers")[:MAX_TABS]
    )
    page = next((ident for ident, offers in rows if action in json.loads(offers)), None)
    if page is None:
        raise _disconnected(
            f"The person does not have {path} open in a browser, or it cannot do {action} at the moment. Ask them "
            "to open it, then call again.",
            retry_after=RETRY_SECONDS,
        )
    if (
        BrowserCall.objects.filter(page__user_id=user_id, state__in=_OPEN, deadline__gt=at).count()
        >= MAX_OPEN
    ):
        raise RequestError(
            Code.RATE_LIMITED,
            "The person's pages have not answered the calls before this one; wait for them.",
            retry_after=1,
        )
    return str(page)


def _without_person(caller: Caller) -> AgentError:
    if caller.is_anonymous:
        return AuthenticationError(
            Code.GRANT_REQUIRED, "This runs in a person's browser: ask the person for a session first."
        )
    return AuthorizationError(
        Code.NOT_ALLOWED, "This runs in a person's browser, and the caller acts for no person."
    )


# -- waiting


def _answer(call: str, seconds: int, *, is_read: bool, is_threaded: bool) -> Any:
    """The page's result. Raises its refusal, browser_disconnected or timeout."""
    ends_at = time.monotonic() + seconds
    with threads.call() if is_threaded else nullcontext():
        # Threads under WSGI are few, and keep theirs.
        if not is_threaded and not connection.in_atomic_block:
            connection.close()
        watch.wait(call, seconds)
    state, is_refused, text, until = _look(call)
    if state == _State.DONE:
        return _read(call, text, is_refused=is_refused)
    if until <= now_datetime() and time.monotonic() < ends_at:
        return _give_up(call, partial(_closed, is_read=is_read))
    return _give_up(call, partial(_late, seconds, is_read=is_read))


def _look(call: str) -> tuple[Any, ...]:
    """(state, is refused, answer, until when its page is connected)."""
    row = (
        BrowserCall.objects.filter(pk=call)
        .values_list("state", "is_refused", "answer", "page__connected_until")
        .first()
    )
    if row is None:
        # Deleted with its page's person: nobody will answer.
        raise _closed(is_read=False, was_sent=True)
    return row


def _read(call: str, text: str, *, is_refused: bool) -> Any:
    BrowserCall.objects.filter(pk=call).delete()
    value = json.loads(text, parse_float=Decimal)
    if not is_refused:
        return value
    code, message = value["code"], value["message"]
    if code in _OWN_CODES:
        # What the site itself says by such a code, a page in a browser cannot say.
        code = Code.BROWSER_FAILED
    raise ConflictError(code, message, status=409)


def _give_up(call: str, error: Callable[..., AgentError]) -> Any:
    """Raise the error, unless the answer has come after all; it knows whether the page had been sent the call."""
    if BrowserCall.objects.filter(pk=call, state=_State.WAITING).delete()[0]:
        raise error(was_sent=False)
    if BrowserCall.objects.filter(pk=call, state=_State.SENT).update(state=_State.OVER, input="", answer=""):
        raise error(was_sent=True)
    state, is_refused, text, _ = _look(call)
    if state != _State.DONE:
        raise error(was_sent=True)
    return _read(call, text, is_refused=is_refused)


_UNSURE: Final = (
    "Whether it was done, the site cannot tell: look at the state of the page before you call again, with a new "
    "Idempotency-Key."
)


def _closed(*, is_read: bool, was_sent: bool) -> AgentError:
    if was_sent and not is_read:
        return _disconnected(f"The page was closed before it answered. {_UNSURE}", retry_after=None)
    return _disconnected(
        "The page was closed before it answered, and nothing was done. Ask the person to open it, then call again.",
        retry_after=RETRY_SECONDS,
    )


def _late(seconds: int, *, is_read: bool, was_sent: bool) -> AgentError:
    if was_sent and not is_read:
        return ServerError(Code.TIMEOUT, f"The page has not answered within {seconds} seconds. {_UNSURE}")
    return ServerError(
        Code.TIMEOUT,
        f"The page has not answered within {seconds} seconds, and nothing was done. Call again.",
        retry_after=1,
    )


def _disconnected(message: str, *, retry_after: int | None) -> ConflictError:
    return ConflictError(Code.BROWSER_DISCONNECTED, message, retry_after=retry_after)
