"""Questions that wait for the person: one file each, good for ten minutes and for one call.

A file has the idempotency key of the intent, so that asking, confirming and trying again are one. It is taken away
when the call goes out, under a lock that all processes of the agent share.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from agentweb.client.approvals.policy import Question, approval_id
from agentweb.client.errors import KeyStoreError
from agentweb.client.files import locked, make_private_folder, read_private, write_private
from agentweb.wire.encoding import b64url
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.strict_json import Json, dumps, loads

LIFE: Final = 600
"""Seconds for which a question may be answered."""
MAX_WRONG: Final = 5
"""Wrong codes after which the question is void: a code must not be found by trying."""

# The largest input, and what is kept with it.
_MAX_BYTES: Final = 2 * 16_777_216
_ID: Final = re.compile(r"ap_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question on the disk. ``key`` is the idempotency key of the call, None for a read; ``expires`` Unix seconds.

    ``intent`` and ``signed`` are what the call was made with, so that it can be made again.
    """

    question: Question
    key: str | None
    expires: float
    intent: str | None = None
    own_key: bool = False
    signed: bool = False
    code: str | None = None
    salt: str = ""
    wrong: int = 0

    @property
    def id(self) -> str:
        return approval_id(self.question.digest)

    def as_dict(self) -> dict[str, Any]:
        """What the person is shown (AGENT_ACTIONS section 10)."""
        asked = self.question
        shown: dict[str, Any] = {
            "approval": self.id,
            "site": asked.site,
            "action": asked.action,
            "effect": asked.effect,
            "cost": asked.cost,
            "input": asked.input,
            "grant": asked.grant,
            "message": asked.message,
            "expires": int(self.expires),
        }
        if asked.run is not None:
            shown["run"] = asked.run
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of a code. ``tries_left``: how many more may be wrong, 0 for a question that is void; ``was_shown``:
    whether there is a code yet."""

    tries_left: int
    is_right: bool = False
    was_shown: bool = True


class Approvals:
    """The folder of one agent's questions; several processes may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def lock(self) -> AbstractContextManager[None]:
        """Hold it around taking an approval and writing down the call that it is for."""
        make_private_folder(self.folder)
        return locked(self.folder / "approvals")

    def find(self, ident: str, now: float) -> Approval | None:
        """The question of this name, if it still may be answered."""
        path = self._path(ident)
        found = _read(path) if path is not None else None
        if path is None or found is None:
            return None
        if now >= found.expires or found.id != ident:
            path.unlink(missing_ok=True)
            return None
        return found

    def get(self, ident: str, now: float) -> Approval:
        """The question of this name. Raises ClientError ``not_found`` when it is used, too old or was never asked."""
        found = self.find(ident, now)
        if found is None:
            raise ClientError(
                Code.NOT_FOUND,
                "There is no such question any more: it was answered, or is older than ten minutes. "
                "Make the call again to ask anew.",
                approval=ident[:100],
            )
        return found

    def write(self, approval: Approval) -> None:
        """Bring it to the disk."""
        make_private_folder(self.folder)
        path = self._path(approval.id)
        if path is not None:
            write_private(path, _to_bytes(approval), replace=True)

    def remove(self, ident: str) -> bool:
        """Take it away; False when it was not there. Under the lock, one caller alone gets True."""
        path = self._path(ident)
        try:
            if path is not None:
                path.unlink()
        except FileNotFoundError:
            return False
        return path is not None

    def all(self, now: float) -> list[Approval]:
        """Every question that still may be answered, oldest first; those that may not are deleted."""
        names = [path.stem for path in self.folder.glob("ap_*.json")] if self.folder.is_dir() else []
        return sorted(self._found(names, now), key=lambda each: (each.expires, each.id))

    def new_code(self, ident: str, now: float) -> tuple[Approval, str]:
        """A code for the person's eyes, which replaces one that was shown before. Only its hash is kept."""
        with self.lock():
            approval = self.get(ident, now)
            code = f"{secrets.randbelow(10**8):08}"
            salt = b64url(secrets.token_bytes(16))
            approval = replace(approval, code=_hashed(code, salt), salt=salt)
            self.write(approval)
        return approval, code

    def try_code(self, ident: str, code: str, now: float) -> Tried:
        """Is this the code that the person was shown? A wrong one counts, and five void the question."""
        with self.lock():
            approval = self.find(ident, now)
            if approval is None:
                return Tried(tries_left=0)
            left = MAX_WRONG - approval.wrong
            if approval.code is None:
                return Tried(tries_left=left, was_shown=False)
            given = code.replace("-", "").replace(" ", "")
            if hmac.compare_digest(_hashed(given, approval.salt), approval.code):
                return Tried(tries_left=left, is_right=True)
            if left <= 1:
                self.remove(ident)
            else:
                self.write(replace(approval, wrong=approval.wrong + 1))
            return Tried(tries_left=left - 1)

    def _found(self, names: list[str], now: float) -> Iterator[Approval]:
        for name in names:
            # One that cannot be read answers nothing, and is asked anew.
            with suppress(KeyStoreError):
                found = self.find(name, now)
                if found is not None:
                    yield found

    def _path(self, ident: str) -> Path | None:
        return self.folder / f"{ident}.json" if _ID.fullmatch(ident) else None


def _hashed(code: str, salt: str) -> str:
    return hashlib.sha256(f"{salt}:{code}".encode("utf-8", "surrogatepass")).hexdigest()


def _to_bytes(approval: Approval) -> bytes:
    asked = approval.question
    return dumps(
        {
            "version": 1,
            "question": {name: getattr(asked, name) for name in Question.__dataclass_fields__},
            "key": approval.key,
            "expires": approval.expires,
            "intent": approval.intent,
            "own_key": approval.own_key,
            "signed": approval.signed,
            "code": approval.code,
            "salt": approval.salt,
            "wrong": approval.wrong,
        }
    )


def _read(path: Path) -> Approval | None:
    try:
        content: Any = loads(read_private(path), max_bytes=_MAX_BYTES, max_depth=68, allow_nul=True)
    except FileNotFoundError:
        return None
    except AgentError as error:
        if isinstance(error, KeyStoreError):
            raise
        raise _unreadable(path) from error
    try:
        if content["version"] != 1:
            raise _unreadable(path)
        asked: dict[str, Json] = dict(content["question"])
        return Approval(
            question=Question(**asked),  # type: ignore[arg-type]
            key=None if content["key"] is None else str(content["key"]),
            expires=float(content["expires"]),
            intent=None if content["intent"] is None else str(content["intent"]),
            own_key=content["own_key"] is True,
            signed=content["signed"] is True,
            code=None if content["code"] is None else str(content["code"]),
            salt=str(content["salt"]),
            wrong=int(content["wrong"]),
        )
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise _unreadable(path) from error


def _unreadable(path: Path) -> KeyStoreError:
    return KeyStoreError("keystore_invalid", f"{path} is not a question of this version.")
