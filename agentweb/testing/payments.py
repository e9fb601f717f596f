"""A payment provider for tests and for trying things out: it moves no money, and misbehaves where it is told to.

``AGENTWEB = {"PAYMENTS": "agentweb.testing.payments.TestProvider"}``. What it does is said by the item of a charge or
by its amount, the first that is there:

============================ ========================== ====================================================
item has the word            minor units end in          what happens
============================ ========================== ====================================================
``decline``                  ``02``                      declined
``timeout``                  ``03``                      it hangs, and has not taken the money
``lost``                     ``04``                      it takes the money, and then hangs: the answer is lost
``late``                     ``05``                      pending; captured when it is looked at the second time
``refuse-refund``            ``06``                      captured; every refund is declined
``lose-refund``              ``07``                      captured; the first answer to a refund is lost
``late-refund``              ``08``                      captured; a refund is pending when first asked for
anything else                                            captured
============================ ========================== ====================================================

``script(...)`` overrules both for the charges that follow. Its books are a SQLite file of its own, written in
transactions of its own: what was moved stays moved whatever becomes of the process that asked. The file is the one
that the environment variable ``AGENTWEB_TEST_PAYMENTS`` names, else one of the project and its database in the
directory for temporary files: ``TestProvider().path``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection

from agentweb.ledger.providers import Answer, ChargeOrder, PaymentProvider, RefundOrder, State

ENVIRONMENT: Final = "AGENTWEB_TEST_PAYMENTS"
SIGNATURE: Final = "test-payments-signature"
"""The header of a webhook: HMAC with SHA-256 of the body under ``SECRET``, hex."""
SECRET: Final = b"agentweb-test-payments"
HANG_SECONDS: Final = 3_600.0

_BY_WORD: Final = {
    "decline": "decline",
    "timeout": "timeout",
    "lost": "lost",
    "late-refund": "late-refund",
    "lose-refund": "lose-refund",
    "refuse-refund": "refuse-refund",
    "late": "late",
}
_BY_AMOUNT: Final = {
    2: "decline",
    3: "timeout",
    4: "lost",
    5: "late",
    6: "refuse-refund",
    7: "lose-refund",
    8: "late-refund",
}
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS charge (
    id TEXT PRIMARY KEY, amount INTEGER, currency TEXT, item TEXT, agent TEXT, behaviour TEXT, state TEXT, looks INTEGER
);
CREATE TABLE IF NOT EXISTS refund (id TEXT PRIMARY KEY, charge TEXT, amount INTEGER, state TEXT, looks INTEGER);
CREATE TABLE IF NOT EXISTS call (number INTEGER PRIMARY KEY, what TEXT, id TEXT);
CREATE TABLE IF NOT EXISTS script (number INTEGER PRIMARY KEY, behaviour TEXT);
"""
_HUNG: Final = "hung"
"""State of a charge that hung and took nothing: for a site it is not there, and ``settle`` can let it come out."""
_SETTLED: Final = ("captured", "declined")


