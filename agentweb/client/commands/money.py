"""``receipts``, ``refund``, ``negotiate``: money after and before it is spent."""

from __future__ import annotations

import argparse

from agentweb.client.agent import AgentClient
from agentweb.client.commands.saying import Add, Said, Waiting, plain
from agentweb.client.negotiating import Negotiation
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.strict_json import Json, dumps, loads

_MAX_TERMS = 65_536


def add_commands(add: Add) -> None:
    """Add the commands of this module."""
    receipts = add("receipts", _receipts, "List the agent's receipts at a site, verified.")
    refunding = add("refund", _refund, "Ask for money back, or how a refund stands.")
    negotiating = add("negotiate", _negotiate, "Offer a price, or go on with a negotiation.")
    for needs_url in (receipts, refunding, negotiating):
        needs_url.add_argument("url", metavar="URL", help="The site, https://host")
    refunding.add_argument("id", metavar="ID", help="rc_… of a receipt, or rf_… of a refund that waits.")
    refunding.add_argument("--amount", help="19.99; all that is left unless given.")
    refunding.add_argument("--reason", default="Not wanted any more.", help="A line for the site.")
    negotiating.add_argument(
        "what", metavar="TERMS", help="What is bought, as JSON, or ng_… of a negotiation."
    )
    negotiating.add_argument("--currency", default="USD", help="USD unless given.")
    negotiating.add_argument("--price", metavar="80.00", help="What you offer.")
    negotiating.add_argument("--note", default="", help="A line for the site.")
    negotiating.add_argument(
        "--accept", type=int, metavar="ROUND", help="Take the site's offer of this round."
    )
    negotiating.add_argument("--reject", action="store_true", help="Leave it.")


def _receipts(agent: AgentClient, options: argparse.Namespace) -> Said:
    found = agent.receipts(options.url)
    lines = [
        f"{each['id']}  {'-' * (each['kind'] == 'refund')}{each['amount']} {each['currency']}  "
        f"{each.get('action', '')}"
        for each in found
    ]
    return found, map(plain, lines)


def _refund(agent: AgentClient, options: argparse.Namespace) -> Said:
    if options.id.startswith("rf_"):
        refund = agent.refund_state(options.url, options.id)
    else:
        refund = agent.refund(options.url, options.id, options.amount, reason=options.reason)
    said: Said = refund.value, [plain(refund.json())]
    if refund.is_pending:
        raise Waiting(said)
    return said


def _negotiate(agent: AgentClient, options: argparse.Namespace) -> Said:
    found = _turn(agent, options)
    lines = [f"{found.id} {found.state}, round {found.round}"]
    if found.offer is not None:
        lines.append(f"  offer: {dumps(dict(found.offer)).decode()}")
    if found.agreement is not None:
        agreed = found.agreement
        lines.append(f"  agreed: {agreed['price']} {agreed['currency']}, {agreed['id']}")
    return found.value, map(plain, lines)


def _turn(agent: AgentClient, options: argparse.Namespace) -> Negotiation:
    if not options.what.startswith("ng_"):
        if options.price is None:
            raise ClientError(Code.OFFER_INVALID, "Say what you offer: --price 80.00", field="price")
        return agent.negotiate(
            options.url, _terms(options.what), options.price, options.currency, note=options.note
        )
    standing = agent.negotiation(options.url, options.what, options.currency)
    if options.reject:
        return standing.reject()
    if options.accept is not None:
        return standing.accept(options.accept)
    return standing if options.price is None else standing.counter(options.price)


def _terms(text: str) -> dict[str, Json]:
    try:
        terms = loads(text.encode(errors="surrogateescape"), max_bytes=_MAX_TERMS)
    except AgentError as error:
        raise ClientError(Code.INVALID_INPUT, f"TERMS is not JSON: {error.message}", field="TERMS") from None
    if not isinstance(terms, dict):
        raise ClientError(Code.INVALID_INPUT, "TERMS is an object that says what is bought.", field="TERMS")
    return terms
