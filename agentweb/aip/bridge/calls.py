"""A browser action that an agent asks for, on its way to the page and back.

``ask`` runs in the call's transaction and writes the row; the answer is waited for after the commit, without one
(``invoke.later``). Whoever changes the row's state first decides: a call that is given up, or dropped because its page
was closed or its authority revoked, before a stream has taken it is never delivered; and what had been delivered by
then may have been done.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, connections, transaction

from agentweb import conf
from agentweb.access import tokens
from agentweb.access.callers import SESSION, Caller
from agentweb.access.database import PATIENCE_SECONDS, is_passing
from agentweb.access.rows import insert_if_absent
from agentweb.aip.bridge import authority
from agentweb.aip.bridge.watch import watch
from agentweb.aip.models import BrowserCall, OpenPage
from agentweb.catalog.effects import Effect
from agentweb.http.waiting import Place, threads
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
AGAIN_SECONDS: Final = 0.2
"""Between two looks at a database that is away."""

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
    if ctx.former:
        return Later(partial(_answer_of_former, _wait(ctx.former, ctx)), 0, ctx.former)
    at = now_datetime()
    page = _page(path, action, ctx.caller.user_id, at)
    ends_at = authority.ends_at(ctx.caller)
    wait = _wait(random_id("bc_"), ctx)
    deadline = at + timedelta(seconds=wait.seconds)
    call = BrowserCall(
        id=wait.call,
        page_id=page,
        user_id=ctx.caller.user_id,
        idents=authority.idents_of(ctx.caller),
        password=authority.password_of(ctx.caller),
        action=action,
        input=dumps(value).decode(),
        deadline=deadline if ends_at is None else min(deadline, ends_at),
    )
    _insert(call, at)
    for hurry in _hurry:
        transaction.on_commit(hurry, robust=True)
    return Later(partial(_answer, wait), wait.seconds, call.id)


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


def _page(path: str, action: str, user_id: Any, at: datetime) -> str:
    rows = (
        OpenPage.objects.filter(user_id=user_id, page=path, connected_until__gt=at)
        .exclude(login="")
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
    return str(page)


def _insert(call: BrowserCall, at: datetime) -> None:
    """Write the call into a free slot of its person's. Raises rate_limited when there is none.

    The constraint decides: of two that choose one slot at the same time, one looks for another.
    """
    mine = BrowserCall.objects.filter(user_id=call.user_id, state__in=_OPEN)
    for _ in range(2 * MAX_OPEN):
        used = dict(mine.values_list("slot", "deadline"))
        if any(deadline <= at for deadline in used.values()):
            # Nobody waits for these any more; whoever did was ended with its process.
            mine.filter(deadline__lte=at).update(state=_State.OVER, input="")
            used = {slot: deadline for slot, deadline in used.items() if deadline > at}
        free = [slot for slot in range(MAX_OPEN) if slot not in used]
        if not free:
            break
        call.slot = random.choice(free)  # noqa: S311 - not a secret
        if insert_if_absent([call]):
            return
    raise RequestError(
        Code.RATE_LIMITED,
        "The person's pages have not answered the calls before this one; wait for them.",
        retry_after=1,
    )


def _without_person(caller: Caller) -> AgentError:
    if caller.is_anonymous:
        return AuthenticationError(
            Code.GRANT_REQUIRED, "This runs in a person's browser: ask the person for a session first."
        )
    return AuthorizationError(
        Code.NOT_ALLOWED, "This runs in a person's browser, and the caller acts for no person."
    )


# -- waiting


@dataclass(frozen=True, slots=True)
class _Wait:
    """Who waits for what: the call, for how many seconds, in which place of the process."""

    call: str
    seconds: int
    place: Place
    is_read: bool
    is_session: bool
    is_threaded: bool
    is_keyed: bool


def _wait(call: str, ctx: Context) -> _Wait:
    """Raises unavailable when too many wait in this process."""
    # Under ASGI every request has a thread of its own; elsewhere they are the server's few.
    is_threaded = ctx.request is not None and not hasattr(ctx.request, "scope")
    return _Wait(
        call,
        conf.get("BRIDGE_SECONDS"),
        threads.take_call(is_threaded=is_threaded),
        is_read=ctx.action.effect is Effect.READ,
        is_session=ctx.caller.kind == SESSION,
        is_threaded=is_threaded,
        is_keyed=ctx.idempotency_key is not None,
    )


def _answer(wait: _Wait) -> Any:
    """The page's result. Raises its refusal, browser_disconnected, timeout, or that its authority was revoked."""
    ends_at = time.monotonic() + wait.seconds
    with wait.place:
        if not wait.is_threaded:
            # Threads under WSGI are few, and keep theirs.
            _close_connections()
        watch.wait(wait.call, wait.seconds)
    return _in_spite_of_outages(partial(_outcome, wait, ends_at))