class TestProvider(PaymentProvider):
    """See the module. Money is taken when a charge's ``state`` is captured, and given back when a refund's is."""

    __test__ = False  # not a test class

    def __init__(self, path: str | Path | None = None, *, hang_seconds: float = HANG_SECONDS) -> None:
        self._path = path
        self.hang_seconds = hang_seconds

    @property
    def path(self) -> Path:
        """The file of the books. Looked up at use: a test run changes the database after a provider was made."""
        return Path(self._path or os.environ.get(ENVIRONMENT) or _books_of_the_project())

    # -- what a site asks

    def charge(self, order: ChargeOrder) -> Answer:
        with self._books() as books:
            _note(books, "charge", order.id)
            row = _charge(books, order.id)
            if row is None:
                behaviour = _scripted(books) or self.behaviour(order)
                state = {"decline": "declined", "timeout": _HUNG, "late": "pending"}.get(
                    behaviour, "captured"
                )
                books.execute(
                    "INSERT OR REPLACE INTO charge VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
                    (order.id, order.amount, order.currency, order.item, order.agent, behaviour, state),
                )
            elif row["behaviour"] != "cancelled" and (row["amount"], row["currency"]) != (
                order.amount,
                order.currency,
            ):
                raise ValueError(f"{order.id} was used for another amount")
            else:
                return _look(books, row)
        if behaviour in {"timeout", "lost"}:
            self.hang()
        return _answer(state, order.id)

    def find(self, charge_id: str) -> Answer:
        with self._books() as books:
            _note(books, "find", charge_id)
            row = _charge(books, charge_id)
            return Answer(State.ABSENT) if row is None else _look(books, row)

    def cancel(self, charge_id: str) -> Answer:
        with self._books() as books:
            _note(books, "cancel", charge_id)
            dead = (charge_id, 0, "", "", "", "cancelled", "declined")
            books.execute("DELETE FROM charge WHERE id = ? AND state = ?", (charge_id, _HUNG))
            books.execute("INSERT OR IGNORE INTO charge VALUES (?, ?, ?, ?, ?, ?, ?, 0)", dead)
            books.execute(
                "UPDATE charge SET state = 'declined' WHERE id = ? AND state = 'pending'", (charge_id,)
            )
            row = _charge(books, charge_id)
            return _answer("declined" if row is None else row["state"], charge_id)

    def refund(self, order: RefundOrder) -> Answer:
        with self._books() as books:
            _note(books, "refund", order.id)
            charge = _charge(books, order.charge_id)
            if charge is None or charge["state"] != "captured":
                return Answer(State.DECLINED, reason="There is no such charge.")
            row = books.execute("SELECT * FROM refund WHERE id = ?", (order.id,)).fetchone()
            if row is not None:
                books.execute(
                    "UPDATE refund SET state = 'refunded', looks = looks + 1 WHERE id = ?", (order.id,)
                )
                return Answer(State.REFUNDED, f"test_{order.id}")
            [given] = books.execute(
                "SELECT coalesce(sum(amount), 0) FROM refund WHERE charge = ?", (order.charge_id,)
            ).fetchone()
            behaviour = charge["behaviour"]
            if behaviour == "refuse-refund" or given + order.amount > charge["amount"]:
                return Answer(State.DECLINED, reason="The provider does not give it back.")
            state = "pending" if behaviour == "late-refund" else "refunded"
            books.execute(
                "INSERT INTO refund VALUES (?, ?, ?, ?, 0)", (order.id, order.charge_id, order.amount, state)
            )
        if behaviour == "lose-refund":
            self.hang()
        return Answer(State(state), f"test_{order.id}")

    def read_event(self, headers: Mapping[str, str], body: bytes) -> str | None:
        if not hmac.compare_digest(sign_event(body), headers.get(SIGNATURE, "")):
            raise PermissionError("The signature is not this provider's.")
        ident = json.loads(body).get("id")
        return ident if isinstance(ident, str) else None

    def hang(self) -> None:
        """What an answer that does not come looks like; tests may do something else here."""
        time.sleep(self.hang_seconds)

    def behaviour(self, order: ChargeOrder) -> str:
        """What a new charge does, by the table of the module; for a subclass that wants another table."""
        return _behaviour(order.item, order.amount)

    # -- what a test asks

    def script(self, *behaviours: str) -> None:
        """What the next new charges do, one each: names of the table in the module, ``ok`` for a plain capture."""
        unknown = set(behaviours) - {*_BY_WORD.values(), "ok"}
        if unknown:
            raise ValueError(f"TestProvider knows no {', '.join(sorted(unknown))}.")
        with self._books() as books:
            books.executemany("INSERT INTO script (behaviour) VALUES (?)", [(each,) for each in behaviours])

    def settle(self, charge_id: str, state: str = "captured") -> None:
        """Let a charge that is pending, or hung, come out so: ``captured`` or ``declined``.

        Raises ValueError for another state, for a charge that there is not, and for one that came out otherwise.
        """
        if state not in _SETTLED:
            raise ValueError(f"A charge comes out {' or '.join(_SETTLED)}, not {state!r}.")
        with self._books() as books:
            row = books.execute("SELECT state FROM charge WHERE id = ?", (charge_id,)).fetchone()
            if row is None:
                raise ValueError(f"The books in {self.path} have no charge {charge_id!r}.")
            if row["state"] in _SETTLED and row["state"] != state:
                raise ValueError(f"{charge_id} is {row['state']} already, for good.")
            books.execute("UPDATE charge SET state = ? WHERE id = ?", (state, charge_id))

    def event(self, ident: str) -> tuple[dict[str, str], bytes]:
        """A webhook that tells of a charge or refund: its headers and body. It may be sent any number of times."""
        body = json.dumps({"id": ident}).encode()
        return {SIGNATURE: sign_event(body)}, body

    def charges(self) -> list[dict[str, Any]]:
        """All charges that there are, oldest first: ``id, amount, currency, item, agent, state``."""
        return self._rows(
            f"SELECT id, amount, currency, item, agent, state FROM charge WHERE state != '{_HUNG}' ORDER BY rowid"  # noqa: S608 - written above
        )

    def refunds(self) -> list[dict[str, Any]]:
        """All refunds, oldest first: ``id, charge, amount, state``."""
        return self._rows("SELECT id, charge, amount, state FROM refund ORDER BY rowid")

    def calls(self) -> list[tuple[str, str]]:
        """Everything that was asked, in order: ``("charge", "rc_…")``."""
        return [(row["what"], row["id"]) for row in self._rows("SELECT what, id FROM call ORDER BY number")]

    def taken(self) -> int:
        """Minor units that were taken and not given back, of all currencies together."""
        with self._books() as books:
            [taken] = books.execute(
                "SELECT coalesce(sum(amount), 0) FROM charge WHERE state = 'captured'"
            ).fetchone()
            [given] = books.execute(
                "SELECT coalesce(sum(amount), 0) FROM refund WHERE state = 'refunded'"
            ).fetchone()
        return int(taken - given)

    def clear(self) -> None:
        """Forget everything."""
        with self._books() as books:
            for table in ("charge", "refund", "call", "script"):
                books.execute(f"DELETE FROM {table}")  # noqa: S608 - written above

    def _rows(self, question: str) -> list[dict[str, Any]]:
        with self._books() as books:
            return [dict(row) for row in books.execute(question).fetchall()]

    @contextmanager
    def _books(self) -> Iterator[sqlite3.Connection]:
        """A transaction in the books, which is on the disk when the block is over."""
        with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as books:
            books.row_factory = sqlite3.Row
            if not books.execute("SELECT 1 FROM sqlite_master WHERE name = 'script'").fetchone():
                books.executescript(_TABLES)
            books.execute("BEGIN IMMEDIATE")
            try:
                yield books
            except BaseException:
                books.execute("ROLLBACK")
                raise
            books.execute("COMMIT")


