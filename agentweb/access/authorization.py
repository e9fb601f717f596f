"""What an established caller may do: scopes of grants against scopes of actions (AGENT_ACTIONS 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agentweb.access.callers import PERSON, SITE, Caller
from agentweb.wire.errors import AuthenticationError, AuthorizationError, Code
from agentweb.wire.scopes import covers

READ: Final = "read"


def authorize(caller: Caller, *, action: str, effect: str, scope: str | None) -> None:
    """Return when the caller may run the action.

    A read without scope is open to everyone. Any other action without scope asks for any grant of this site,
    an action with scope for a grant that covers it. A person on people's pages and the site itself need
    none: the site's own permissions rule there.

    Raises 401 ``grant_required`` (``required_scope``, a list, when there is one) or 403
    ``insufficient_scope`` (``required_scope``: everything that is missing).
    """
    if effect == READ and scope is None:
        return
    require_scopes(caller, [] if scope is None else [scope], what=f"The action {action}")


def require_scopes(caller: Caller, scopes: Sequence[str], *, what: str) -> None:
    """Return when the caller holds a grant that covers every scope (none: any grant); see ``authorize``.

    ``what`` begins the message and names what is being asked for.
    """
    if caller.kind in {PERSON, SITE}:
        return
    if caller.grant is None:
        raise _grant_required(scopes, what)
    missing = [scope for scope in scopes if not any(covers(pattern, scope) for pattern in caller.scopes)]
    if missing:
        raise AuthorizationError(
            Code.INSUFFICIENT_SCOPE,
            f"{what} needs the scope {' and '.join(missing)}, which your grant does not cover. Ask the person "
            "you act for, or the site's staff, for a grant with it.",
            required_scope=missing,
        )


def _grant_required(scopes: Sequence[str], what: str) -> AuthenticationError:
    needed = f"a grant with the scope {' and '.join(scopes)}" if scopes else "a grant of this site"
    extra: dict[str, Any] = {"required_scope": list(scopes)} if scopes else {}
    challenge = f'AgentGrant scope="{" ".join(scopes)}"' if scopes else "AgentGrant"
    return AuthenticationError(
        Code.GRANT_REQUIRED,
        f"{what} needs {needed}. Give your public key to the person you act for or to the site's staff, who "
        "can issue one; then send it as Agent-Grant and sign the request with your key.",
        headers={"WWW-Authenticate": challenge},
        **extra,
    )
