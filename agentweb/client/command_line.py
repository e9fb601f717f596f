"""The client without Python code: ``python -m agentweb.client`` with a command.

::

    key                      print the agent's public key, made at first use
    add-grant TEXT           keep what issue_grant printed; "-" reads it from standard input
    discover URL             the actions of a site
    call URL ACTION [JSON]   call an action; "-" reads the input from standard input
    receipts URL             the agent's receipts at a site, verified
    delegate GRANT KEY       hand on less of a grant to another key
    revoke URL ID            take a grant back

and those of the messenger (``messenger.commands``): connect, send, resume, inbox, accept, block, events, self.

Ends with 0 when it was done, with 1 when the site or the client refused (the error is printed, with ``--json`` as
``{"error": {...}}``), with 2 for a command that is written wrong, with 3 when a person has to approve the call first:
``approve_url`` in the error is where, and the same command passes afterwards.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TextIO

from agentweb.client.agent import AgentClient
from agentweb.client.keystore import KeyStore
from agentweb.client.messenger.commands import add_commands
from agentweb.wire.errors import AgentError, Code
from agentweb.wire.strict_json import Json, dumps, loads

OK: Final = 0
REFUSED: Final = 1
MISUSED: Final = 2
WAITING: Final = 3
DEFAULT_STORE: Final = "agent-keys.json"

# Line ends of Unicode and what moves a cursor, which JSON may hold as they are, inside strings only.
_NOT_PLAIN: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Misuse ends in SystemExit with code 2, as argparse does it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if "input" in options:
            options.input = _input(parser, options.input)
        with AgentClient(KeyStore(options.key_store)) as agent:
            document, lines = options.run(agent, options)
            for line in _json_lines(document) if options.json else map(_plain, lines):
                _say(line)
                # Now, because what a command gives one by one counts as read when the next is asked for.
                sys.stdout.flush()
    except AgentError as error:
        _print_error(error, as_json=options.json)
        return WAITING if error.code == Code.NEEDS_HUMAN else REFUSED
    except BrokenPipeError:
        # Whoever read has read enough. What is left in the buffer must not be written when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, UnicodeError) as error:
        # The agent's own files, or a standard input that is no text.
        _say(f"{parser.prog}: {error}", sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        return 130
    return OK


def _json_lines(document: Any) -> Iterator[str]:
    """One JSON value on a line; of a command that gives several, each on its own."""
    for each in document if isinstance(document, Iterator) else (document,):
        yield _NOT_PLAIN.sub(_escaped, dumps(each).decode())


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


# A command answers with its document for --json, and with its lines for people.
_Said = tuple[Any, Iterable[str]]


def _key(agent: AgentClient, options: argparse.Namespace) -> _Said:
    return {"public_key": agent.public_key}, [agent.public_key]


def _add_grant(agent: AgentClient, options: argparse.Namespace) -> _Said:
    grant = agent.add_grant(sys.stdin.read() if options.text == "-" else options.text)
    scopes = " ".join(grant.scopes)
    return {"id": grant.id, "grant": grant.document}, [f"{grant.id} for {grant.audience}: {scopes}"]


def _discover(agent: AgentClient, options: argparse.Namespace) -> _Said:
    manifest = agent.discover_actions(options.url, signed=options.signed)
    lines = [manifest.site]
    for action in manifest.actions.values():
        scope = f" {action.scope}" if action.scope else ""
        lines.append(_plain(f"{action.name} ({action.effect}{scope}): {action.description}"))
    left_out = {problem["pointer"].split("/")[2]: problem for problem in manifest.unusable}
    lines += [_plain(f"({each['pointer']} cannot be used: {each['message']})") for each in left_out.values()]
    return manifest.document, lines


def _call(agent: AgentClient, options: argparse.Namespace) -> _Said:
    result = agent.call_action(
        options.url,
        options.action,
        options.input,
        new_intent=options.new_intent,
        signed=options.signed,
    )
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


def _delegate(agent: AgentClient, options: argparse.Namespace) -> _Said:
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


def _revoke(agent: AgentClient, options: argparse.Namespace) -> _Said:
    agent.revoke(options.url, options.id, options.reason)
    return {"revoked": True}, [f"{_plain(options.id)} counts no longer."]


def _options(*, is_first: bool) -> argparse.ArgumentParser:
    """What every command takes, before the command or after it. Only those before it have defaults to set."""
    common = argparse.ArgumentParser(add_help=False)
    store = os.environ.get("AGENTWEB_KEY_STORE") or DEFAULT_STORE
    common.add_argument(
        "--key-store",
        metavar="PATH",
        default=store if is_first else argparse.SUPPRESS,
        help=f"The file with the agent's key and grants; AGENTWEB_KEY_STORE, else {DEFAULT_STORE}.",
    )
    common.add_argument(
        "--json",
        action="store_true",
        default=False if is_first else argparse.SUPPRESS,
        help="Print one JSON value.",
    )
    return common


def _parser() -> argparse.ArgumentParser:
    common = _options(is_first=False)
    parser = argparse.ArgumentParser(
        prog="python -m agentweb.client",
        description="Call the actions of sites and message other agents, as an agent.",
        parents=[_options(is_first=True)],
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
    signed = "Sign it with the narrowest grant of the site"
    discovering.add_argument("--signed", action="store_true", help=f"{signed}, to see what that may see.")
    calling.add_argument(
        "--signed", action="store_true", help=f"{signed} without a mandate, also where none is demanded."
    )
    delegating = command("delegate", _delegate, "Hand on less of a grant to another key, and print it.")
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
    revoking = command("revoke", _revoke, "Take a grant back, with all that was handed on below it.")
    revoking.add_argument("url", metavar="URL", help="The site, https://host")
    revoking.add_argument(
        "id", metavar="ID", help="gr_… of a grant, or ed25519:… of a key of your own account."
    )
    revoking.add_argument("--reason", default="", help="A line for the site.")
    add_commands(command)
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
    whole = "the manifest" if error.code == Code.MANIFEST_INVALID else "the input"
    _say(_plain(f"{body.pop('code')}: {body.pop('message')}"), sys.stderr)
    for problem in body.pop("problems", None) or []:
        where = problem.get("pointer") or whole
        _say(_plain(f"  {where}: {problem.get('message', problem.get('code', ''))}"), sys.stderr)
    for name, value in body.items():
        shown = value if isinstance(value, str) else dumps(value).decode()
        _say(_plain(f"  {name}: {shown}"), sys.stderr)


def _say(line: str, stream: TextIO | None = None) -> None:
    (stream or sys.stdout).write(f"{line}\n")


def _plain(text: str) -> str:
    """One line that a terminal only shows: what a site wrote never moves the cursor or begins a line of its own."""
    return "".join(char if char.isprintable() else " " for char in text)
