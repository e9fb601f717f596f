"""What a JSON value is in Python, and how large its numbers may be."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | Decimal | bool | None"

MAX_SAFE_INTEGER: Final = 2**53 - 1
MAX_NUMBER_LENGTH: Final = 40
"""Characters of a number's text. ``int`` and ``Decimal`` of a long text are slow, and a price is short."""
MAX_EXPONENT: Final = 30
"""Powers of ten that a Decimal may span: ``int(Decimal("1e100000"))`` takes seconds."""
