"""Calls whose outcome is not known yet: one file for each intent, written before the first attempt.

An intent is (site, action, canonical input, name the caller chose for it or none). While its file exists, the
same call uses the same ``Idempotency-Key``, so that a call repeated after a lost answer, or by another process
after a crash, acts once. The file goes when an answer settles the intent.

A ``handler_error`` (500) settles nothing: the action crashed, the site rolled back what it had written and freed
the key, and the call stays pending until it is repeated or meant anew. Repeating is safe: the same key goes with
it, so that the site runs the action again and once.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from agentweb.client.errors import OUTCOME_UNKNOWN, KeyStoreError
from agentweb.client.files import make_private_folder, read_private, sync_folder, write_private
from agentweb.client.intents import Approved, Begun
from agentweb.wire.canonical import CanonicalError, canonicalize
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AgentError, ClientError
from agentweb.wire.strict_json import Json, dumps, loads

MAX_AGE: Final = 86_400
"""Seconds for which a site surely remembers a key (AGENT_ACTIONS 8: at least 24 hours)."""

# The largest input, and what is kept with it.
_MAX_BYTES: Final = 2 * 16_777_216
_ROUNDS: Final = 5

logger = logging.getLogger("agentweb.client")


@dataclass(frozen=True, slots=True)
class PendingCall:
    """An intent with its key. ``created`` is Unix seconds; ``is_resumed`` whether an earlier call began it;
    ``approved`` what a person approved of it."""

    site: str
    action: str
    input: Json
    intent: str | None
    key: str
    created: float
    path: Path
    is_resumed: bool = False
    approved: Approved | None = None


class PendingCalls:
    """The folder of one agent's unsettled calls; several processes may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(
        self,
        site: str,
        action: str,
        value: Json,
        intent: str | None,
        *,
        now: float,
        is_new: bool = False,
        key: str | None = None,
        approved: Approved | None = None,
    ) -> PendingCall:
        """The intent, on the disk when this returns: the unsettled one of this call, else a new one.

        ``is_new`` drops an unsettled one first; ``key`` is that of a new one, a fresh one unless given. An unsettled
        one that is ``approved`` anew keeps its key. Raises ``outcome_unknown`` for one that is older than a site has
        to remember: whether it acted must be found out before it is called again.
        """
        path = self._path(site, action, value, intent)
        if is_new:
            path.unlink(missing_ok=True)
        for _ in range(_ROUNDS):
            known = _read(path)
            if known is not None:
                _refuse_if_old(known, now)
                if approved is not None and known.approved != approved:
                    known = replace(known, approved=approved)
                    write_private(path, _to_bytes(known), replace=True)
                return known
            new = PendingCall(
                site, action, value, intent, key or random_id("ik_"), now, path, approved=approved
            )
            make_private_folder(self.folder)
            # FileExistsError: another thread or process has just begun the same intent; share its key.
            with suppress(FileExistsError):
                write_private(path, _to_bytes(new), replace=False)
                return new
        raise KeyStoreError("keystore_invalid", f"{path} keeps coming and going; call again.")

    def find(self, site: str, action: str, value: Json, intent: str | None) -> PendingCall | None:
        """The unsettled intent of this call, if there is one."""
        return _read(self._path(site, action, value, intent))

    def settle(self, call: PendingCall) -> None:
        """The outcome is known: the next identical call is a new intent."""
        known = _read(call.path)
        if known is not None and known.key == call.key:
            call.path.unlink(missing_ok=True)
            sync_folder(self.folder)

    def all(self) -> list[PendingCall]:
        """Every unsettled call, oldest first. A file that cannot be read is logged and left as it is."""
        return sorted(self._calls(), key=lambda call: (call.created, call.key))

    def _path(self, site: str, action: str, value: Json, intent: str | None) -> Path:
        call: Json = [site, action, value, intent]
        try:
            spelling = canonicalize(call)
        except CanonicalError:  # an integer beyond any double: equal only when spelled equally
            spelling = dumps(call)
        return self.folder / f"{hashlib.sha256(spelling).hexdigest()}.json"

    def _calls(self) -> Iterator[PendingCall]:
        for path in self.folder.glob("[!.]*.json") if self.folder.is_dir() else ():
            try:
                call = _read(path)
            except KeyStoreError as error:
                logger.warning("A pending call is left out: %s", error)
                continue
            if call is not None:
                yield call


class PendingIntent:
    """The intent of one call (``intents.Intent``), kept as a pending call."""

    def __init__(
        self,
        calls: PendingCalls,
        site: str,
        action: str,
        value: Json,
        intent: str | None,
        *,
        now: float,
        is_new: bool = False,
        key: str | None = None,
    ) -> None:
        self._calls = calls
        self._call = (site, action, value, intent)
        self._now = now
        self._is_new = is_new
        self._key = key
        self._begun: PendingCall | None = None

    def find(self) -> Begun | None:
        if self._is_new:
            return None
        known = self._calls.find(*self._call)
        return None if known is None else Begun(known.key, is_resumed=True, approved=known.approved)

    def begin(self, *, key: str | None, approved: Approved | None) -> Begun:
        self._begun = self._calls.begin(
            *self._call, now=self._now, is_new=self._is_new, key=self._key or key, approved=approved
        )
        self._is_new = False
        return Begun(self._begun.key, self._begun.is_resumed, self._begun.approved)

    def settle(self) -> None:
        if self._begun is not None:
            self._calls.settle(self._begun)


def _refuse_if_old(call: PendingCall, now: float) -> None:
    if now - call.created > MAX_AGE:
        raise ClientError(
            OUTCOME_UNKNOWN,
            f"An identical call of {call.action} was begun more than a day ago and its outcome was never learned; "
            "the site may have forgotten its key. Find out whether it acted (receipts, the site's own lists), "
            "then call again as a new intent (new_intent=True).",
            site=call.site,
            action=call.action,
            idempotency_key=call.key,
            created=int(call.created),
        )


def _to_bytes(call: PendingCall) -> bytes:
    content: dict[str, Json] = {
        "version": 1,
        "site": call.site,
        "action": call.action,
        "input": call.input,
        "intent": call.intent,
        "key": call.key,
        "created": call.created,
    }
    if call.approved is not None:
        content["approved"] = call.approved.as_dict()
    return dumps(content)


def _read(path: Path) -> PendingCall | None:
    try:
        content: Any = loads(read_private(path), max_bytes=_MAX_BYTES, max_depth=66, allow_nul=True)
    except FileNotFoundError:
        return None
    except AgentError as error:
        if isinstance(error, KeyStoreError):
            raise
        raise _unreadable(path) from error
    try:
        if content["version"] != 1 or not re.fullmatch(r"[!-~]{16,255}", content["key"]):
            raise _unreadable(path)
        return PendingCall(
            site=str(content["site"]),
            action=str(content["action"]),
            input=content["input"],
            intent=None if content["intent"] is None else str(content["intent"]),
            key=content["key"],
            created=float(content["created"]),
            path=path,
            is_resumed=True,
            approved=Approved.read(content.get("approved")),
        )
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise _unreadable(path) from error


def _unreadable(path: Path) -> KeyStoreError:
    return KeyStoreError("keystore_invalid", f"{path} is not a pending call of this version.")
