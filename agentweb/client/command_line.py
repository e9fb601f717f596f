"""The client without Python code: ``python -m agentweb.client`` with a command.

::

    key                      print the agent's public key, made at first use
    add-grant TEXT           keep what issue_grant printed; "-" reads it from standard input
    discover URL             the actions of a site
    call URL ACTION [JSON]   call an action; "-" reads the input from standard input
    receipts URL             the agent's receipts at a site, verified

Ends with 0 when it was done, with 1 when the site or the client refused (the error is printed, with ``--json`` as
``{"error": {...}}``), with 2 for a command that is written wrong, with 3 when a person has to approve the call first:
``approve_url`` in the error is where, and the same command passes afterwards.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TextIO

from agentweb.client.agent import AgentClient
from agentweb.client.keystore import KeyStore
from agentweb.wire.errors import AgentError, Code
from agentweb.wire.strict_json import Json, dumps, loads

OK: Final = 0
REFUSED: Final = 1
MISUSED: Final = 2
WAITING: Final = 3
DEFAULT_STORE: Final = "agent-keys.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Misuse ends in SystemExit with code 2, as argparse does it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if "input" in options:
            options.input = _input(parser, options.input)
        with AgentClient(KeyStore(options.key_store)) as agent:
            document, lines = options.run(agent, options)
    except AgentError as error:
        _print_error(error, as_json=options.json)
        return WAITING if error.code == Code.NEEDS_HUMAN else REFUSED
    except (OSError, UnicodeError) as error:
        # The agent's own files, or a standard input that is no text.
        _say(f"{parser.prog}: {error}", sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        return 130
    for line in [dumps(document).decode()] if options.json else lines:
        _say(line)
    return OK


# A command answers with its document for --json, and with its lines for people.
_Said = tuple[Any, Iterable[str]]


def _key(agent: AgentClient, options: argparse.Namespace) -> _Said:
    return {"public_key": agent.public_key}, [agent.public_key]


def _add_grant(agent: AgentClient, options: argparse.Namespace) -> _Said:
    grant = agent.add_grant(sys.stdin.read() if options.text == "-" else options.text)
    scopes = " ".join(grant.scopes)
    return {"id": grant.id, "grant": grant.document}, [f"{grant.id} for {grant.audience}: {scopes}"]


def _discover(agent: AgentClient, options: argparse.Namespace) -> _Said:
    manifest = agent.discover_actions(options.url)
    lines = [manifest.site]
    for action in manifest.actions.values():
        scope = f" {action.scope}" if action.scope else ""
        lines.append(_plain(f"{action.name} ({action.effect}{scope}): {action.description}"))
    return manifest.document, lines


def _call(agent: AgentClient, options: argparse.Namespace) -> _Said:
    result = agent.call_action(options.url, options.action, options.input, new_intent=options.new_intent)
    document = {
        "value": result.value,
        "status": result.status,
        "replayed": result.replayed,
        "receipts": [dict(receipt) for receipt in result.receipts],
        "grant": result.grant,
        "idempotency_key": result.idempotency_key,
        "request_id": result.request_id,
    }
    return document, [_plain(result.json())]


def _receipts(agent: AgentClient, options: argparse.Namespace) -> _Said:
    found = agent.receipts(options.url)
    lines = [f"{each['id']}  {each['amount']} {each['currency']}  {each.get('action', '')}" for each in found]
    return found, map(_plain, lines)


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--key-store",
        metavar="PATH",
        default=os.environ.get("AGENTWEB_KEY_STORE") or DEFAULT_STORE,
        help=f"The file with the agent's key and grants; AGENTWEB_KEY_STORE, else {DEFAULT_STORE}.",
    )
    common.add_argument("--json", action="store_true", help="Print one JSON value.")
    parser = argparse.ArgumentParser(
        prog="python -m agentweb.client", description="Call the actions of sites as an agent."
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(
        name: str, run: Callable[[AgentClient, argparse.Namespace], _Said], sentence: str
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=sentence, description=sentence, parents=[common])
        added.set_defaults(run=run)
        return added

    command("key", _key, "Print the agent's public key; it is made at first use.")
    adding = command("add-grant", _add_grant, "Keep a grant.")
    adding.add_argument("text", metavar="TEXT", help='What issue_grant printed; "-" for standard input.')
    discovering = command("discover", _discover, "List the actions of a site.")
    calling = command("call", _call, "Call an action and print its result as JSON.")
    receipts = command("receipts", _receipts, "List the agent's receipts at a site, verified.")
    for needs_url in (discovering, calling, receipts):
        needs_url.add_argument("url", metavar="URL", help="The site, https://host")
    calling.add_argument("action", metavar="ACTION")
    calling.add_argument("input", metavar="JSON", nargs="?", default="{}", help='"-" for standard input.')
    calling.add_argument(
        "--new-intent",
        action="store_true",
        help="Mean this call anew although an equal one is pending, instead of asking for its outcome.",
    )
    return parser


def _input(parser: argparse.ArgumentParser, text: str) -> Json:
    data = sys.stdin.buffer.read() if text == "-" else text.encode(errors="surrogateescape")
    try:
        return loads(data, max_bytes=16_777_216)
    except AgentError as error:
        parser.error(f"the input is not JSON: {error.message}")


def _print_error(error: AgentError, *, as_json: bool) -> None:
    if as_json:
        _say(dumps({"error": error.as_dict()}).decode())
        return
    body = error.as_dict()
    _say(_plain(f"{body.pop('code')}: {body.pop('message')}"), sys.stderr)
    for problem in body.pop("problems", None) or []:
        where = problem.get("pointer") or "the input"
        _say(_plain(f"  {where}: {problem.get('message', problem.get('code', ''))}"), sys.stderr)
    for name, value in body.items():
        shown = value if isinstance(value, str) else dumps(value).decode()
        _say(_plain(f"  {name}: {shown}"), sys.stderr)


def _say(line: str, stream: TextIO | None = None) -> None:
    (stream or sys.stdout).write(f"{line}\n")


def _plain(text: str) -> str:
    """One line that a terminal only shows: what a site wrote never moves the cursor or begins a line of its own."""
    return "".join(char if char.isprintable() else " " for char in text)
