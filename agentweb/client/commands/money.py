"""``receipts``, ``refund``, ``negotiate``: money after and before it is spent."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentweb.client.agent import AgentClient
from agentweb.client.commands.saying import Add, Refused, Said, Waiting, quoted
from agentweb.client.commands.wording import moment
from agentweb.client.negotiating import Negotiation
from agentweb.client.refunding import Refund
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.strict_json import Json, loads

_MAX_TERMS = 65_536
_OVER: Final = frozenset({"rejected", "expired"})
"""A negotiation that came to nothing."""


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
    return found, (_receipt_line(each) for each in found)


def _receipt_line(receipt: Mapping[str, Any]) -> str:
    """A verified receipt in a line: when, how much, what for, and whose money came back."""
    is_back = receipt["kind"] == "refund"
    parts = [
        f"{receipt['id']}  {moment(receipt['issued_at'])}  "
        f"{'-' * is_back}{receipt['amount']} {receipt['currency']}  {quoted(receipt['action'])}",
        quoted(receipt["item"]),
    ]
    if is_back:
        parts.append(f"refund of {receipt['refund_of']}")
    if receipt["reason"]:
        parts.append(f"reason: {quoted(receipt['reason'])}")
    return ", ".join(filter(None, parts))


def _refund(agent: AgentClient, options: argparse.Namespace) -> Said:
    if options.id.startswith("rf_"):
        refund = agent.refund_state(options.url, options.id)
    else:
        refund = agent.refund(options.url, options.id, options.amount, reason=options.reason)
    said: Said = refund.value, list(_refund_lines(refund, options.url))
    if refund.is_pending:
        raise Waiting(said)
    if refund.state == "refused":
        raise Refused(said)
    return said


def _refund_lines(refund: Refund, url: str) -> Iterator[str]:
    told = refund.value.get("refund") if isinstance(refund.value, dict) else None
    about: Mapping[str, Json] = told if isinstance(told, dict) else {}
    amount = " ".join(str(about[name]) for name in ("amount", "currency") if isinstance(about.get(name), str))
    of = f"of {about['receipt']}" if isinstance(about.get("receipt"), str) else ""
    named = quoted(f"{refund.id or 'refund'} {refund.state}")
    yield ", ".join(filter(None, [named, quoted(amount), quoted(of)]))
    if isinstance(about.get("reason"), str):
        yield f"  reason: {quoted(str(about['reason']))}"
    if refund.receipt is not None:
        yield f"  {_receipt_line(refund.receipt)}"
    if refund.is_pending and refund.id is not None:
        yield f"  It waits for the site; how it stands says: agentweb refund {url} {quoted(refund.id)}"


def _negotiate(agent: AgentClient, options: argparse.Namespace) -> Said:
    found = _turn(agent, options)
    said: Said = found.value, list(_negotiation_lines(found, options.currency))
    # What the buyer leaves is no refusal.
    if found.state in _OVER and not options.reject:
        raise Refused(said)
    return said


def _negotiation_lines(found: Negotiation, currency: str) -> Iterator[str]:
    value = found.value if isinstance(found.value, dict) else {}
    named = value.get("currency")
    yield quoted(f"{found.id} {found.state}, round {found.round}")
    if found.offer is not None:
        whose = "the site asks" if found.offer.get("by") == "site" else "you offered"
        price = f"{found.offer.get('price')} {named if isinstance(named, str) else currency}"
        yield f"  {whose} {quoted(price)}"
    for note in (value.get("note"), (found.offer or {}).get("note")):
        if isinstance(note, str) and note:
            yield f"  note: {quoted(note)}"
    if found.agreement is not None:
        agreed = found.agreement
        until = moment(agreed["expires"])
        yield f"  agreed: {agreed['price']} {agreed['currency']}, {agreed['id']}, until {until}"


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
