"""What a client raises, in the one tree of ``wire.errors``.

::

    AgentError
    ├── SiteError                    what the site answered, every member kept
    ├── InputError                   the input breaks the action's schema; nothing was sent
    └── ClientError                  found out by the client itself
        ├── UnreachableError         ``site_unreachable``: no answer came
        ├── NeedsHumanError          ``needs_human``: the person is to be asked first; nothing was sent
        ├── MissingExtraError        httpx is not installed; an ImportError too
        └── KeyStoreError            ``keystore_unsafe``, ``keystore_invalid``, ``keystore_full``, ``keystore_unusable``
"""

from __future__ import annotations

import re
from typing import Any, Final

from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.strict_json import Json

MAX_MESSAGE: Final = 2_000
"""Characters of a site's message that are kept: it is shown to people and models."""
OUTCOME_UNKNOWN: Final = "outcome_unknown"

_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


class SiteError(AgentError):
    """A structured error of a site. ``extra`` holds the members beside the known ones (``closest``, ...).

    After ``handler_error`` (500) the call is still ``pending``: the site rolled its own work back and freed the
    key, but what the action did elsewhere is not known. Repeating the same call is safe, because it runs under the
    same key.
    """

    request_id: str | None = None

    @classmethod
    def read(cls, status: int, body: Json) -> SiteError | None:
        """The error in an answer's JSON body; None when it is not shaped as one, or its status is no error's."""
        if not 400 <= status <= 599:
            return None
        error = body.get("error") if isinstance(body, dict) else None
        if not isinstance(error, dict):
            return None
        members = dict(error)
        code, message = members.pop("code", None), members.pop("message", None)
        if not isinstance(code, str) or not _CODE.fullmatch(code) or not isinstance(message, str):
            return None
        field, retry_after = members.pop("field", None), members.pop("retry_after", None)
        problems, request_id = members.pop("problems", None), members.pop("request_id", None)
        found = cls(
            code,
            message[:MAX_MESSAGE],
            status=status,
            field=field if isinstance(field, str) else None,
            retry_after=_seconds(retry_after),
            problems=_problems(problems),
        )
        found.request_id = request_id if isinstance(request_id, str) else None
        found.extra.update(members)
        return found

    def as_dict(self, request_id: str | None = None) -> dict[str, Any]:
        """The value of the ``error`` member, with the site's request id."""
        return super().as_dict(request_id or self.request_id)


class UnreachableError(ClientError):
    """No answer came. ``may_have_arrived`` says whether the site may have read the request all the same.

    The ``reason`` is ``host`` for a name that is not found, ``time`` when it took too long, else ``connection``.
    """

    default_code = Code.SITE_UNREACHABLE

    def __init__(self, message: str, *, may_have_arrived: bool, reason: str = "connection") -> None:
        super().__init__(None, message, reason=reason)
        self.may_have_arrived = may_have_arrived


class NeedsHumanError(ClientError):
    """The person is to be asked before this call; nothing was sent.

    ``extra`` says what exactly: ``approval``, ``site``, ``action``, ``effect``, ``cost``, ``input``, ``grant``,
    ``expires``; ``allowance`` where a sum that may be spent unasked was not enough, ``tries_left`` after a wrong code.
    Approved, the same call passes with ``confirm=True``. ``told`` is the message without the word how to go on, which
    is another at the command line; ``code_from`` says where the person gets the code, None where none is needed.
    """

    default_code = Code.NEEDS_HUMAN

    def __init__(self, told: str, *, code_from: str | None = None, **asked: Any) -> None:
        super().__init__(None, told, **asked)
        self.told, self.code_from = told, code_from
        self.go_on("make the same call again with confirm=True", "and the code")

    def go_on(self, how: str, with_code: str) -> None:
        """Say in the message how the call is made once it is approved; ``with_code`` is what a code adds to that."""
        if self.code_from is not None:
            how = f"{how} {with_code} {self.code_from}"
        self.message = f"{self.told} Ask the person, and when they approve exactly this, {how}."
        self.args = (self.message,)


class MissingExtraError(ClientError, ImportError):
    """The network needs httpx, which the extra ``client`` brings; MCP needs ``mcp``, of the extra of this name."""

    def __init__(self, extra: str = "client") -> None:
        missing = "httpx" if extra == "client" else extra
        super().__init__(
            Code.SITE_UNREACHABLE,
            f"{missing} is not installed, so nothing can be sent: pip install agentweb-django[{extra}]",
        )


class KeyStoreError(ClientError):
    """The agent's own files cannot be used as they are; they are never repaired silently."""


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return float(value) if 0 <= value <= 10_000_000 else None


def _problems(value: object) -> list[dict[str, Any]] | None:
    if not isinstance(value, list):
        return None
    return [problem for problem in value if isinstance(problem, dict)]
