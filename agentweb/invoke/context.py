"""``ctx``: what a handler is given beside its input."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from agentweb.access.callers import Caller
from agentweb.catalog.actions import Action
from agentweb.ledger import agreements
from agentweb.ledger.charges import Till
from agentweb.wire.clock import now_datetime

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import HttpRequest


class Context:
    """One call, as its handler sees it.

    ``caller`` says who acts (``caller.subject`` is stable and unique), ``user`` for which person (AnonymousUser
    when there is none). ``request`` is the HTTP request, or None for a call from a shell or a task. ``form`` is the
    valid form of an action that has one, ``serializer`` the valid serializer. ``former`` is the reference of a
    ``Later`` whose process has ended (see there), else "".
    """

    form: Any = None
    serializer: Any = None

    def __init__(
        self,
        *,
        action: Action,
        caller: Caller,
        request: HttpRequest | None,
        request_id: str,
        idempotency_key: str | None,
        till: Till | None,
        former: str = "",
    ) -> None:
        self.action = action
        self.caller = caller
        self.request = request
        self.request_id = request_id
        self.idempotency_key = idempotency_key
        self.former = former
        self._till = till

    @property
    def user(self) -> AbstractBaseUser | AnonymousUser:
        return self.caller.user

    @property
    def now(self) -> datetime:
        """The current time in UTC, from the same clock as every rule of the call."""
        return now_datetime()

    def agreement(self, terms: Mapping[str, Any]) -> dict[str, Any] | None:
        """The caller's newest agreement, open and not used, whose terms have all of these members; else None.

        Equal means equal as JSON: 1 is not "1". The signed document: ``id, terms, price, currency, expires`` and more
        (docs/reference/wire.md). A ``charge`` of its price for an item that its terms name uses it up; without one
        nothing happens to it.
        """
        self._check_no_event_loop("agreement", "aagreement")
        return self._agreement(terms)

    async def aagreement(self, terms: Mapping[str, Any]) -> dict[str, Any] | None:
        """``agreement`` for async handlers."""
        return await sync_to_async(self._agreement)(terms)

    def charge(
        self,
        amount: int | str | Decimal,
        currency: str,
        *,
        item: str,
        agreement: str | Mapping[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Take money under the caller's mandate; only in actions with effect spend.

        ``amount`` is in major units: int, Decimal or text, never a float. Afterwards the mandate is debited and a
        receipt is promised: both commit with the handler's own writes, or not at all. Returns ``id, amount,
        currency, item``; the signed receipt follows under this id when the call commits.

        In a site with a payment provider the handler may be run several times before this returns: what it does in the
        database before is rolled back each time, what it does elsewhere is done again. No ``except Exception`` holds
        the signal that ends such a run; leave it alone.

        ``agreement``, a document of ``ctx.agreement`` or its id, is used up by this charge. Without it, one that was
        looked up in this call and fits is: the same amount and currency, and an item that is one of the values of its
        terms. Then ``agreement`` is its id in what is returned.

        Raises mandate_exceeded, amount_invalid, grant_revoked, grant_expired; agreement_used, agreement_expired,
        agreement_not_found; cost_mismatch when the site charges more than the action declares, or in another currency.
        What only the site can have got wrong (a float, a currency or item that is none) is a TypeError or ValueError;
        in async code charge is a RuntimeError.
        """
        till = self._spending()
        self._check_no_event_loop("charge", "acharge")
        return till.charge(amount, currency, item=item, agreement=agreement, metadata=metadata)

    async def acharge(
        self,
        amount: int | str | Decimal,
        currency: str,
        *,
        item: str,
        agreement: str | Mapping[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """``charge`` for async handlers."""
        till = self._spending()
        return await sync_to_async(till.charge)(
            amount, currency, item=item, agreement=agreement, metadata=metadata
        )

    def _agreement(self, terms: Mapping[str, Any]) -> dict[str, Any] | None:
        held = () if self._till is None else self._till.held
        found = agreements.find(self.caller, terms, held=held)
        if found is None:
            return None
        if self._till is not None:
            self._till.remember(found)
        # The handler may change what it gets; what was agreed stays as it is.
        return deepcopy(found.document)

    def _spending(self) -> Till:
        if self._till is None:
            raise RuntimeError(
                f"{self.action.name} has effect {self.action.effect}; only actions with effect spend may charge."
            )
        return self._till

    @staticmethod
    def _check_no_event_loop(name: str, instead: str) -> None:
        if _is_in_event_loop():
            raise RuntimeError(
                f"ctx.{name}() cannot run in an async handler: write await ctx.{instead}(...), with the same arguments."
            )


def _is_in_event_loop() -> bool:
    """Whether async code calls, where the database must not be asked; Django's own switch for notebooks counts."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return not os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
