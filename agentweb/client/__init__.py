"""An agent's side, without Django: keys, grants, calls to the actions of other sites, and messages to other agents.

::

    agent = AgentClient(KeyStore("agent-keys.json"))
    agent.add_grant(text)  # what issue_grant printed, from a person or a site's staff
    agent.call_action("https://shop.example", "add_to_cart", {"product_id": "tea", "quantity": 2}).value

The names are loaded when first used, so that a room which needs one module of the client loads no other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentweb.client.agent import AgentClient
    from agentweb.client.approvals.policy import ApprovalPolicy
    from agentweb.client.errors import NeedsHumanError, SiteError
    from agentweb.client.flows.running import FlowResult
    from agentweb.client.found import FoundAction
    from agentweb.client.grant_texts import GrantChain
    from agentweb.client.invoking import ActionResult
    from agentweb.client.keystore import KeyStore
    from agentweb.client.manifest import Manifest
    from agentweb.client.messenger.messenger import Messenger
    from agentweb.wire.errors import AgentError, AuthenticationError, ClientError, InputError

__all__ = [
    "ActionResult",
    "AgentClient",
    "AgentError",
    "ApprovalPolicy",
    "AuthenticationError",
    "ClientError",
    "FlowResult",
    "FoundAction",
    "GrantChain",
    "InputError",
    "KeyStore",
    "Manifest",
    "Messenger",
    "NeedsHumanError",
    "SiteError",
]

_HOMES = {
    "ActionResult": "agentweb.client.invoking",
    "AgentClient": "agentweb.client.agent",
    "AgentError": "agentweb.wire.errors",
    "ApprovalPolicy": "agentweb.client.approvals.policy",
    "AuthenticationError": "agentweb.wire.errors",
    "ClientError": "agentweb.wire.errors",
    "FlowResult": "agentweb.client.flows.running",
    "FoundAction": "agentweb.client.found",
    "GrantChain": "agentweb.client.grant_texts",
    "InputError": "agentweb.wire.errors",
    "KeyStore": "agentweb.client.keystore",
    "Manifest": "agentweb.client.manifest",
    "Messenger": "agentweb.client.messenger.messenger",
    "NeedsHumanError": "agentweb.client.errors",
    "SiteError": "agentweb.client.errors",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    word = globals()[name] = getattr(import_module(home), name)
    return word
