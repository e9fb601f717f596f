"""``manage.py issue_grant``: give an agent's key a grant in the site's name."""

from __future__ import annotations

import json
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from agentweb.access import grants
from agentweb.access.issuing import check_request
from agentweb.management.commands import _options as options
from agentweb.management.commands import _scopes_in_use as scopes_in_use
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.wire.clock import from_unix
from agentweb.wire.errors import AgentError, InputError
from agentweb.wire.grants import GrantDocument, encode_chain

_OPTION_OF: Final = {"subject": "--agent-key", "scopes": "--scope"}


class Command(MigratedCommand):
    help = "Issue a grant to an agent's public key and print it, with the Agent-Grant header it is sent as."

    def add_arguments(self, parser: CommandParser) -> None:
        # Everything is taken as text and checked below, so that all mistakes are told at once.
        parser.add_argument("--agent-key", default="", help="The agent's public key, ed25519:...")
        options.add_authority(parser)
        parser.add_argument(
            "--delegate", default="0", help="How many times the grant may be handed on, 0 to 3."
        )
        shown = parser.add_mutually_exclusive_group()
        shown.add_argument("--json", action="store_true", help="Print one JSON object.")
        shown.add_argument(
            "--quiet", action="store_true", help="Print the value of the Agent-Grant header only."
        )

    def handle(self, *args: Any, **given: Any) -> None:
        wrong: list[str] = []
        site = options.site_of(given["site"], wrong)
        wanted: dict[str, Any] = {
            "subject": given["agent_key"],
            "scopes": given["scope"],
            "expires_in": options.whole_of(given["expires_in"], "--expires-in", 1, wrong),
            "mandate": options.mandate_of(given["mandate"], wrong),
            "delegate": options.whole_of(given["delegate"], "--delegate", 0, wrong),
            "one_time": given["one_time"],
            "user": options.user_of(given["user"], wrong),
            "note": given["note"],
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
        for line in scopes_in_use.warnings(given["scope"]):
            self.stderr.write(self.style.WARNING(line))
        self._print(chain, as_json=given["json"], is_quiet=given["quiet"])

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


def _option(field: str) -> str:
    name = field.partition(".")[0]
    return _OPTION_OF.get(name, f"--{name.replace('_', '-')}")
