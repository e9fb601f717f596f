"""What a spend action declares that it costs (AGENT_ACTIONS section 10), so that an agent can ask before it pays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from agentweb.catalog.schema_shapes import Schema, required_member, types_of
from agentweb.wire.errors import MoneyError
from agentweb.wire.money import CURRENCIES, format_amount, parse_amount

HINT: Final = (
    'Write {"field": "price", "currency": "USD"}, naming a required input that holds the amount, '
    'or {"amount": 25, "currency": "USD"}.'
)
_AMOUNT_TYPES: Final = frozenset({"number", "integer", "string"})


class CostError(ValueError):
    """The declared cost does not hold; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Either ``field``, the name (or RFC 6901 pointer) of the input that holds the amount, or a fixed ``amount``
    in minor units."""

    currency: str
    field: str | None = None
    amount: int | None = None

    def as_manifest(self) -> dict[str, Any]:
        """``{"field", "currency"}`` or ``{"amount", "currency"}`` with the amount as a JSON number in major units."""
        if self.amount is None:
            return {"field": self.field, "currency": self.currency}
        major = Decimal(format_amount(self.amount, self.currency))
        return {
            "amount": int(major) if major == major.to_integral_value() else major,
            "currency": self.currency,
        }

    @property
    def field_path(self) -> tuple[str, ...]:
        """The member names that lead to the amount; empty when the amount is fixed."""
        return _path(self.field) if self.field is not None else ()


def read_cost(cost: Any, input_schema: Schema) -> Cost:
    """The declared cost, checked against the input; raises CostError."""
    if not isinstance(cost, Mapping):
        raise CostError("the cost is not a dict")
    _check_members(cost)
    currency = cost["currency"]
    if not isinstance(currency, str) or currency not in CURRENCIES:
        raise CostError("the currency is not an active ISO 4217 code in upper case")
    if "amount" in cost:
        try:
            return Cost(currency=currency, amount=parse_amount(cost["amount"], currency))
        except MoneyError as error:
            raise CostError(f"the amount does not hold: {error.message.rstrip('.')}") from None
    field = cost["field"]
    if not isinstance(field, str) or not field:
        raise CostError("the field is not a name")
    _check_field(field, input_schema)
    return Cost(currency=currency, field=field)


def _check_members(cost: Mapping[Any, Any]) -> None:
    unknown = [repr(name) for name in cost if name not in ("field", "amount", "currency")]
    if unknown:
        raise CostError(f"{', '.join(unknown)} is none of field, amount and currency")
    if "field" in cost and "amount" in cost:
        raise CostError("it has a field and an amount; a cost is one of them")
    if "field" not in cost and "amount" not in cost:
        raise CostError("it says neither the field that holds the amount nor a fixed amount")
    if "currency" not in cost:
        raise CostError("its currency is missing")


def _check_field(field: str, schema: Schema) -> None:
    found = required_member(schema, _path(field))
    if found is None:
        raise CostError(f"the input has no member {field!r}")
    member, is_required = found
    if not is_required:
        raise CostError(f"the input {field!r} is not required, so a call could leave the price out")
    kinds = types_of(member, schema)
    if not kinds or not kinds <= _AMOUNT_TYPES:
        raise CostError(f"the input {field!r} is not a number, an integer or a string")


def _path(field: str) -> tuple[str, ...]:
    if not field.startswith("/"):
        return (field,)
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in field[1:].split("/"))
