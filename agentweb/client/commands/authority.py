"""``key``, ``add-grant``, ``grants``, ``delegate``, ``revoke``: what the agent may do."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from agentweb.client.agent import AgentClient
from agentweb.client.commands.saying import Add, Said, plain
from agentweb.client.commands.wording import moment


def add_commands(add: Add) -> None:
    """Add the commands of this module."""
    add("key", _key, "Print the agent's public key; it is made at first use.")
    adding = add("add-grant", _add_grant, "Keep a grant.")
    adding.add_argument("text", metavar="TEXT", help='What issue_grant printed; "-" for standard input.')
    add("grants", _grants, "List the grants that the agent holds, and what is left of their mandates.")
    delegating = add("delegate", _delegate, "Hand on less of a grant to another key, and print it.")
    delegating.add_argument("grant", metavar="GRANT", help="The id of a grant in the key store, or its text.")
    delegating.add_argument("key", metavar="KEY", help="The public key that gets it, ed25519:…")
    delegating.add_argument(
        "--scope", action="append", help="A scope or pattern; may be repeated. The grant's own unless given."
    )
    delegating.add_argument(
        "--mandate", metavar="USD:10.00/30.00", help="What may be spent: most for one payment, most in all."
    )
    delegating.add_argument(
        "--expires-in", type=int, metavar="SECONDS", help="Its life; the grant's own end unless given."
    )
    delegating.add_argument("--one-time", action="store_true", help="It is used up by one action.")
    delegating.add_argument(
        "--again", type=int, default=0, metavar="TIMES", help="How often it may be handed on further."
    )
    delegating.add_argument("--note", default="", help="A line for people, at most 200 characters.")
    revoking = add("revoke", _revoke, "Take a grant back, with all that was handed on below it.")
    revoking.add_argument("url", metavar="URL", help="The site, https://host")
    revoking.add_argument(
        "id", metavar="ID", help="gr_… of a grant, or ed25519:… of a key of your own account."
    )
    revoking.add_argument("--reason", default="", help="A line for the site.")


def _key(agent: AgentClient, options: argparse.Namespace) -> Said:
    return {"public_key": agent.public_key}, [agent.public_key]


def _add_grant(agent: AgentClient, options: argparse.Namespace) -> Said:
    grant = agent.add_grant(sys.stdin.read() if options.text == "-" else options.text)
    scopes = " ".join(grant.scopes)
    return {"id": grant.id, "grant": grant.document}, [f"{grant.id} for {grant.audience}: {scopes}"]


def _grants(agent: AgentClient, options: argparse.Namespace) -> Said:
    held = agent.grants()
    return held, (plain(grant_line(each)) for each in held)


def grant_line(grant: dict[str, Any]) -> str:
    """One of ``AgentClient.grants`` as people read it."""
    scopes = " ".join(grant["scopes"])
    parts = [f"{grant['id']} for {grant['site']}: {scopes}", f"until {moment(grant['expires'])}"]
    mandate = grant["mandate"]
    if mandate is not None:
        parts.append(
            f"{mandate['remaining']} of {mandate['total']} {mandate['currency']} left, "
            f"{mandate['per_tx']} at a time"
        )
    if grant["one_time"]:
        parts.append("once")
    if grant["ended"] is not None:
        parts.append(f"ended: {grant['ended']}")
    return ", ".join(parts)


def _delegate(agent: AgentClient, options: argparse.Namespace) -> Said:
    text = agent.delegate(
        options.grant,
        to=options.key,
        scopes=options.scope,
        mandate=options.mandate,
        expires_in=options.expires_in,
        one_time=options.one_time,
        again=options.again,
        note=options.note,
    )
    return {"header": text}, [text]


def _revoke(agent: AgentClient, options: argparse.Namespace) -> Said:
    agent.revoke(options.url, options.id, options.reason)
    return {"revoked": True}, [f"{plain(options.id)} counts no longer."]