def sign_event(body: bytes) -> str:
    return hmac.new(SECRET, body, hashlib.sha256).hexdigest()


def _books_of_the_project() -> Path:
    """A file of this project on this database: what one site was told to do is nothing to another."""
    at = connection.settings_dict
    name = str(at["NAME"])
    if connection.vendor == "sqlite" and "memory" not in name:
        name = str(Path(name).absolute())
    place = (
        os.environ.get("DJANGO_SETTINGS_MODULE", ""),
        str(getattr(settings, "BASE_DIR", "")),
        *(connection.vendor, str(at["HOST"]), str(at["PORT"]), name),
    )
    digest = hashlib.sha256("\0".join(place).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"agentweb-test-payments-{digest}.sqlite3"


def _behaviour(item: str, amount: int) -> str:
    words = item.lower().replace("_", "-").split()
    return next((_BY_WORD[word] for word in words if word in _BY_WORD), _BY_AMOUNT.get(amount % 100, "ok"))


def _scripted(books: sqlite3.Connection) -> str | None:
    row = books.execute("SELECT number, behaviour FROM script ORDER BY number LIMIT 1").fetchone()
    if row is None:
        return None
    books.execute("DELETE FROM script WHERE number = ?", (row["number"],))
    return str(row["behaviour"])


def _note(books: sqlite3.Connection, what: str, ident: str) -> None:
    books.execute("INSERT INTO call (what, id) VALUES (?, ?)", (what, ident))


def _charge(books: sqlite3.Connection, ident: str) -> Any:
    """The charge, None for one that the provider has not taken notice of."""
    return books.execute("SELECT * FROM charge WHERE id = ? AND state != ?", (ident, _HUNG)).fetchone()


def _look(books: sqlite3.Connection, row: Any) -> Answer:
    """A charge that is pending is captured when it is looked at the second time."""
    if row["state"] == "pending" and row["looks"]:
        books.execute("UPDATE charge SET state = 'captured' WHERE id = ?", (row["id"],))
        return _answer("captured", row["id"])
    books.execute("UPDATE charge SET looks = looks + 1 WHERE id = ?", (row["id"],))
    return _answer(row["state"], row["id"])


def _answer(state: str, ident: str) -> Answer:
    if state == _HUNG:
        return Answer(State.UNKNOWN, f"test_{ident}")
    if state == "declined":
        return Answer(State.DECLINED, f"test_{ident}", "The card was declined.")
    return Answer(State(state), f"test_{ident}")


__all__: Sequence[str] = ["ENVIRONMENT", "SECRET", "SIGNATURE", "TestProvider", "sign_event"]
