"""``request-grant``, ``take-back``: asking a person for a grant, and asking no more."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from agentweb.client.agent import AgentClient
from agentweb.client.commands.authority import grant_line
from agentweb.client.commands.saying import Add, Said, Waiting, is_watched, json_lines, plain, say
from agentweb.client.grant_requests import GrantRequest


def add_commands(add: Add) -> None:
    """Add the commands of this module."""
    requesting = add("request-grant", _request_grant, "Ask a person for a grant through their site.")
    requesting.add_argument("url", metavar="URL", help="The site, https://host")
    requesting.add_argument(
        "--scope", action="append", required=True, help="A scope or pattern; may be repeated."
    )
    requesting.add_argument(
        "--mandate", metavar="USD:10.00/30.00", help="What may be spent: most for one payment, most in all."
    )
    requesting.add_argument(
        "--expires-in", type=int, default=86_400, metavar="SECONDS", help="Its life; a day unless given."
    )
    requesting.add_argument("--reason", default="", help="A line for the person.")
    requesting.add_argument("--wait", action="store_true", help="Wait until the person has decided.")
    requesting.add_argument(
        "--take-back",
        action="store_true",
        help="Take the request back when the waiting is interrupted (Ctrl-C); a terminal asks unless given.",
    )
    taking = add("take-back", _take_back, "Take a request for a grant back: the person is asked no more.")
    taking.add_argument("url", metavar="URL", help="The site, https://host")
    taking.add_argument("id", metavar="ID", help="gq_…, as request-grant prints it.")


def _request_grant(agent: AgentClient, options: argparse.Namespace) -> Said:
    def ask() -> GrantRequest:
        return agent.request_grant(
            options.url,
            options.scope,
            mandate=options.mandate,
            expires_in=options.expires_in,
            reason=options.reason,
        )

    request = ask()
    if request.grant is None and options.wait:
        try:
            if is_watched():
                for line in _where(request, options.url):
                    say(plain(line), sys.stderr)
            while request.grant is None:
                time.sleep(request.retry_after)
                request = ask()
        except KeyboardInterrupt:
            _interrupted(agent, options, request)
            raise
    if request.grant is None:
        raise Waiting(_waiting(request, options.url))
    kept = agent.grants()[-1]
    return {"grant": kept}, [plain(grant_line(kept))]


def _take_back(agent: AgentClient, options: argparse.Namespace) -> Said:
    agent.take_back_request(options.url, options.id)
    return _taken(options.id)


def _interrupted(agent: AgentClient, options: argparse.Namespace, request: GrantRequest) -> None:
    """Whoever waited waits no longer: the request goes or stays as they want it, and is said to."""
    if options.take_back or _is_meant_to_go(request):
        agent.take_back_request(options.url, request.id)
        said = _taken(request.id)
    else:
        said = _waiting(request, options.url)
    document, lines = said
    for line in json_lines(document) if options.json else map(plain, lines):
        say(line)


def _is_meant_to_go(request: GrantRequest) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(f"\n{plain(request.id)} still waits for the person. Take it back? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _taken(ident: str) -> Said:
    return {"request_id": ident, "state": "cancelled"}, [f"{ident} is taken back; nobody is asked any more."]


def _waiting(request: GrantRequest, url: str) -> Said:
    return {"request": request.as_dict()}, list(_where(request, url))


def _where(request: GrantRequest, url: str) -> Iterator[str]:
    yield f"A person opens {request.approve_url} and compares the code {request.user_code}."
    yield f"Then the same command brings the grant; take-back {url} {request.id} asks no more."
