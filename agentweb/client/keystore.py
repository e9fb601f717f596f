"""What an agent keeps: its key, its grants, and what it has seen of each site's receipts.

One JSON file with mode 0600::

    {
        "version": 1,
        "key": "<32 bytes, base64url>",
        "grants": [[root, ..., leaf], ...],
        "ended": {"gr_...": "grant_revoked"},
        "sites": {"shop.example": {"head": {...} or null, "after": 42, "spent": {"gr_...": 1999}}},
    }

``spent`` is minor units of the grant's currency, ``after`` the number of the last receipt that was counted.
Several processes may share a file: every change is made on the newest content, under a lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Any, Final

from agentweb.client.errors import KeyStoreError
from agentweb.client.files import locked, make_private_folder, read_private, write_private
from agentweb.client.grant_texts import Chain, GrantLike, parse_chain, read_chain
from agentweb.wire.encoding import b64url, b64url_decode
from agentweb.wire.errors import AgentError, AuthenticationError, Code
from agentweb.wire.grants import GrantDocument, verify_chain
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import dumps, loads

MAX_BYTES: Final = 16_777_216

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """What is known of one site's receipts: the last signed head, money by grant, and what was counted."""

    head: dict[str, Any] | None = None
    after: int = 0
    spent: Mapping[str, int] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """The whole content of a key store. ``chains`` are verified, their leaf is the key's own."""

    key: SigningKey
    chains: tuple[Chain, ...] = ()
    ended: Mapping[str, str] = field(default_factory=dict)
    sites: Mapping[str, SiteRecord] = field(default_factory=dict)


class KeyStore:
    """The store in the file ``path``; made with a new key (or with ``key``) when there is none.

    Raises KeyStoreError: ``keystore_unsafe`` for a file that others can use, ``keystore_invalid`` for one that
    cannot be read, or that holds another key than ``key``.
    """

    def __init__(self, path: str | os.PathLike[str], *, key: SigningKey | None = None) -> None:
        # Through links to the file itself: a change replaces the file, never the link.
        self.path = Path(path).expanduser().resolve()
        self._lock = RLock()
        self._state: State | None = None
        self._mark: tuple[int, int, int] | None = None
        if not self.path.exists():
            self._create(State(key or SigningKey.generate()))
        held = self.key  # read now: a store that cannot be used is said at once
        if key is not None and key.public != held.public:
            raise KeyStoreError("keystore_invalid", f"{self.path} holds another key; use another file.")

    @property
    def state(self) -> State:
        """The newest content, read again when another process changed it."""
        with self._lock:
            mark = self._mark_now()
            if self._state is None or mark != self._mark:
                # The mark was taken first: a change in between is read now and once more later.
                self._state, self._mark = self._read(), mark
            return self._state

    @property
    def key(self) -> SigningKey:
        return self.state.key

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Every grant that the agent holds, each as its chain, root first."""
        return self.state.chains

    @property
    def held(self) -> frozenset[str]:
        """The ids of all grants that the agent holds, with those above them."""
        return frozenset(grant.id for chain in self.chains for grant in chain)

    def site(self, site: str) -> SiteRecord:
        return self.state.sites.get(site, SiteRecord())

    def add_grant(self, grant: GrantLike) -> GrantDocument:
        """Keep a grant: what ``issue_grant`` printed (the whole of it, its header line, the header's value, its
        JSON), one document, or a chain of them, root first.

        Returns the leaf. Raises ``grant_invalid`` for a chain that does not hold or is for another key.
        """
        chain = read_chain(grant)
        verify_chain(chain, signed_by=None)
        if chain[-1].subject != self.key.public:
            raise AuthenticationError(
                Code.GRANT_INVALID,
                f"This grant is for {chain[-1].subject}, your key is {self.key.public}. "
                "Ask for a grant to your key, or use the key store that holds the other one.",
                reason="wrong_agent",
            )

        def add(state: State) -> State:
            others = [known for known in state.chains if known[-1].id != chain[-1].id]
            return replace(state, chains=(*others, chain))

        self._change(add)
        return chain[-1]

    def remove_grant(self, grant_id: str) -> None:
        """Forget a grant, if it is there."""
        self._change(
            lambda state: replace(
                state, chains=tuple(chain for chain in state.chains if chain[-1].id != grant_id)
            )
        )

    def end_grant(self, grant_id: str, reason: str) -> None:
        """Note that a site refuses this grant for good; chains with it are not used again."""
        self._change(lambda state: replace(state, ended={**state.ended, grant_id: reason}))

    def change_site(self, site: str, change: Callable[[SiteRecord], SiteRecord]) -> None:
        """Replace what is known of a site; ``change`` gets the newest record."""

        def apply(state: State) -> State:
            return replace(state, sites={**state.sites, site: change(state.sites.get(site, SiteRecord()))})

        self._change(apply)

    def _change(self, change: Callable[[State], State]) -> None:
        with self._lock, locked(self.path):
            state = change(self._read())
            data = _to_bytes(state)
            if len(data) > MAX_BYTES:
                # What is written must be read again: the key is in it.
                raise KeyStoreError(
                    "keystore_full",
                    f"{self.path} would become larger than {MAX_BYTES} bytes; nothing was changed. Remove grants that "
                    "are no longer needed, or use another key store.",
                )
            write_private(self.path, data, replace=True)
            self._state, self._mark = state, self._mark_now()

    def _create(self, state: State) -> None:
        make_private_folder(self.path.parent)
        try:
            write_private(self.path, _to_bytes(state), replace=False)
        except FileExistsError:
            return  # another process was first, and its key is the agent's

    def _mark_now(self) -> tuple[int, int, int]:
        # Every change is a new file, so these three tell contents apart.
        status = self.path.stat()
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _read(self) -> State:
        data = read_private(self.path)
        try:
            return _from_json(loads(data, max_bytes=MAX_BYTES))
        except (AgentError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
            raise KeyStoreError(
                "keystore_invalid", f"{self.path} is not a key store of this version; it is left as it is."
            ) from error

    def __repr__(self) -> str:
        return f"<KeyStore {self.path}>"


def _to_bytes(state: State) -> bytes:
    return dumps(
        {
            "version": _VERSION,
            "key": b64url(state.key.seed),
            "grants": [[grant.document for grant in chain] for chain in state.chains],
            "ended": dict(state.ended),
            "sites": {
                site: {
                    "head": record.head,
                    "after": record.after,
                    "spent": dict(record.spent),
                    "counted": dict(record.counted),
                }
                for site, record in state.sites.items()
            },
        }
    )


def _from_json(content: Any) -> State:
    """The state in the file's JSON. Whatever is wrong with it raises one of several built-in errors."""
    if content["version"] != _VERSION:
        raise ValueError("another version")
    if not all(content["grants"]):
        raise ValueError("a chain without a grant")
    return State(
        key=SigningKey.from_seed(b64url_decode(content["key"], length=32)),
        chains=tuple(parse_chain(documents) for documents in content["grants"]),
        ended={str(name): str(reason) for name, reason in content["ended"].items()},
        sites={
            str(site): SiteRecord(
                head=None if record["head"] is None else dict(record["head"]),
                after=int(record["after"]),
                spent={str(name): int(minor) for name, minor in record["spent"].items()},
                counted={str(name): int(seq) for name, seq in record["counted"].items()},
            )
            for site, record in content["sites"].items()
        },
    )
