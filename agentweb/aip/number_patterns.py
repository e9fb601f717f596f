"""Ranges of numbers as patterns of their texts: 1 to 20 is ``[1-9]|1[0-9]|20``.

What a pattern here takes, ``coerce_strings`` reads: no sign where nothing is negative, no exponent, no leading zero,
at most 40 characters. Alternatives stand bare; ``anchored`` puts them into a whole pattern.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final

MAX_DIGITS: Final = 39
"""Of an integer; with its sign that is what a number's text may have."""
MAX_WHOLE: Final = 20
MAX_FRACTION: Final = 18
"""Digits before and after the point; with sign and point that is 40 again."""

Number = int | Decimal


def anchored(alternatives: Iterable[str]) -> str:
    """The pattern of a text that is one of these, and nothing beside."""
    return f"^{_one_of(list(alternatives))}$"


def integers(low: int | None, high: int | None) -> list[str]:
    """The texts of all integers from ``low`` to ``high``, either of them open when None."""
    if low is None and high is None:
        return [f"-?{_one_of(_naturals(0, None, MAX_DIGITS))}"]
    found = []
    if low is None or low < 0:
        below = _naturals(
            1 if high is None or high >= 0 else -high, None if low is None else -low, MAX_DIGITS
        )
        found += [f"-{_one_of(below)}"] if below else []
    if high is None or high >= 0:
        found += _naturals(max(low or 0, 0), high, MAX_DIGITS)
    return found


def decimals(
    low: Number | None,
    high: Number | None,
    *,
    is_low_open: bool = False,
    is_high_open: bool = False,
    places: int = MAX_FRACTION,
) -> tuple[list[str], bool]:
    """The texts of all numbers of a range with at most ``places`` digits after the point; and whether it is exact.

    A bound that has itself a fraction is widened to the next whole number, which is not exact; but the smallest
    amount of so many places (0.01 for 2) is the same as more than nothing.
    """
    is_exact = True
    if low is not None and low != int(low):
        if not is_low_open and low == Decimal(1).scaleb(-places):
            low, is_low_open = 0, True
        else:
            low, is_low_open, is_exact = int(Decimal(low).to_integral_value(ROUND_FLOOR)), False, False
    if high is not None and high != int(high):
        high, is_high_open, is_exact = int(Decimal(high).to_integral_value(ROUND_CEILING)), True, False
    low, high = None if low is None else int(low), None if high is None else int(high)
    if low is None and high is None:
        return [f"-?{_one_of(_naturals(0, None, MAX_WHOLE))}{_fraction(places)}"], is_exact
    found = []
    if low is None or low < 0:
        starts_open = is_high_open if high is not None and high < 0 else True
        nearest = -high if high is not None and high < 0 else 0
        below = _magnitudes(
            nearest, starts_open, None if low is None else -low, ends_open=is_low_open, places=places
        )
        found += [f"-{_one_of(below)}"] if below else []
    if high is None or high >= 0:
        begins = max(low or 0, 0)
        starts_open = is_low_open and low is not None and low >= 0
        found += _magnitudes(begins, starts_open, high, ends_open=is_high_open, places=places)
    return found, is_exact


def _magnitudes(low: int, starts_open: bool, high: int | None, *, ends_open: bool, places: int) -> list[str]:
    found = []
    whole = _naturals(low + starts_open, None if high is None else high - 1, MAX_WHOLE)
    if whole:
        found.append(f"{_one_of(whole)}{_fraction(places)}")
    if starts_open and (high is None or low < high) and places:
        found.append(rf"{low}\.(?!0+$)[0-9]{{1,{places}}}")
    if high is not None and not ends_open and low + starts_open <= high:
        found.append(rf"{high}(?:\.0{{1,{places}}})?" if places else str(high))
    return found


def _fraction(places: int) -> str:
    return rf"(?:\.[0-9]{{1,{places}}})?" if places else ""


def _naturals(low: int, high: int | None, digits: int) -> list[str]:
    """The texts of low, low + 1, … high; without an end, of all up to so many digits."""
    if high is not None and high >= 10**digits:
        high = None
    if high is not None and low > high:
        return []
    found = []
    if low == 0:
        found.append("0")
        low = 1
        if high == 0:
            return found
    shortest = len(str(low))
    if low != 10 ** (shortest - 1):
        # The rest of the numbers that are as long as the first.
        top = 10**shortest - 1
        found += _equally_long(str(low), str(top if high is None else min(top, high)))
        low, shortest = top + 1, shortest + 1
    if high is None:
        return [*found, f"[1-9]{_digits(shortest - 1, digits - 1)}"] if shortest <= digits else found
    if low > high:
        return found
    longest = len(str(high))
    if high == 10**longest - 1:
        return [*found, f"[1-9]{_digits(shortest - 1, longest - 1)}"]
    if shortest < longest:
        found.append(f"[1-9]{_digits(shortest - 1, longest - 2)}")
    return found + _equally_long(str(10 ** (longest - 1)), str(high))


def _equally_long(low: str, high: str) -> list[str]:
    """The texts from low to high, which have the same number of digits."""
    first, last, rest = int(low[0]), int(high[0]), len(low) - 1
    if not rest:
        return [_digit(first, last)]
    zeros, nines = "0" * rest, "9" * rest
    if first == last:
        if low[1:] == zeros and high[1:] == nines:
            return [f"{first}{_digits(rest, rest)}"]
        return [f"{first}{each}" for each in _equally_long(low[1:], high[1:])]
    found, ends = [], []
    if low[1:] != zeros:
        found = [f"{first}{each}" for each in _equally_long(low[1:], nines)]
        first += 1
    if high[1:] != nines:
        ends = [f"{last}{each}" for each in _equally_long(zeros, high[1:])]
        last -= 1
    if first <= last:
        found.append(f"{_digit(first, last)}{_digits(rest, rest)}")
    return found + ends


def _digit(first: int, last: int) -> str:
    return str(first) if first == last else f"[{first}-{last}]"


def _digits(least: int, most: int) -> str:
    if most == 0:
        return ""
    if least == most:
        return "[0-9]" if most == 1 else f"[0-9]{{{most}}}"
    if (least, most) == (0, 1):
        return "[0-9]?"
    return f"[0-9]{{{least},{most}}}"


def _one_of(alternatives: list[str]) -> str:
    return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"
