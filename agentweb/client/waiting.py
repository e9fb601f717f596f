"""Calls that wait for a person at their site: where the person approves them, as the site said it.

A site may let its own people approve a call (428). Its question is another than this agent's own, and is answered on
the site's page only; what is kept here is for whoever asks what waits. It is gone when the same call has another
outcome, and when the question is too old.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from agentweb.client.errors import SiteError
from agentweb.client.files import make_private_folder, read_private, write_private
from agentweb.wire.canonical import CanonicalError, canonicalize
from agentweb.wire.errors import AgentError, Code
from agentweb.wire.strict_json import Json, dumps, loads

MAX_AGE: Final = 86_400
"""Seconds for which a call is listed whose site does not say until when it waits, or says a later time."""
_MAX_TEXT: Final = 1_000
_MAX_BYTES: Final = 2 * 16_777_216


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCall:
    """``approval`` is the site's name of its question, ``approve_url`` the page where it is answered; both are texts
    of the site. ``cost`` is ``{"amount", "currency"}`` as the site said it; ``expires`` is Unix seconds."""

    approval: str
    approve_url: str
    site: str
    action: str
    input: Json
    cost: dict[str, str] | None
    expires: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class WaitingCalls:
    """The folder of one agent's calls that wait at their sites."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def note(self, site: str, action: str, value: Json, error: AgentError | None, now: float) -> None:
        """What came of a call: it is kept when the site asks a person, and gone otherwise. Never fails: it is no part
        of the call."""
        path = self._path(site, action, value)
        with suppress(OSError):
            call = _read_error(site, action, value, error, now)
            if call is None:
                path.unlink(missing_ok=True)
                return
            make_private_folder(self.folder)
            write_private(path, dumps({"version": 1, **call.as_dict()}), replace=True)

    def all(self, now: float) -> list[WaitingCall]:
        """Those that still wait as far as it is known, oldest first; those that do not any more are deleted."""
        return sorted(self._calls(now), key=lambda call: (call.expires, call.site, call.approval))

    def find(self, approval: str, now: float) -> WaitingCall | None:
        """The call of the site's question of this name."""
        return next((call for call in self.all(now) if call.approval == approval), None)

    def _calls(self, now: float) -> Iterator[WaitingCall]:
        for path in self.folder.glob("[!.]*.json") if self.folder.is_dir() else ():
            # One that cannot be read is asked for by the call itself.
            with suppress(OSError, AgentError, KeyError, TypeError, ValueError):
                content: Any = loads(read_private(path), max_bytes=_MAX_BYTES, max_depth=66, allow_nul=True)
                if content.pop("version") != 1:
                    continue
                call = WaitingCall(**content)
                if call.expires > now:
                    yield call
                else:
                    path.unlink(missing_ok=True)

    def _path(self, site: str, action: str, value: Json) -> Path:
        call: Json = [site, action, value]
        try:
            spelling = canonicalize(call)
        except CanonicalError:  # an integer beyond any double: equal only when spelled equally
            spelling = dumps(call)
        return self.folder / f"{hashlib.sha256(spelling).hexdigest()}.json"


def _read_error(
    site: str, action: str, value: Json, error: AgentError | None, now: float
) -> WaitingCall | None:
    if not isinstance(error, SiteError) or error.code != Code.NEEDS_HUMAN:
        return None
    page, ident, expires = (error.extra.get(name) for name in ("approve_url", "approval", "expires"))
    if not isinstance(page, str):
        return None
    latest = int(now) + MAX_AGE
    if not isinstance(expires, int) or isinstance(expires, bool):
        expires = latest
    return WaitingCall(
        approval=ident[:_MAX_TEXT] if isinstance(ident, str) else "",
        approve_url=page[:_MAX_TEXT],
        site=site,
        action=action,
        input=value,
        cost=_read_cost(error.extra.get("cost")),
        expires=min(expires, latest),
    )


def _read_cost(cost: object) -> dict[str, str] | None:
    if not isinstance(cost, Mapping):
        return None
    told = {name: cost.get(name) for name in ("amount", "currency")}
    if not all(isinstance(each, str) for each in told.values()):
        return None
    return {name: str(each)[:40] for name, each in told.items()}
