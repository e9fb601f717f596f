"""``manage.py issue_grant``: give an agent's key a grant in the site's name."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

from agentweb import conf
from agentweb.access import grants
from agentweb.access.issuing import check_request
from agentweb.management.commands import _scopes_in_use as scopes_in_use
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.management.commands._texts import whole
from agentweb.wire.clock import from_unix
from agentweb.wire.errors import AgentError, InputError, MoneyError
from agentweb.wire.grants import GrantDocument, Mandate, encode_chain
from agentweb.wire.http_signature import authority_of
from agentweb.wire.money import parse_amount

_MANDATE: Final = re.compile(r"([A-Z]{3}):([0-9.]+)/([0-9.]+)")
_OPTION_OF: Final = {"subject": "--agent-key", "scopes": "--scope"}


class Command(MigratedCommand):
    help = "Issue a grant to an agent's public key and print it, with the Agent-Grant header it is sent as."

    def add_arguments(self, parser: CommandParser) -> None:
        # Everything is taken as text and checked below, so that all mistakes are told at once.
        parser.add_argument("--agent-key", default="", help="The agent's public key, ed25519:...")
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
        parser.add_argument(
            "--delegate", default="0", help="How many times the grant may be handed on, 0 to 3."
        )
        parser.add_argument("--one-time", action="store_true", help="The grant is used up by one action.")
        parser.add_argument("--user", default=None, help="User name of the person for whom the agent acts.")
        parser.add_argument("--note", default="", help="A line for people, at most 200 characters.")
        parser.add_argument(
            "--site", default=None, help='host[:port]; only while AGENTWEB["ORIGIN"] is not set, under DEBUG.'
        )
        shown = parser.add_mutually_exclusive_group()
        shown.add_argument("--json", action="store_true", help="Print one JSON object.")
        shown.add_argument(
            "--quiet", action="store_true", help="Print the value of the Agent-Grant header only."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        wrong: list[str] = []
        site = _site(options["site"], wrong)
        wanted: dict[str, Any] = {
            "subject": options["agent_key"],
            "scopes": options["scope"],
            "expires_in": _whole(options["expires_in"], "--expires-in", 1, wrong),
            "mandate": _mandate(options["mandate"], wrong),
            "delegate": _whole(options["delegate"], "--delegate", 0, wrong),
            "one_time": options["one_time"],
            "user": _user(options["user"], wrong),
            "note": options["note"],
        }
        found = check_request(longest=grants.max_life(), **wanted)
        wrong += [f"{_option(entry['field'])}: {entry['message']}" for entry in found]
        hint = ""
        if any(entry["field"].partition(".")[0] == "scopes" for entry in found):
            hint = f"\n{scopes_in_use.sentence()}"
        if wrong:
            raise CommandError("No grant was issued:\n" + "\n".join(f"- {line}" for line in wrong) + hint)
        try:
            chain = grants.issue(site=site, **wanted)
        except InputError as error:
            raise CommandError("\n".join(entry["message"] for entry in error.problems or [])) from None
        except AgentError as error:
            raise CommandError(f"{error.message} (`manage.py agentweb_keys create` makes a key.)") from None
        for line in scopes_in_use.warnings(options["scope"]):
            self.stderr.write(self.style.WARNING(line))
        self._print(chain, as_json=options["json"], is_quiet=options["quiet"])

    def _print(self, chain: tuple[GrantDocument, ...], *, as_json: bool, is_quiet: bool) -> None:
        documents = [grant.document for grant in chain]
        header = encode_chain(documents)
        grant = chain[-1]
        if is_quiet:
            self.stdout.write(header)
            return
        if as_json:
            self.stdout.write(json.dumps({"id": grant.id, "header": header, "chain": documents}))
            return
        self.stdout.write(
            f"Grant {grant.id} for {grant.audience}, until {from_unix(grant.expires):%Y-%m-%d %H:%M} UTC"
        )
        self.stdout.write(json.dumps(grant.document, indent=2, ensure_ascii=False))
        self.stdout.write(f"Agent-Grant: {header}")


def _site(given: str | None, wrong: list[str]) -> str:
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


def _whole(text: str, option: str, instead: int, wrong: list[str]) -> int:
    number = whole(text)
    if number is None:
        wrong.append(f"{option}: {text!r} is not a whole number.")
        return instead
    return number


def _mandate(text: str | None, wrong: list[str]) -> Mandate | None:
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


def _user(name: str | None, wrong: list[str]) -> Any:
    if name is None:
        return None
    model = get_user_model()
    try:
        return model._default_manager.get_by_natural_key(name)
    except model.DoesNotExist:
        wrong.append(f"--user: there is no user {name!r}.")
        return None


def _option(field: str) -> str:
    name = field.partition(".")[0]
    return _OPTION_OF.get(name, f"--{name.replace('_', '-')}")
