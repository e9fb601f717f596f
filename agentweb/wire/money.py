"""Amounts of money: ISO 4217 currencies, exact minor units, no float and no rounding anywhere."""

from __future__ import annotations

import re
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from agentweb.wire.errors import Code, MoneyError

MAX_MINOR: Final = 10**15
"""The largest amount, in minor units; far inside a BIGINT and a double."""

_TEXT: Final = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?")
_MAX_TEXT: Final = 40
_MAX_POWER: Final = 30

# ISO 4217 list one: number of digits after the point -> codes. Codes without minor units (precious metals,
# testing, XXX, units of account) are no currencies to pay in and are left out.
_CODES_BY_EXPONENT: Final = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: (
        "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE "
        "CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD "
        "HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK "
        "MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD "
        "RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH "
        "USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG"
    ),
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}

CURRENCIES: Final = MappingProxyType(
    {code: exponent for exponent, codes in _CODES_BY_EXPONENT.items() for code in codes.split()}
)
"""Active currency code -> digits after the point (``USD`` 2, ``JPY`` 0, ``KWD`` 3)."""


def parse_amount(value: int | str | Decimal, currency: str, *, field: str | None = "amount") -> int:
    """The amount in minor units, exact: ``parse_amount("19.99", "USD") == 1999``.

    An int counts major units. A text is plain digits with an optional point; it and the value may not have
    more digits than the currency. Raises ``amount_invalid`` (naming ``field``) with the reason ``currency``
    (not an ISO 4217 code in upper case), ``float`` (a float has no exact cents), ``format``, ``precision`` or
    ``range`` (an amount is more than 0 and at most 10^15 minor units).
    """
    exponent = CURRENCIES.get(currency) if isinstance(currency, str) else None
    if exponent is None:
        raise _invalid("currency", "The currency must be an active ISO 4217 code, such as USD.", field)
    if isinstance(value, float):
        raise _invalid(
            "float", 'A float is not exact; give an int, a Decimal or a text such as "19.99".', field
        )
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
        raise _invalid("format", 'An amount is an int, a Decimal or a text such as "19.99".', field)
    if isinstance(value, int):
        minor = _shifted(value, exponent)
    elif isinstance(value, str):
        minor = _minor_of_text(value, currency, exponent, field)
    else:
        minor = _minor_of_decimal(value, currency, exponent, field)
    if not 0 < minor <= MAX_MINOR:
        raise _invalid(
            "range", f"An amount is more than 0 and at most {format_amount(MAX_MINOR, currency)}.", field
        )
    return minor


def format_amount(minor: int, currency: str) -> str:
    """Minor units as the text of signed documents: exactly the currency's digits, ``"19.99"`` or ``"1000"``.

    Raises ValueError for a negative or non-integer amount and for an unknown currency.
    """
    if isinstance(minor, bool) or not isinstance(minor, int) or minor < 0:
        raise ValueError("Minor units are a whole number of at least 0.")
    exponent = CURRENCIES.get(currency)
    if exponent is None:
        raise ValueError("The currency must be an active ISO 4217 code.")
    if not exponent:
        return str(minor)
    major, rest = divmod(minor, 10**exponent)
    return f"{major}.{rest:0{exponent}d}"


def _shifted(major: int, exponent: int) -> int:
    # A huge int is out of range whatever its size; do not compute with it.
    scale: int = 10**exponent
    return major * scale if abs(major) <= MAX_MINOR else MAX_MINOR + 1


def _minor_of_text(text: str, currency: str, exponent: int, field: str | None) -> int:
    match = _TEXT.fullmatch(text) if len(text) <= _MAX_TEXT else None
    if not match:
        raise _invalid("format", 'Write an amount as digits with an optional point, such as "19.99".', field)
    sign, major, fraction = match[1], match[2], match[3] or ""
    if len(fraction) > exponent:
        raise _too_precise(currency, exponent, field)
    minor = int(major + fraction.ljust(exponent, "0"))
    return -minor if sign else minor


def _minor_of_decimal(number: Decimal, currency: str, exponent: int, field: str | None) -> int:
    if not number.is_finite():
        raise _invalid("format", "An amount is a finite number.", field)
    if not number:
        return 0
    if number.adjusted() > _MAX_POWER:
        return MAX_MINOR + 1
    sign, digits, power = number.as_tuple()
    # Integers only: Decimal arithmetic rounds to the context's precision without saying so.
    if number.adjusted() < -_MAX_POWER or len(digits) > _MAX_TEXT or not isinstance(power, int):
        raise _too_precise(currency, exponent, field)
    minor: int = int("".join(map(str, digits)))
    power += exponent
    if power >= 0:
        minor *= 10**power
    else:
        minor, lost = divmod(minor, 10**-power)
        if lost:
            raise _too_precise(currency, exponent, field)
    return -minor if sign else minor


def _too_precise(currency: str, exponent: int, field: str | None) -> MoneyError:
    digits = f"{exponent} digits" if exponent else "no digits"
    return _invalid(
        "precision", f"{currency} has {digits} after the point; amounts are never rounded.", field
    )


def _invalid(reason: str, message: str, field: str | None) -> MoneyError:
    return MoneyError(Code.AMOUNT_INVALID, message, field=field, reason=reason)
