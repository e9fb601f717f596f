"""When no grant will do: the error that carries the request for one."""

from __future__ import annotations

from typing import Any, Final

from agentweb.client.grants import Need
from agentweb.client.manifest import Manifest, ManifestAction
from agentweb.wire.errors import ClientError, Code
from agentweb.wire.money import format_amount
from agentweb.wire.scopes import check_scope

EXPIRES_IN: Final = 86_400
"""Seconds that the grant asked for shall live."""


def grant_required(manifest: Manifest, action: ManifestAction, need: Need) -> ClientError:
    """``grant_required`` with ``required_scope``, ``grants_url`` if there is one, and ``grant_request``.

    The request is ready to be sent to the site or shown to the person: the least that would do.
    """
    wanted: dict[str, Any] = {
        "scopes": [action.scope or _scope_named_for(action.name)],
        "expires_in": EXPIRES_IN,
        "reason": f"To call {action.name} at {manifest.site}.",
    }
    lacks = f"the scope {action.scope}" if action.scope else "any scope"
    if need.spends:
        lacks += ", a mandate"
        if need.currency is not None and need.amount is not None:
            price = format_amount(need.amount, need.currency)
            wanted["mandate"] = {"currency": need.currency, "per_tx": price, "total": price}
            lacks += f" that still covers {price} {need.currency}"
    elif not need.may_spend:
        lacks += ", without a mandate"
    extra: dict[str, Any] = {"site": manifest.site, "grant_request": wanted}
    if action.scope is not None:
        extra["required_scope"] = action.scope
    grants_url = manifest.endpoint("grants")
    if grants_url is not None:
        extra["grants_url"] = grants_url
    return ClientError(
        Code.GRANT_REQUIRED,
        f"{action.name} needs a grant of {manifest.site} with {lacks}; none that is valid now has it. "
        "Ask the person for one.",
        **extra,
    )


def _scope_named_for(action: str) -> str:
    """A scope to ask for when any will do: one that gives nothing else."""
    try:
        return check_scope(action.lower())
    except ValueError:
        return "call"
