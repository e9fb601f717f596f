"""``mcp``: the client's tools for a model, over standard input and output."""

from __future__ import annotations

import argparse
from dataclasses import replace

from agentweb.client.agent import AgentClient
from agentweb.client.commands.saying import Add, Said


def add_commands(add: Add) -> None:
    """Add the commands of this module."""
    serving = add("mcp", _mcp, "Serve the client's tools to a model by MCP, over standard input and output.")
    serving.add_argument(
        "--not-strict",
        action="store_true",
        help="Let the model confirm by itself what the person approved; without it a code is needed.",
    )


def _mcp(agent: AgentClient, options: argparse.Namespace) -> Said:
    from agentweb.client.mcp_server import serve  # noqa: PLC0415 - slower to load than all the rest of the client

    # Standard input is the model's: nobody is asked there.
    policy = replace(agent.approval, strict=not options.not_strict, approver=None)
    with AgentClient(agent.keystore, approval=policy, index_url=options.index or None) as served:
        serve(served)
    return {}, []
