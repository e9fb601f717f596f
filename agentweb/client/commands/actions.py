"""``discover``, ``call`` and ``flow``, ``runs``: what a site offers, and doing it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from agentweb.client.agent import AgentClient
from agentweb.client.commands.saying import Add, Said, is_watched, plain, quoted, say
from agentweb.client.commands.wording import price
from agentweb.client.flows.plan import FlowPlan
from agentweb.client.flows.running import FlowResult
from agentweb.client.invoking import ActionResult
from agentweb.client.manifest import Manifest, ManifestAction
from agentweb.wire.errors import ClientError, Code


def add_commands(add: Add) -> None:
    """Add the commands of this module."""
    discovering = add("discover", _discover, "List the actions and flows of a site.")
    calling = add("call", _call, "Call an action and print its result as JSON.")
    flowing = add("flow", _flow, "Run a flow and print what it answers as JSON.")
    add("runs", _runs, "List runs of flows that are not through.")
    for needs_url in (discovering, calling, flowing):
        needs_url.add_argument("url", metavar="URL", help="The site, https://host")
    calling.add_argument("action", metavar="ACTION")
    flowing.add_argument("flow", metavar="FLOW")
    for given in (calling, flowing):
        given.add_argument("input", metavar="JSON", nargs="?", default="{}", help='"-" for standard input.')
        given.add_argument(
            "--new-intent",
            action="store_true",
            help="Mean this anew although an equal one is pending, instead of asking for its outcome.",
        )
        given.add_argument(
            "--confirm", action="store_true", help="The person approved the question that was asked before."
        )
        given.add_argument(
            "--code", metavar="CODE", help="What the person was shown, where that is asked for."
        )
    flowing.add_argument("--resume", metavar="RUN", help="Go on with this run, fr_…, where it stopped.")
    flowing.add_argument(
        "--plan", action="store_true", help="Only say which steps there are and what they may cost."
    )
    signed = "Sign it with the narrowest grant of the site"
    discovering.add_argument("--signed", action="store_true", help=f"{signed}, to see what that may see.")
    calling.add_argument(
        "--signed", action="store_true", help=f"{signed} without a mandate, also where none is demanded."
    )


def said_of(result: ActionResult | FlowResult) -> Said:
    """A result as commands print it; that more was taken than was shown is told on standard error too."""
    more = result.overcharges if isinstance(result, FlowResult) else (result.overcharge,)
    for overcharge in filter(None, more):
        shown = overcharge["shown"]
        said = "nothing" if shown is None else f"{shown['amount']} {shown['currency']}"
        say(
            f"The site charged {overcharge['charged']} {overcharge['currency']}, and said that it costs {said}: the "
            "receipt is signed. Tell the person, and ask the site for a refund.",
            sys.stderr,
        )
    if isinstance(result, FlowResult):
        document: dict[str, Any] = {
            "value": result.value,
            "run": result.run,
            "outputs": list(result.outputs),
            "receipts": [dict(receipt) for receipt in result.receipts],
        }
        if result.overcharges:
            document["overcharges"] = [dict(each) for each in result.overcharges]
        return document, [plain(result.json())]
    document = {
        "value": result.value,
        "status": result.status,
        "replayed": result.replayed,
        "receipts": [dict(receipt) for receipt in result.receipts],
        "grant": result.grant,
        "idempotency_key": result.idempotency_key,
        "request_id": result.request_id,
    }
    if result.overcharge is not None:
        document["overcharge"] = dict(result.overcharge)
    return document, [plain(result.json())]


def _discover(agent: AgentClient, options: argparse.Namespace) -> Said:
    manifest = agent.discover_actions(options.url, signed=options.signed)
    return manifest.document, map(plain, _listed(manifest))


def _listed(manifest: Manifest) -> Iterator[str]:
    yield manifest.site
    for action in manifest.actions.values():
        yield f"{action.name} ({_about(action)}): {quoted(action.description)}"
    for flow in manifest.flows.values():
        if flow.problems:
            first = flow.problems[0]
            yield f"(flow {flow.name} cannot run: {quoted(first['pointer'])}: {quoted(first['message'])})"
        else:
            steps = ", ".join(str(step["action"]) for step in flow.steps if isinstance(step, dict))
            yield f"flow {flow.name} ({steps}): {quoted(flow.description)}"
    left_out = {problem["pointer"].split("/")[2]: problem for problem in manifest.unusable}
    for each in left_out.values():
        yield f"({quoted(each['pointer'])} cannot be used: {quoted(each['message'])})"


def _call(agent: AgentClient, options: argparse.Namespace) -> Said:
    return said_of(
        agent.call_action(
            options.url,
            options.action,
            options.input,
            confirm=options.confirm,
            code=options.code,
            new_intent=options.new_intent,
            signed=options.signed,
        )
    )


def _flow(agent: AgentClient, options: argparse.Namespace) -> Said:
    if options.resume is not None and options.input != {}:
        raise ClientError(
            Code.INVALID_INPUT, "A run has its input already; leave it out with --resume.", field="JSON"
        )
    if options.plan:
        plan = agent.plan_flow(options.url, options.flow, options.input)
        return plan.as_dict(), _plan_lines(plan)
    return said_of(
        agent.run_flow(
            options.url,
            options.flow,
            options.input,
            resume=options.resume,
            confirm=options.confirm,
            code=options.code,
            new_intent=options.new_intent,
            progress=Watched() if is_watched() else None,
        )
    )


def _runs(agent: AgentClient, options: argparse.Namespace) -> Said:
    runs = agent.runs()
    lines = [f"{run.run}  {run.flow} at {run.site}, {len(run.outputs)} steps done" for run in runs]
    return [run.as_dict() for run in runs], map(plain, lines)


class Watched:
    """Tells the person at the terminal how a flow goes; on standard error, so that the answer stands alone."""

    def __init__(self) -> None:
        self._all = 0

    def planned(self, plan: FlowPlan) -> None:
        self._all = max((step.number for step in plan.steps), default=-1) + 1
        for line in _plan_lines(plan):
            say(plain(line), sys.stderr)

    def begins(self, number: int, action: str) -> None:
        say(plain(f"[{number + 1}/{self._all}] {action}"), sys.stderr)

    def ended(self, number: int, result: ActionResult) -> None:
        for receipt in result.receipts:
            say(plain(f"      {receipt['amount']} {receipt['currency']}, {receipt['id']}"), sys.stderr)


def _about(action: ManifestAction) -> str:
    """What a call does and takes: effect, scope, price, and whose word."""
    cost = quoted(price(action.declared_cost))
    asked = "a person approves it at the site" if action.waits_for_a_person else ""
    first = f"{action.effect} {action.scope}" if action.scope else action.effect
    return ", ".join(filter(None, [first, cost, asked]))


def _plan_lines(plan: FlowPlan) -> Iterator[str]:
    yield f"{plan.flow} at {plan.site}:"
    for step in plan.steps:
        yield f"  {step.number + 1}. {step.action.name} ({_about(step.action)})"
    for currency, amount in plan.most.items():
        yield f"  It may cost up to {amount} {currency}."
    if plan.unknown:
        steps = ", ".join(str(number + 1) for number in plan.unknown)
        yield f"  What step {steps} costs is not known yet."
