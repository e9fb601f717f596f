"""The step before the handler of an action with ``confirm="person"``: its approval is used, or asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django.conf import settings
from django.urls import reverse

from agentweb import conf
from agentweb.access import approvals
from agentweb.access.approvals import Wanted
from agentweb.access.models import Approval
from agentweb.catalog.schema_secrets import concealed
from agentweb.invoke.calls import Call
from agentweb.invoke.redaction import is_sensitive
from agentweb.ledger.charges import Ceiling
from agentweb.wire.errors import AgentError, AuthorizationError, Code
from agentweb.wire.money import format_amount
from agentweb.wire.strict_json import Json

POLL_SECONDS: Final = 5
"""How often an agent that cannot be told may ask whether the person has decided."""


class Missing(Exception):
    """Nobody has approved this call, or its approval was used."""


@dataclass(frozen=True)
class Consent:
    """A person's word on one call. ``ceiling`` is its declared cost."""

    call: Call
    value: Json
    ceiling: Ceiling | None

    @property
    def is_needed(self) -> bool:
        return self.call.action.confirm is not None

    def use(self) -> None:
        """Use the approval up, inside the handler's own savepoint: it is spent only when the handler's work stays.

        Raises Missing.
        """
        if not approvals.consume(self._wanted.digest()):
            raise Missing

    def take(self) -> str:
        """The same for a payment that is reserved: the id of the approval, by which it can be given back."""
        ident = approvals.take(self._wanted.digest())
        if not ident:
            raise Missing
        return ident

    def ask(self) -> AgentError:
        """Ask the person, unless they were asked or have answered; what the caller is told."""
        try:
            approval = approvals.ask(self._wanted)
        except AgentError as refusal:
            return refusal
        return needs_human(
            approval, approve_url=self._origin() + reverse("agentweb:approval", args=[approval.id])
        )

    @cached_property
    def _wanted(self) -> Wanted:
        return Wanted(
            site=self.call.site,
            action=self.call.action.name,
            effect=self.call.action.effect,
            caller=self.call.caller,
            value=self.value,
            shown=concealed(self.value, self.call.action.input_schema, is_sensitive),
            amount=self.ceiling.amount if self.ceiling is not None else None,
            currency=self.ceiling.currency if self.ceiling is not None else "",
        )

    def _origin(self) -> str:
        configured = conf.get("ORIGIN")
        if configured:
            return str(configured).rstrip("/")
        request = self.call.request
        is_plain = settings.DEBUG and request is not None and request.scheme == "http"
        return f"{'http' if is_plain else 'https'}://{self.call.site}"


def needs_human(approval: Approval, *, approve_url: str) -> AuthorizationError:
    """428: what the agent shows to the person, and how it goes on."""
    extra: dict[str, Any] = {}
    if approval.amount is not None:
        amount = format_amount(approval.amount, approval.currency)
        extra["cost"] = {"amount": amount, "currency": approval.currency}
    return AuthorizationError(
        Code.NEEDS_HUMAN,
        "A person has to approve exactly this call, and nothing was done yet. Give them approve_url; when they have "
        "approved, send the same call with the same input again. The same Idempotency-Key may be kept.",
        retry_after=POLL_SECONDS,
        approval=approval.id,
        approve_url=approve_url,
        expires=int(approval.expires_at.timestamp()),
        **extra,
    )
