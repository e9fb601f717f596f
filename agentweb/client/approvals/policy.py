"""What is asked about, and what of a call is shown and bound."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from agentweb.client.manifest import ManifestAction
from agentweb.wire.canonical import CanonicalError, canonicalize
from agentweb.wire.encoding import b64url
from agentweb.wire.money import format_amount, parse_amount
from agentweb.wire.strict_json import Json, dumps

if TYPE_CHECKING:
    from agentweb.client.approvals.records import Approval

ASKED: Final = frozenset({"spend", "send", "delete"})

Approver = Callable[["Approval"], bool | None]
"""Asks the person at once: True approves, False denies, None when nobody can be asked now."""
ShowCode = Callable[["Approval", str], None]
"""Shows the person, and nobody else, the code with which a call is confirmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """When the person is asked before a call.

    ``ask`` are the effects that are asked about. ``auto_under`` (currency -> amount) lets a spend action with a known
    price pass without asking, as long as the price, and all that passed so within 24 hours, stays within it;
    ``auto_sites`` names the sites where it may, None all. ``trusted`` sites (``host[:port]``) are believed when they
    call something a read: elsewhere a read by another method than GET is asked about (``doubt``).

    ``strict``: ``confirm=True`` alone is not enough, because a model can set it; it takes the ``approver``, or the code
    that ``show_code`` or ``agentweb code`` shows to the person.
    """

    ask: Collection[str] = ASKED
    auto_under: Mapping[str, str | int | Decimal] = field(default_factory=dict)
    auto_sites: Collection[str] | None = None
    trusted: Collection[str] = ()
    doubt: bool = True
    strict: bool = False
    approver: Approver | None = None
    show_code: ShowCode | None = None

    @classmethod
    def never_ask(cls) -> ApprovalPolicy:
        """For an agent whose person decided beforehand: its grants and their mandates are the only bounds."""
        return cls(ask=(), doubt=False)

    def asks_about(self, site: str, action: ManifestAction) -> bool:
        """Is the person asked before this action, as long as nothing lets it pass?"""
        if action.effect in self.ask:
            return True
        is_doubtful = action.effect == "read" and action.method != "GET"
        return self.doubt and is_doubtful and site not in self.trusted

    def passes_unasked_under(self, question: Question) -> int | None:
        """The limit, in minor units, for calls that may pass without asking; None when this one may not."""
        limit = self.limit_for(question)
        return (
            limit if limit is not None and question.amount is not None and question.amount <= limit else None
        )

    def limit_for(self, question: Question) -> int | None:
        """What may be spent without asking, in minor units, where such a call may pass at all; else None."""
        currency = question.currency
        if question.effect != "spend" or currency is None or question.amount is None:
            return None
        if self.auto_sites is not None and question.site not in self.auto_sites:
            return None
        return parse_amount(self.auto_under[currency], currency) if currency in self.auto_under else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One call as the person sees it. ``amount`` is minor units, None when the action does not tell what it costs."""

    site: str
    url: str
    manifest: str
    action: str
    effect: str
    description: str
    input: Json
    grant: str | None
    currency: str | None = None
    amount: int | None = None
    run: str | None = None
    """The run of a flow of which the call is a step."""

    @property
    def cost(self) -> dict[str, str] | None:
        """``{"amount", "currency"}``, None for an action without a known cost."""
        if self.currency is None or self.amount is None:
            return None
        return {"amount": format_amount(self.amount, self.currency), "currency": self.currency}

    @property
    def digest(self) -> str:
        """What an approval is bound to: base64url of SHA-256 over the canonical form of everything that is shown.

        Another amount, another input, another version of the manifest or another grant is another question.
        """
        bound: dict[str, Any] = {
            "site": self.site,
            "manifest": self.manifest,
            "action": self.action,
            "input": self.input,
            "cost": self.cost,
            "grant": self.grant,
        }
        try:
            spelling = canonicalize(bound)
        except CanonicalError:  # an integer beyond any double: equal only when spelled equally
            spelling = dumps(bound)
        return b64url(hashlib.sha256(spelling).digest())

    @property
    def message(self) -> str:
        """One sentence for the person."""
        if self.effect == "spend":
            what = (
                f"may spend up to {self.cost['amount']} {self.cost['currency']}"
                if self.cost
                else "spends money, and does not say how much"
            )
        elif self.effect == "read":
            what = f"is said to be only read from, by a request that can change something at {self.site}"
        else:
            what = {"send": "sends something to others", "delete": "deletes something"}.get(
                self.effect, f"has the effect {self.effect}"
            )
        return f"{self.action} at {self.site} {what}."


def approval_id(digest: str) -> str:
    """The name of the approval of a question."""
    return f"ap_{digest}"
