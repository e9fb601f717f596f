"""How the command line says what the client says to programs: options instead of arguments, lines instead of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from agentweb.client.errors import NeedsHumanError
from agentweb.wire.errors import AgentError, ClientError

_OPTIONS: Final = {
    "new_intent=True": "--new-intent",
    "confirm=True": "--confirm",
}
_TIMES: Final = frozenset({"created", "expires", "not_before", "server_time"})
_LATEST: Final = 253_402_300_799
"""The end of the year 9999, in Unix seconds."""


def with_options(error: AgentError) -> AgentError:
    """The error with what has to be done next as somebody at the command line does it. Its message changes in place.

    What a site wrote stays as it is.
    """
    if isinstance(error, NeedsHumanError):
        named = f"agentweb confirm {error.extra.get('approval', 'ap_…')}"
        error.go_on(
            f"run the same command again with --confirm, or: {named}", "(both with --code and the code"
        )
        if error.code_from is not None:
            error.message = f"{error.message.removesuffix('.')})."
    elif isinstance(error, ClientError):
        for written, option in _OPTIONS.items():
            error.message = error.message.replace(written, option)
    return error


def moment(at: int) -> str:
    """Unix seconds as people read them; the number itself where no calendar goes so far."""
    if not 0 <= at <= _LATEST:
        return str(at)
    return datetime.fromtimestamp(at, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")


def price(cost: Mapping[str, Any] | None) -> str:
    """``USD 25.00``, ``USD by price`` where an input says it, ``USD``, or nothing."""
    if not cost:
        return ""
    if "field" in cost:
        return f"{cost['currency']} by {cost['field']}"
    return f"{cost['currency']} {cost.get('amount', '')}".rstrip()


def member_text(name: str, value: Any) -> str | None:
    """A member of an error as people read it; None where there is nothing better than the value itself."""
    if name in _TIMES and isinstance(value, int) and not isinstance(value, bool):
        return moment(value)
    if name == "completed" and isinstance(value, list):
        steps = [str(each.get("action")) for each in value if isinstance(each, Mapping)]
        return f"{', '.join(steps)} (--json shows what they answered)" if steps else "nothing"
    if not isinstance(value, Mapping):
        return None
    if name == "resume" and isinstance(value.get("run"), str):
        return f"--resume {value['run']}"
    if value.keys() == {"amount", "currency"}:
        return f"{value['amount']} {value['currency']}"
    if name == "allowance":
        return f"{value.get('left')} of {value.get('limit')} {value.get('currency')} left"
    return None