def _answer_of_former(wait: _Wait) -> Any:
    """What became of a call whose process ended while it waited. It is not delivered again."""
    with wait.place:
        return _in_spite_of_outages(partial(_give_up, wait, partial(_closed, is_read=wait.is_read)))


def _in_spite_of_outages(find: Callable[[], Any]) -> Any:
    """The page has been asked: while the database is away for a moment, its answer is not given up."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return find()
        except (DatabaseError, InterfaceError) as error:
            if not is_passing(error) or time.monotonic() > ends_at:
                raise
            _close_connections()
            time.sleep(AGAIN_SECONDS)


def _outcome(wait: _Wait, ends_at: float) -> Any:
    state, is_refused, text, until = _look(wait.call)
    if state == _State.DONE:
        return _read(wait, text, is_refused=is_refused)
    if state == _State.DROPPED:
        raise _dropped(wait, text)
    if until <= now_datetime() and time.monotonic() < ends_at:
        return _give_up(wait, partial(_closed, is_read=wait.is_read))
    return _give_up(wait, partial(_late, wait.seconds, is_read=wait.is_read))


def _close_connections() -> None:
    """Give every database's connection back, which somebody else may need meanwhile."""
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close()


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


def _read(wait: _Wait, text: str, *, is_refused: bool) -> Any:
    if not wait.is_keyed:
        # That of a key stays until its time is over (``aip.retention``): this process may end before it has kept the
        # answer for the key.
        BrowserCall.objects.filter(pk=wait.call).delete()
    value = json.loads(text, parse_float=Decimal)
    if not is_refused:
        return value
    code, message = value["code"], value["message"]
    if code in _OWN_CODES:
        # What the site itself says by such a code, a page in a browser cannot say.
        code = Code.BROWSER_FAILED
    raise ConflictError(code, message, status=409)


def _give_up(wait: _Wait, error: Callable[..., AgentError]) -> Any:
    """Raise the error, unless the answer has come after all; it knows whether the page had been sent the call."""
    call = wait.call
    if BrowserCall.objects.filter(pk=call, state=_State.WAITING).delete()[0]:
        raise error(was_sent=False)
    if BrowserCall.objects.filter(pk=call, state=_State.SENT).update(state=_State.OVER, input="", answer=""):
        raise error(was_sent=True)
    state, is_refused, text, _ = _look(call)
    if state == _State.DROPPED:
        raise _dropped(wait, text)
    if state != _State.DONE:
        raise error(was_sent=True)
    return _read(wait, text, is_refused=is_refused)


def _dropped(wait: _Wait, reason: str) -> AgentError:
    BrowserCall.objects.filter(pk=wait.call).delete()
    if reason != authority.REVOKED:
        return _closed(is_read=wait.is_read, was_sent=False)
    if wait.is_session:
        return AuthenticationError(
            Code.SESSION_REVOKED,
            "The session was ended while the call waited for the page, and nothing was done.",
            headers=tokens.CHALLENGE,
        )
    return AuthenticationError(
        Code.GRANT_REVOKED,
        "What had allowed the call was revoked while it waited for the page, and nothing was done.",
    )


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
