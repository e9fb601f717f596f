"""``approvals``, ``confirm``, ``deny`` and ``code``: what the person is asked, and what they say."""

from __future__ import annotations

import argparse
import os
import sys

from agentweb.client.agent import AgentClient
from agentweb.client.approvals.policy import ApprovalPolicy
from agentweb.client.approvals.records import Approval
from agentweb.client.commands.actions import said_of
from agentweb.client.commands.saying import Add, Said, plain, quoted, say
from agentweb.client.commands.wording import moment, price
from agentweb.client.waiting import WaitingCall
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.money import parse_amount
from agentweb.wire.strict_json import dumps


def add_commands(add: Add) -> None:
    """Add the commands of this module."""
    add("approvals", _approvals, "List the questions that wait for the person, here and at sites.")
    confirming = add("confirm", _confirm, "Make the call of a question that the person approved.")
    confirming.add_argument(
        "--code", metavar="CODE", help="What the person was shown, where that is asked for."
    )
    denying = add("deny", _deny, "Say no to a question: it can no longer be confirmed.")
    coding = add("code", _code, "Show the person a question and its code; on a terminal only.")
    for named in (confirming, denying, coding):
        named.add_argument("id", metavar="ID", help="ap_…, as the question has it.")


def add_policy_options(parser: argparse.ArgumentParser, *, is_first: bool) -> None:
    """The options that say what the person is asked about."""
    unset = argparse.SUPPRESS
    parser.add_argument(
        "--strict",
        action="store_true",
        default=os.environ.get("AGENTWEB_STRICT", "") not in {"", "0"} if is_first else unset,
        help="Confirm only with a code that the person alone is shown; also AGENTWEB_STRICT=1.",
    )
    parser.add_argument(
        "--auto-under",
        metavar="USD:10.00",
        action="append",
        type=_limit,
        default=[] if is_first else unset,
        help="Spend up to this without asking, for each call and in 24 hours; may be repeated.",
    )
    parser.add_argument(
        "--trust",
        metavar="HOST",
        action="append",
        default=[] if is_first else unset,
        help="Believe this site when it calls something a read; may be repeated.",
    )


def policy_of(options: argparse.Namespace) -> ApprovalPolicy:
    """What the person is asked about, by the options; at a terminal they are asked at once."""
    is_there = sys.stdin.isatty() and sys.stderr.isatty()
    return ApprovalPolicy(
        strict=options.strict,
        auto_under=dict(options.auto_under),
        trusted=frozenset(options.trust),
        approver=_ask_at_the_terminal if is_there else None,
    )


def question_lines(approval: Approval) -> list[str]:
    """A question as the person reads it."""
    asked = approval.question
    lines = [asked.message, f"  input: {dumps(asked.input).decode()}"]
    if asked.description:
        lines.append(f"  the site says of it: {quoted(asked.description)}")
    if asked.grant is not None:
        lines.append(f"  under grant {asked.grant}")
    return [plain(line) for line in lines]


def _ask_at_the_terminal(approval: Approval) -> bool | None:
    for line in question_lines(approval):
        say(line, sys.stderr)
    sys.stderr.write("Approve? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _approvals(agent: AgentClient, options: argparse.Namespace) -> Said:
    asked, theirs = agent.approvals(), agent.waiting()
    documents = [{"where": "here", **each.as_dict()} for each in asked]
    documents += [{"where": "site", **each.as_dict()} for each in theirs]
    lines = [
        f"{each.id}  {plain(each.question.message)} Until {moment(int(each.expires))}." for each in asked
    ]
    return documents, [*lines, *map(_waiting_line, theirs)]


def _waiting_line(call: WaitingCall) -> str:
    cost = f", {quoted(price(call.cost))}" if call.cost else ""
    return (
        f"{quoted(call.approval or 'a question')}  {call.action} at {call.site}{cost} waits at the site: "
        f"the person answers at {quoted(call.approve_url, 1_000)}, then the same call passes."
    )


def _confirm(agent: AgentClient, options: argparse.Namespace) -> Said:
    return said_of(agent.confirm(options.id, code=options.code))


def _deny(agent: AgentClient, options: argparse.Namespace) -> Said:
    agent.deny(options.id)
    return {"denied": options.id}, [f"{plain(options.id)} can no longer be confirmed."]


def _code(agent: AgentClient, options: argparse.Namespace) -> Said:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        # What a program reads, a model may read.
        raise ClientError(Code.NOT_ALLOWED, "A code is shown to a person at a terminal only.")
    approval = next((each for each in agent.approvals() if each.id == options.id), None)
    code = agent.approval_code(options.id)
    lines = question_lines(approval) if approval is not None else []
    return {"code": code}, [*lines, f"If you approve exactly this, give this code: {code[:4]} {code[4:]}"]


def _limit(text: str) -> tuple[str, str]:
    currency, colon, amount = text.partition(":")
    try:
        if not colon:
            raise ValueError("A limit is written like USD:10.00.")
        parse_amount(amount, currency)
    except AgentError as error:
        raise argparse.ArgumentTypeError(error.message) from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return currency, amount
