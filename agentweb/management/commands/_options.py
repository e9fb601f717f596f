"""What several commands have in common: their options, as text, and what is wrong with them.

Each reader takes the list ``wrong``, puts a line for the person at the terminal into it, and gives something that
goes on being checked, so that all mistakes are told at once.
"""

from __future__ import annotations

import re
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandParser

from agentweb import conf
from agentweb.management.commands._texts import whole
from agentweb.wire.errors import ClientError, Code, MoneyError
from agentweb.wire.grants import Mandate
from agentweb.wire.http_signature import authority_of
from agentweb.wire.money import parse_amount

_MANDATE: Final = re.compile(r"([A-Z]{3}):([0-9.]+)/([0-9.]+)")


def add_authority(parser: CommandParser) -> None:
    """The options that say what may be done, for how long, and for whom."""
    parser.add_argument(
        "--scope",
        action="append",
        default=[],
        help="A scope or pattern, such as cart:write or cart:*; may be repeated.",
    )
    parser.add_argument(
        "--mandate",
        default=None,
        metavar="USD:50.00/200.00",
        help="What may be spent: currency, most for one payment, most in all.",
    )
    parser.add_argument("--expires-in", default="3600", help="Life in seconds; an hour unless given.")
    parser.add_argument("--one-time", action="store_true", help="It is used up by one action.")
    parser.add_argument("--user", default=None, help="User name of the person for whom the agent acts.")
    parser.add_argument("--note", default="", help="A line for people, at most 200 characters.")
    parser.add_argument(
        "--site", default=None, help='host[:port]; only while AGENTWEB["ORIGIN"] is not set, under DEBUG.'
    )


def add_allow_private(parser: CommandParser) -> None:
    """For commands that call a URL over the network under the guard."""
    parser.add_argument(
        "--allow-private",
        action="store_true",
        help="Call the URL although its host is this machine or in a private network.",
    )


def private_hint(error: ClientError) -> str:
    """What to do about a URL that the guard did not call; empty for every other error."""
    if error.code != Code.SITE_UNREACHABLE or error.extra.get("reason") not in {"scheme", "address"}:
        return ""
    return " For a site on this machine or in your own network add --allow-private."


def site_of(given: str | None, wrong: list[str]) -> str:
    """The audience: from AGENTWEB["ORIGIN"], or as given while there is none to contradict."""
    origin = conf.get("ORIGIN")
    if origin is None and settings.DEBUG and given:
        origin = f"http://{given}"
    elif origin is None:
        wrong.append('AGENTWEB["ORIGIN"] is not set; set it, or under DEBUG name the host with --site.')
        return ""
    elif given is not None:
        wrong.append('--site: AGENTWEB["ORIGIN"] names the site; leave --site out.')
    try:
        return authority_of(origin)
    except ValueError as error:
        wrong.append(f"The site's origin {origin!r} cannot be used: {error}")
        return ""


def whole_of(text: str, option: str, instead: int, wrong: list[str]) -> int:
    """A whole number; ``instead`` of what is none."""
    number = whole(text)
    if number is None:
        wrong.append(f"{option}: {text!r} is not a whole number.")
        return instead
    return number


def mandate_of(text: str | None, wrong: list[str]) -> Mandate | None:
    """The mandate of ``USD:50.00/200.00``."""
    if text is None:
        return None
    match = _MANDATE.fullmatch(text)
    if match is None:
        wrong.append("--mandate: write currency, most for one payment and most in all like USD:50.00/200.00.")
        return None
    currency, *limits = match.groups()
    amounts = []
    for limit in limits:
        try:
            amounts.append(parse_amount(limit, currency))
        except MoneyError as error:
            wrong.append(f"--mandate: {error.message}")
            if error.extra.get("reason") == "currency":
                break
    return Mandate(currency, *amounts) if len(amounts) == len(limits) else None


def amount_of(text: str | None, currency: str | None, option: str, wrong: list[str]) -> int | None:
    """An amount of a currency, in minor units; None for none."""
    if text is None:
        return None
    if currency is None:
        wrong.append(f"{option} needs --currency.")
        return None
    try:
        return parse_amount(text, currency)
    except MoneyError as error:
        wrong.append(f"{option}: {error.message}")
        return None


def user_of(name: str | None, wrong: list[str]) -> Any:
    """The user of this name."""
    if name is None:
        return None
    model = get_user_model()
    try:
        return model._default_manager.get_by_natural_key(name)
    except model.DoesNotExist:
        wrong.append(f"--user: there is no user {name!r}.")
        return None
