"""The client without Python code: the command ``agentweb``, or ``python -m agentweb.client``.

The commands stand in ``commands`` (and ``messenger.commands``), one module a subject; ``commands/__init__`` says how a
subject is added.

Ends with 0 when it was done, with 1 when the site or the client refused (the error is printed, with ``--json`` as
``{"error": {...}}``; a price or a refund that the site turned down is printed as the answer that it is), with 2 for a
command that is written wrong, with 3 when a person has to do something first: approve the call here or at the site
(``approval`` or ``approve_url`` in the error says where), decide about a grant or a refund.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Final, NoReturn

from agentweb.client.agent import AgentClient
from agentweb.client.commands import actions, approving, authority, finding, money, requesting, serving
from agentweb.client.commands.approving import add_policy_options, policy_of
from agentweb.client.commands.saying import (
    OutputError,
    Refused,
    Said,
    Waiting,
    json_lines,
    plain,
    print_error,
    say,
)
from agentweb.client.commands.streams import drop_output, make_ready
from agentweb.client.errors import KeyStoreError
from agentweb.client.keystore import KeyStore
from agentweb.client.messenger import commands as messaging
from agentweb.client.texts import SURROGATE
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.strict_json import Json, loads

OK: Final = 0
REFUSED: Final = 1
MISUSED: Final = 2
WAITING: Final = 3
DEFAULT_STORE: Final = "agent-keys.json"
SUBJECTS: Final = (authority, requesting, actions, finding, approving, money, serving, messaging)
"""Modules with ``add_commands``, in the order of the help."""

_MAX_INPUT: Final = 16_777_216
_UNKNOWN_COMMAND: Final = re.compile(r"argument command: invalid choice: '(.*)' \(choose from ", re.DOTALL)
"""How argparse says it, up to the list of all that there are."""


class _Parser(argparse.ArgumentParser):
    """Says of an unknown command which one it most likely is, in place of all that there are."""

    commands: Collection[str] = ()

    def error(self, message: str) -> NoReturn:
        unknown = _UNKNOWN_COMMAND.match(message)
        if unknown is not None:
            close = get_close_matches(unknown[1][:100], self.commands, n=3)
            hint = f" Did you mean {' or '.join(close)}?" if close else ""
            message = f"There is no command {unknown[1][:100]!r}.{hint} {self.prog} -h lists all."
        super().error(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Misuse ends in SystemExit with code 2, as argparse does it."""
    make_ready()
    parser = _parser()
    options = parser.parse_args(arguments)
    for given in vars(options).values():
        for text in given if isinstance(given, list) else [given]:
            if isinstance(text, str) and not text.isascii() and SURROGATE.search(text):
                parser.error("an argument is not UTF-8")
    ended = OK
    try:
        try:
            _run(parser, options)
        except Waiting as waiting:
            ended = WAITING
            _print(waiting.said, as_json=options.json)
        except Refused as refused:
            ended = REFUSED
            _print(refused.said, as_json=options.json)
        except AgentError as error:
            ended = WAITING if error.code == Code.NEEDS_HUMAN else REFUSED
            print_error(error, as_json=options.json)
    except OutputError as error:
        drop_output()
        if not error.is_closed:  # closed: whoever read has read enough
            ended = REFUSED
            with suppress(OutputError):
                say(f"{parser.prog}: {error}", sys.stderr)
    except KeyboardInterrupt:
        return 130
    return ended


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    try:
        if "input" in options:
            options.input = _input(parser, options.input)
        index = options.index or None
        with AgentClient(KeyStore(options.key_store), approval=policy_of(options), index_url=index) as agent:
            said: Said = options.run(agent, options)
            _print(said, as_json=options.json)
    except OutputError:
        raise
    except UnicodeError as error:
        raise ClientError(Code.INVALID_INPUT, f"Standard input is no text: {error}.") from None
    except OSError as error:
        # The agent's own files, where they cannot be made or written.
        raise KeyStoreError("keystore_unusable", f"{error}.") from None


def _print(said: Said, *, as_json: bool) -> None:
    document, lines = said
    for line in json_lines(document) if as_json else map(plain, lines):
        # At once, because what a command gives one by one counts as read when the next is asked for.
        say(line)


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
    common.add_argument(
        "--index",
        metavar="URL",
        default=os.environ.get("AGENTWEB_INDEX") if is_first else argparse.SUPPRESS,
        help="An index of many sites, for find; it is told of the sites that are met. AGENTWEB_INDEX, else none.",
    )
    add_policy_options(common, is_first=is_first)
    return common


def _parser() -> argparse.ArgumentParser:
    common = _options(is_first=False)
    parser = _Parser(
        prog="agentweb" if Path(sys.argv[0]).stem == "agentweb" else "python -m agentweb.client",
        description="Call the actions of sites and message other agents, as an agent.",
        parents=[_options(is_first=True)],
    )
    commands = parser.add_subparsers(required=True, metavar="command", parser_class=argparse.ArgumentParser)
    parser.commands = commands.choices

    def command(
        name: str, run: Callable[[AgentClient, argparse.Namespace], Said], sentence: str
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=sentence, description=sentence, parents=[common])
        added.set_defaults(run=run)
        return added

    for subject in SUBJECTS:
        subject.add_commands(command)
    return parser


def _input(parser: argparse.ArgumentParser, text: str) -> Json:
    data = sys.stdin.buffer.read() if text == "-" else text.encode(errors="surrogateescape")
    try:
        return loads(data, max_bytes=_MAX_INPUT)
    except AgentError as error:
        parser.error(f"the input is not JSON: {error.message}")
