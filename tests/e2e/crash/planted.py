"""Bugs that the harness has to catch. They live here only, and patch the process of a server that was told to.

``plant`` puts the bug that the environment names into a process, ``prepare`` takes away from the database what would
stop it: the constraint that the bug's author forgot, too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from tests.e2e.crash.oracle import Rule
from tests.e2e.crash.plan import MESSENGER

VARIABLE: Final = "AGENTWEB_CRASH_PLANTED"


@dataclass(frozen=True)
class Bug:
    """``rule`` is the one by which it must be caught."""

    rule: StrEnum
    plant: Callable[[], None] = lambda: None
    prepare: Callable[[], None] = lambda: None
    scenario: str = MESSENGER


def plant() -> None:
    """Put the bug named by the environment into this process, after Django is set up."""
    name = os.environ.get(VARIABLE)
    if name:
        find(name).plant()


def prepare() -> None:
    """Make the database ready for the bug, after it has its tables."""
    name = os.environ.get(VARIABLE)
    if name:
        find(name).prepare()


def find(name: str) -> Bug:
    return everything()[name]


def everything() -> dict[str, Bug]:
    """The bugs of all scenarios by their names."""
    from tests.e2e.crash.money.planted import BUGS as OF_MONEY

    return {**BUGS, **OF_MONEY}


def replace(module: Any, name: str, function: Any) -> None:
    """What has gone from the product cannot be spoiled any more, and must not seem to be."""
    if not callable(getattr(module, name)):
        raise TypeError(f"{module.__name__}.{name} is no function any more")
    setattr(module, name, function)


def _answer_before_commit() -> None:
    """202 leaves while the transaction is still open."""
    from django.db import connection, transaction

    from agentweb.aim import transactions

    truly = transactions.run

    def run(work: Callable[[], Any]) -> Any:
        answered: Future[Any] = Future()

        def in_its_own_time() -> None:
            try:
                with transaction.atomic():
                    answered.set_result(work())
                    time.sleep(0.2)
            except Exception as error:
                if not answered.done():
                    answered.set_exception(error)
            finally:
                connection.close()

        threading.Thread(target=in_its_own_time).start()
        try:
            return answered.result()
        except Exception:
            return truly(work)

    replace(transactions, "run", run)


def _drop_constraints() -> None:
    """What decides whether a message is new is then only the question that was asked before the insert."""
    from django.db import connection

    from agentweb.aim.models import Message

    with connection.schema_editor() as editor:
        for constraint in Message._meta.constraints:
            editor.remove_constraint(Message, constraint)


def _read_then_write() -> None:
    """The account is read, counted up in memory and written back, without a lock or a condition."""
    from agentweb.aim import quotas
    from agentweb.aim.models import Account
    from agentweb.aim.statements import Call, Statement

    write = Statement("UPDATE {account} SET charged = %s WHERE agent_id = %s")

    def taking(agent: int, units: int) -> Call | None:
        account = Account.objects.filter(pk=agent).first()
        return None if account is None else write.call([account.charged + units, agent])

    replace(quotas, "taking", taking)


def _give_positions_outside() -> None:
    """Positions come as those of a sequence do: at once, in an order that is not that of the commits."""
    from agentweb.aim import log, statements
    from agentweb.aim.log import Entry
    from agentweb.aim.statements import Call

    mine = threading.local()

    def advance(count: int) -> tuple[int, str]:
        if not hasattr(mine, "connection"):
            mine.connection = statements.connection().copy()
        mine.connection.close_if_unusable_or_obsolete()
        with mine.connection.cursor() as cursor:
            cursor.execute(log._ADVANCE.text(returning=" RETURNING last, epoch"), [count, log.NAME])
            last, epoch = cursor.fetchone()
        return last, epoch

    def append(entries: Sequence[Entry], at: datetime, *also: Call) -> tuple[int, str]:
        last, epoch = advance(len(entries))
        when, of_head = statements.instant(at), statements.Statement(log._LAST).text()
        rows = [
            (log.NAME, len(entries) - place, entry.stream, entry.type, when, entry.message_key, entry.data)
            for place, entry in enumerate(entries, 1)
        ]
        insert = log._INSERT.call(
            [value for row in rows for value in row], rows=", ".join([log._ROW] * len(rows))
        )
        for call in (*also, insert):
            text = call.text.replace(of_head, "CAST(%s AS bigint)")
            values = [last if value == log.NAME else value for value in call.values]
            statements.together(Call(text, values))
        return last, epoch

    replace(log, "append", append)


def _remember_nonces_in_memory() -> None:
    from agentweb.access import admission, nonces
    from agentweb.wire.errors import AuthenticationError, Code

    seen: set[tuple[str, str]] = set()
    lock = threading.Lock()

    def burn(key: str, nonce: str, expires: float) -> None:
        with lock:
            if (key, nonce) in seen:
                raise AuthenticationError(Code.REQUEST_REPLAYED, "This nonce was used before.")
            seen.add((key, nonce))

    replace(nonces, "burn", burn)
    # The statement that does it together with the limit is the database's.
    replace(admission, "at_once", lambda *_, **__: None)


def _not_flush() -> None:
    """COMMIT returns before the disk has it."""
    from django.db.backends.signals import connection_created

    def hurry(connection: Any, **_: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit TO off")

    connection_created.connect(hurry, weak=False)


BUGS: Final[dict[str, Bug]] = {
    "ack-before-commit": Bug(Rule.LOST, _answer_before_commit),
    "check-then-insert": Bug(Rule.DOUBLED, prepare=_drop_constraints),
    "read-modify-write": Bug(Rule.CHARGED, _read_then_write),
    "id-as-cursor": Bug(Rule.MISSED, _give_positions_outside),
    "nonce-in-memory": Bug(Rule.NONCE, _remember_nonces_in_memory),
    "commit-not-flushed": Bug(Rule.LOST, _not_flush),
}
