"""What the messenger's client keeps beside the key: who it is at each service, what is to be sent, what was seen.

An SQLite file with mode 0600 beside the key store. Every change is on the disk when its method returns; several
processes may share the file. Services are told apart by their authority.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from agentweb.client.errors import KeyStoreError
from agentweb.client.files import make_private_file, make_private_folder
from agentweb.wire.errors import AgentError
from agentweb.wire.strict_json import dumps, loads

_VERSION: Final = 1
_LOCK_SECONDS: Final = 30.0
_SEEN_KEPT: Final = 50_000
"""Messages of a service that are known as seen, the latest."""

# A file is closed once it is made, and that ends the locks that other threads hold on it.
_MAKING: Final = Lock()

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS identity (
    authority TEXT PRIMARY KEY, origin TEXT NOT NULL, public TEXT NOT NULL, name TEXT NOT NULL, cursor TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS clock (authority TEXT PRIMARY KEY, offset REAL NOT NULL);
CREATE TABLE IF NOT EXISTS outbox (
    place INTEGER PRIMARY KEY AUTOINCREMENT, authority TEXT NOT NULL, id TEXT NOT NULL, envelope TEXT NOT NULL,
    created REAL NOT NULL, UNIQUE (authority, id)
);
CREATE TABLE IF NOT EXISTS seen (
    place INTEGER PRIMARY KEY AUTOINCREMENT, authority TEXT NOT NULL, sender TEXT NOT NULL, id TEXT NOT NULL,
    UNIQUE (authority, sender, id)
);
CREATE TABLE IF NOT EXISTS peer (
    authority TEXT NOT NULL, name TEXT NOT NULL, keys TEXT NOT NULL, PRIMARY KEY (authority, name)
);
CREATE TABLE IF NOT EXISTS work (
    authority TEXT PRIMARY KEY, public TEXT NOT NULL, challenge TEXT NOT NULL, solution TEXT NOT NULL,
    expires REAL NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the key is at a service. ``cursor`` is up to where its events have been processed."""

    authority: str
    origin: str
    public: str
    name: str
    cursor: str

    @property
    def address(self) -> str:
        return f"{self.name}@{self.authority}"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message whose fate is not known: ``envelope`` is its exact text, ``created`` in Unix seconds."""

    authority: str
    id: str
    envelope: str
    created: float


@dataclass(frozen=True, slots=True)
class Work:
    """A solved challenge that has not been used up. ``expires`` is Unix seconds by our clock."""

    challenge: str
    solution: str
    expires: float


class MessengerStore:
    """The file ``path``, made when there is none.

    Raises KeyStoreError: ``keystore_unsafe`` for a file that others can use, ``keystore_invalid`` for one that is no
    store of this version or that cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_ready = False

    def identity(self, authority: str, public: str) -> Identity | None:
        """Who the key ``public`` is at the service, if it has registered there."""
        with self._open() as db:
            row = db.execute(
                "SELECT authority, origin, public, name, cursor FROM identity WHERE authority = ? AND public = ?",
                (authority, public),
            ).fetchone()
        return None if row is None else Identity(*row)

    def identities(self, public: str) -> list[Identity]:
        """Who the key is, everywhere."""
        with self._open() as db:
            rows = db.execute(
                "SELECT authority, origin, public, name, cursor FROM identity WHERE public = ? ORDER BY authority",
                (public,),
            ).fetchall()
        return [Identity(*row) for row in rows]

    def keep_identity(self, identity: Identity) -> Identity:
        """Keep who we are. Of the same key and name, the cursor that is there already stays: it is further on."""
        with self._open() as db:
            db.execute(
                "INSERT INTO identity (authority, origin, public, name, cursor) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (authority) DO UPDATE SET origin = excluded.origin, cursor = CASE "
                "WHEN identity.public = excluded.public AND identity.name = excluded.name THEN identity.cursor "
                "ELSE excluded.cursor END, public = excluded.public, name = excluded.name",
                (identity.authority, identity.origin, identity.public, identity.name, identity.cursor),
            )
        return self.identity(identity.authority, identity.public) or identity

    def put(self, waiting: Waiting) -> None:
        """Keep a message before it is sent for the first time."""
        with self._open() as db:
            db.execute(
                "INSERT INTO outbox (authority, id, envelope, created) VALUES (?, ?, ?, ?)",
                (waiting.authority, waiting.id, waiting.envelope, waiting.created),
            )

    def settle(self, authority: str, message_id: str) -> None:
        """The fate of the message is known."""
        with self._open() as db:
            db.execute("DELETE FROM outbox WHERE authority = ? AND id = ?", (authority, message_id))

    def outbox(self, authority: str) -> list[Waiting]:
        """What is to be sent, in the order in which it was written."""
        with self._open() as db:
            rows = db.execute(
                "SELECT authority, id, envelope, created FROM outbox WHERE authority = ? ORDER BY place",
                (authority,),
            ).fetchall()
        return [Waiting(*row) for row in rows]

    def is_seen(self, authority: str, sender: str, message_id: str) -> bool:
        with self._open() as db:
            found = db.execute(
                "SELECT 1 FROM seen WHERE authority = ? AND sender = ? AND id = ?",
                (authority, sender, message_id),
            ).fetchone()
        return found is not None

    def commit(self, authority: str, cursor: str | None = None, seen: tuple[str, str] | None = None) -> None:
        """What was processed: up to the cursor, and the message ``(sender, id)``; both or none."""
        with self._open() as db:
            if cursor is not None:
                db.execute("UPDATE identity SET cursor = ? WHERE authority = ?", (cursor, authority))
            if seen is not None:
                db.execute(
                    "INSERT OR IGNORE INTO seen (authority, sender, id) VALUES (?, ?, ?)", (authority, *seen)
                )
                db.execute("DELETE FROM seen WHERE place <= (SELECT MAX(place) FROM seen) - ?", (_SEEN_KEPT,))

    def peer(self, authority: str, name: str) -> list[str]:
        """Every key that was ever seen of an agent, the oldest first."""
        with self._open() as db:
            row = db.execute(
                "SELECT keys FROM peer WHERE authority = ? AND name = ?", (authority, name)
            ).fetchone()
        return [] if row is None else [str(key) for key in _list(row[0])]

    def keep_peer(self, authority: str, name: str, keys: list[str]) -> None:
        with self._open() as db:
            db.execute(
                "INSERT INTO peer (authority, name, keys) VALUES (?, ?, ?) "
                "ON CONFLICT (authority, name) DO UPDATE SET keys = excluded.keys",
                (authority, name, dumps(list(keys)).decode("utf-8")),
            )

    def offset(self, authority: str) -> float:
        """By how many seconds the service's clock is ahead of ours, as far as it said."""
        with self._open() as db:
            row = db.execute("SELECT offset FROM clock WHERE authority = ?", (authority,)).fetchone()
        return 0.0 if row is None else float(row[0])

    def keep_offset(self, authority: str, offset: float) -> None:
        with self._open() as db:
            db.execute(
                "INSERT INTO clock (authority, offset) VALUES (?, ?) "
                "ON CONFLICT (authority) DO UPDATE SET offset = excluded.offset",
                (authority, offset),
            )

    def work(self, authority: str, public: str) -> Work | None:
        """A solved challenge that was not used up, by a registration whose name was taken say."""
        with self._open() as db:
            row = db.execute(
                "SELECT challenge, solution, expires FROM work WHERE authority = ? AND public = ?",
                (authority, public),
            ).fetchone()
        return None if row is None else Work(*row)

    def keep_work(self, authority: str, public: str, work: Work | None) -> None:
        with self._open() as db:
            db.execute("DELETE FROM work WHERE authority = ?", (authority,))
            if work is not None:
                db.execute(
                    "INSERT INTO work (authority, public, challenge, solution, expires) VALUES (?, ?, ?, ?, ?)",
                    (authority, public, work.challenge, work.solution, work.expires),
                )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """One transaction: on the disk when the block ends, undone when it raises."""
        if not self._is_ready:
            self._make()
        with self._connected() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            # Never makes a file: that would be one for everybody.
            where = f"{self.path.resolve().as_uri()}?mode=rw"
            with closing(sqlite3.connect(where, uri=True, timeout=_LOCK_SECONDS, isolation_level=None)) as db:
                # Also the folder's entry of the journal, so that a crash of the machine undoes nothing.
                db.execute("PRAGMA synchronous = EXTRA")
                yield db
        except sqlite3.Error as error:
            raise KeyStoreError("keystore_invalid", f"{self.path} cannot be used: {error}.") from error

    def _make(self) -> None:
        with _MAKING:
            make_private_folder(self.path.parent)
            make_private_file(self.path)
        with self._connected() as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version not in {0, _VERSION}:
                raise KeyStoreError(
                    "keystore_invalid", f"{self.path} is of another version; it is left as it is."
                )
            if version == 0:
                db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        self._is_ready = True

    def __repr__(self) -> str:
        return f"<MessengerStore {self.path}>"


def _list(text: str) -> list[object]:
    try:
        found = loads(text.encode("utf-8"))
    except AgentError:
        found = None
    if not isinstance(found, list):
        raise KeyStoreError("keystore_invalid", "The messenger's store holds keys that are no list.")
    return list(found)
