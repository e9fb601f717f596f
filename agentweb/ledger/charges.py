"""Charging under a mandate: one conditional UPDATE for each grant of the chain decides (AGENT_ACTIONS section 3).

Lock order of every spending transaction: idempotency record, mandate rows from leaf to root, a person's approval,
the handler's own rows, receipt head. ``Till.open`` takes the mandate rows before the handler runs, so a handler that
charges and then takes stock cannot deadlock with one that takes stock and then charges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from django.db import connections, transaction

from agentweb.access import mandates, rows
from agentweb.access.callers import Caller
from agentweb.access.models import Mandate
from agentweb.access.reading import by_keys
from agentweb.ledger import agreements
from agentweb.ledger.agreements import Agreed
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import (
    AgentError,
    AuthenticationError,
    AuthorizationError,
    Code,
    MoneyError,
    ServerError,
)
from agentweb.wire.money import CURRENCIES, format_amount, parse_amount

if TYPE_CHECKING:
    from agentweb.ledger.payments import Purse

MAX_CHARGES: Final = 100
MAX_ITEM_LENGTH: Final = 200


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the action declared that this call may cost, in minor units.

    ``is_fixed``: by the site's own declaration, not by the caller's input.
    """

    amount: int
    currency: str
    is_fixed: bool


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge that holds in the open transaction; its receipt is signed just before the commit.

    ``agreement`` is the id of the one that it used up.
    """

    id: str
    amount: int
    currency: str
    item: str
    metadata: dict[str, Any]
    agreement: str | None = None


@dataclass(slots=True)
class Till:
    """All charges of one call. With a payment provider ``purse`` has those that are paid."""

    caller: Caller
    ceiling: Ceiling | None
    charges: list[Charge] = field(default_factory=list)
    purse: Purse | None = None
    _agreed: list[Agreed] = field(default_factory=list)
    _spent: dict[str, int] = field(default_factory=dict)
    _connection: Any = None

    def open(self, spent: dict[str, int]) -> None:
        """Begin to take charges; ``spent`` is what each locked mandate had spent before."""
        self._spent = spent
        self._connection = connections[rows.database()]

    def close(self) -> None:
        """End it, and hold the charges against what the mandates really paid.

        A handler that charges inside an ``atomic`` block of its own and lets that block fail has taken the money
        back; a receipt for it would be false.
        """
        self._connection = None
        if self.purse is not None and self.purse.asked is not None:
            raise self.purse.asked
        # What a provider has captured was debited when it was reserved.
        total = 0 if self.purse is not None else sum(charge.amount for charge in self.charges)
        if not total and self.purse is None:
            return
        now_spent = {row.grant_id: row.spent for row in _rows(self._spent)}
        if now_spent != {grant_id: before + total for grant_id, before in self._spent.items()}:
            raise RuntimeError("A charge was undone inside the handler, which went on as if it held.")

    @property
    def held(self) -> tuple[str, ...]:
        """Ids of the payments that this call has begun and not come to yet; an agreement that one holds is its own."""
        if self.purse is None:
            return ()
        done = {charge.id for charge in self.charges}
        return tuple(ident for ident in self.purse.ids if ident not in done)

    def remember(self, agreed: Agreed) -> None:
        """The next charge that fits this agreement uses it up."""
        self._agreed.append(agreed)

    def charge(
        self,
        amount: int | str | Decimal,
        currency: str,
        *,
        item: str,
        agreement: str | Mapping[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """See ``Context.charge``."""
        if self._connection is not connections[rows.database()]:
            # On another connection the debit would commit by itself, or wait for this call's own lock for ever.
            raise RuntimeError(
                "ctx.charge works only while its handler runs, and in the handler's own thread."
            )
        if self.purse is not None and self.purse.asked is not None:
            raise self.purse.asked
        _check_written(amount, currency, item)
        minor = parse_amount(amount, currency)
        if len(self.charges) >= MAX_CHARGES:
            raise ValueError(f"one call may charge at most {MAX_CHARGES} times")
        self._keep_to_ceiling(minor, currency)
        agreed = self._agreement_for(minor, currency, item, agreement)
        paid, notes = None, dict(metadata or {})
        if self.purse is not None:
            noted = None if agreed is None else agreed.id
            paid = self.purse.paid(len(self.charges), minor, currency, item, noted, notes)
        ident = random_id("rc_") if paid is None else paid.id
        if paid is not None:
            if agreed is not None:
                agreements.use_up(agreed.id, ident)
        elif agreed is None:
            debit(self.caller, minor, currency)
        else:
            with transaction.atomic(using=rows.database()):  # a savepoint: both, or neither
                debit(self.caller, minor, currency)
                agreements.use_up(agreed.id, ident)
        if self.purse is not None and paid is None:
            # The mandate would pay; now the provider is asked, and then the handler comes here again.
            raise self.purse.ask()
        if agreed is not None:
            self._agreed = [other for other in self._agreed if other.id != agreed.id]
        if paid is not None:
            notes = paid.metadata
        charge = Charge(ident, minor, currency, item, notes, None if agreed is None else agreed.id)
        self.charges.append(charge)
        done = {"id": ident, "amount": format_amount(minor, currency), "currency": currency, "item": item}
        return done if agreed is None else {**done, "agreement": agreed.id}

    def _agreement_for(
        self, minor: int, currency: str, item: str, wanted: str | Mapping[str, Any] | None
    ) -> Agreed | None:
        """The agreement that was named, or of those looked up the first that this charge fits."""
        if wanted is None:
            return next((agreed for agreed in self._agreed if agreed.fits(minor, currency, item)), None)
        ident = wanted.get("id") if isinstance(wanted, Mapping) else wanted
        if not isinstance(ident, str):
            raise TypeError(
                f"charge() takes agreement as ctx.agreement() gave it, or its id, not a {type(wanted).__name__}."
            )
        agreed = agreements.named(self.caller, ident)
        if agreed.currency != currency:
            raise ValueError(f"charge() in {currency} for an agreement in {agreed.currency}.")
        return agreed

    def _keep_to_ceiling(self, minor: int, currency: str) -> None:
        """The declared cost is what the agent weighed and perhaps a person approved: never take more."""
        if self.ceiling is None:
            return
        total = minor + sum(charge.amount for charge in self.charges)
        if currency != self.ceiling.currency:
            raise ServerError(
                Code.COST_MISMATCH,
                "The site charged in another currency than this action declares. Nothing was charged.",
                status=500,
                debug=f"charge in {currency}; the declared cost is in {self.ceiling.currency}",
            )
        if total <= self.ceiling.amount:
            return
        price = format_amount(total, currency)
        if self.ceiling.is_fixed:
            # More than the site's own declaration is the site's bug: the caller learns only that.
            raise ServerError(
                Code.COST_MISMATCH,
                "The site asked for more than this action declares. Nothing was charged.",
                status=500,
                debug=f"charge of {price} {currency} exceeds the declared cost",
            )
        raise MoneyError(
            Code.COST_MISMATCH,
            f"The price is {price} {currency}, more than the amount you gave. Nothing was charged; "
            "ask the person again, then call with the real price.",
            amount=price,
            currency=currency,
        )


def _check_written(amount: object, currency: object, item: object) -> None:
    """Raise for what only the site's own code can have got wrong: a crash for its log, not a refusal for the agent.

    Digits and range of an amount may come from the input, so ``parse_amount`` refuses them to the agent.
    """
    if isinstance(amount, bool) or not isinstance(amount, (int, str, Decimal)):
        raise TypeError(
            f"charge() takes the amount as an int, a Decimal or a text, not as a {type(amount).__name__}: "
            "a float has no exact cents."
        )
    if not isinstance(currency, str):
        raise TypeError(f"charge() takes the currency as a text, not as a {type(currency).__name__}.")
    if currency not in CURRENCIES:
        raise ValueError(f"charge() takes an active ISO 4217 currency such as USD, not {currency!r}.")
    if not isinstance(item, str):
        raise TypeError(
            f"charge() takes item as a text that names what is paid for, not as a {type(item).__name__}."
        )
    if not 0 < len(item) <= MAX_ITEM_LENGTH:
        raise ValueError(f"charge() takes an item of 1 to {MAX_ITEM_LENGTH} characters, not {len(item)}.")


def enter(caller: Caller, *, spends: bool) -> None:
    """Count this call against every use limit of the chain and, for a spend, lock its mandates.

    The first statements after the fence, leaf to root, so that all transactions take these rows in one order.
    """
    limited = [member for member in reversed(caller.chain) if member.mandate is not None or member.one_time]
    if not limited or not (spends or any(member.one_time for member in limited)):
        return
    now = now_datetime()
    for member in limited:
        if _count_use(member.id, now):
            continue
        mandates.ensure_rows(caller.chain)
        if not _count_use(member.id, now):
            raise _refusal(member.id, now)


def hold(caller: Caller) -> None:
    """Lock the mandates of a call whose use is counted already; raises as ``enter`` when one of them has ended.

    A sweep may have given the use back meanwhile; then its payment is gone too, and the call finds that out.
    """
    now = now_datetime()
    for member in reversed(caller.chain):
        if member.mandate is None and not member.one_time:
            continue
        if not _change("uses = uses", [], member.id, now, "uses >= 0", []):
            raise _refusal(member.id, now)


def check_declared(caller: Caller, ceiling: Ceiling | None, reserved: int = 0) -> dict[str, int]:
    """Refuse before the handler runs what the mandate could not pay; the rows are locked by ``enter`` or ``hold``.

    ``reserved`` of it, in minor units, is paid already. Returns what each grant of the chain has spent so far.
    """
    leaf = caller.grant
    if leaf is None or leaf.mandate is None:
        extra: dict[str, Any] = {}
        if ceiling is not None:
            extra = {
                "currency": ceiling.currency,
                "amount": format_amount(ceiling.amount, ceiling.currency),
            }
        raise AuthorizationError(
            Code.MANDATE_REQUIRED,
            "This action spends money and your grant has no mandate. Ask the person for a grant with a mandate.",
            **extra,
        )
    now = now_datetime()
    found = {row.grant_id: row for row in _rows([member.id for member in caller.chain])}
    if ceiling is not None:
        for member in reversed(caller.chain):
            refusal = _limit(found[member.id], ceiling.amount, ceiling.currency, reserved)
            if refusal is not None:
                raise refusal
            if found[member.id].expires_at <= now or found[member.id].revoked_at is not None:
                raise _refusal(member.id, now)
    return {grant_id: row.spent for grant_id, row in found.items()}


def debit(caller: Caller, minor: int, currency: str) -> None:
    """The spending statement, once for each grant of the chain, leaf to root; all or none."""
    if caller.grant is None or caller.grant.mandate is None:
        check_declared(caller, None)
    chain = caller.chain
    if len(chain) == 1:
        _debit_one(chain[0].id, minor, currency)
        return
    with transaction.atomic():  # a savepoint: the root's refusal takes back the leaf's debit
        for member in reversed(chain):
            _debit_one(member.id, minor, currency)


def _debit_one(grant_id: str, minor: int, currency: str) -> None:
    now = now_datetime()
    changed = _change(
        "spent = spent + %s",
        [minor],
        grant_id,
        now,
        "currency = %s AND per_tx >= %s AND spent <= total - %s",
        [currency, minor, minor],
    )
    if changed != 1:
        raise _refusal(grant_id, now, minor, currency)


def _count_use(grant_id: str, now: datetime) -> bool:
    return bool(_change("uses = uses + 1", [], grant_id, now, "(max_uses IS NULL OR uses < max_uses)", []))


def _change(
    change: str, values: list[Any], grant_id: str, now: datetime, condition: str, compared: list[Any]
) -> int:
    """Change the mandate of a grant while it stands and the condition holds; how many rows that were."""
    # Written out: composing it anew for each call costs several times what running it does.
    connection = connections[rows.database()]
    table = connection.ops.quote_name(Mandate._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {change} "  # noqa: S608 - both texts are written above
            f"WHERE grant_id = %s AND revoked_at IS NULL AND expires_at > %s AND {condition}",
            [*values, grant_id, connection.ops.adapt_datetimefield_value(now), *compared],
        )
        return int(cursor.rowcount)


def _rows(grant_ids: Iterable[str]) -> list[Mandate]:
    return by_keys(Mandate, list(grant_ids), alias=rows.database())


def _refusal(grant_id: str, now: datetime, minor: int | None = None, currency: str = "") -> AgentError:
    """Why the conditional UPDATE changed nothing: read the row and say which condition failed."""
    row = Mandate.objects.filter(pk=grant_id).first()
    if row is None:
        return AuthorizationError(
            Code.MANDATE_REQUIRED,
            "A grant of your chain has no mandate, so it cannot spend. Ask the person for a grant with a mandate.",
        )
    if row.revoked_at is not None:
        return AuthenticationError(
            Code.GRANT_REVOKED, "The grant was revoked. Ask the person for a new one.", grant=grant_id
        )
    if row.expires_at <= now:
        return AuthenticationError(
            Code.GRANT_EXPIRED,
            "The grant has expired. Ask the person for a new one.",
            grant=grant_id,
            expires=int(row.expires_at.timestamp()),
        )
    if minor is not None:
        limit = _limit(row, minor, currency)
        if limit is not None:
            return limit
        # The refusing condition no longer holds: a refund came between the two statements.
        return ServerError(
            Code.UNAVAILABLE, "The mandate changed while it was charged. Repeat the call.", retry_after=1
        )
    return AuthorizationError(
        Code.GRANT_USED, "This grant was good for one action and has been used.", grant=grant_id
    )


def _limit(row: Mandate, minor: int, currency: str, reserved: int = 0) -> AgentError | None:
    if not row.currency:
        return AuthorizationError(
            Code.MANDATE_REQUIRED,
            "A grant of your chain has no mandate, so it cannot spend. Ask the person for a grant with a mandate.",
        )
    remaining = row.total - row.spent
    if currency != row.currency:
        limit, said = "currency", f"The mandate is in {row.currency}, the charge in {currency}."
        advice = f"ask the person for a mandate in {currency}"
    elif minor > row.per_tx:
        limit = "per_tx"
        said = f"One charge may be at most {format_amount(row.per_tx, row.currency)} {row.currency}."
        advice = "choose something cheaper, or ask the person for a mandate that allows more in one charge"
    elif minor > remaining + reserved:
        limit = "total"
        said = f"Only {format_amount(remaining, row.currency)} {row.currency} of the mandate is left."
        advice = "choose something cheaper, or ask the person for a new mandate"
        if not remaining:
            said, advice = "Nothing of the mandate is left.", "ask the person for a new mandate"
    else:
        return None
    return AuthorizationError(
        Code.MANDATE_EXCEEDED,
        f"{said} Nothing was charged; {advice}.",
        limit=limit,
        remaining=format_amount(remaining, row.currency),
        currency=row.currency,
    )
