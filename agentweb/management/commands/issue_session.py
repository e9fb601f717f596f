"""``manage.py issue_session``: a bearer token for a program that cannot sign; it is shown once."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentweb.access import grants, sessions
from agentweb.access.issuing import check_request
from agentweb.management.commands import _options as options
from agentweb.management.commands import _scopes_in_use as scopes_in_use
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.wire.errors import AgentError, InputError


class Command(MigratedCommand):
    help = (
        "Begin a session and print its token, once: whoever shows it acts under the session's grant. Give a grant "
        "to a key (issue_grant) wherever the program can sign."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        # Everything is taken as text and checked below, so that all mistakes are told at once.
        options.add_authority(parser)
        parser.add_argument(
            "--client-name", default="", help="What people call the program, at most 100 characters."
        )
        shown = parser.add_mutually_exclusive_group()
        shown.add_argument("--json", action="store_true", help="Print one JSON object.")
        shown.add_argument("--quiet", action="store_true", help="Print the token only.")

    def handle(self, *args: Any, **given: Any) -> None:
        wrong: list[str] = []
        site = options.site_of(given["site"], wrong)
        wanted: dict[str, Any] = {
            "scopes": given["scope"],
            "expires_in": options.whole_of(given["expires_in"], "--expires-in", 1, wrong),
            "mandate": options.mandate_of(given["mandate"], wrong),
            "one_time": given["one_time"],
            "user": options.user_of(given["user"], wrong),
            "note": given["note"],
        }
        found = check_request(subject="session:new", delegate=0, longest=grants.max_life(), **wanted)
        found += sessions.check_client_name(given["client_name"])
        wrong += [f"{_option(entry['field'])}: {entry['message']}" for entry in found]
        hint = ""
        if any(entry["field"].partition(".")[0] == "scopes" for entry in found):
            hint = f"\n{scopes_in_use.sentence()}"
        if wrong:
            raise CommandError("No session was begun:\n" + "\n".join(f"- {line}" for line in wrong) + hint)
        try:
            session, token = sessions.create(site=site, client_name=given["client_name"], **wanted)
        except InputError as error:
            raise CommandError("\n".join(entry["message"] for entry in error.problems or [])) from None
        except AgentError as error:
            raise CommandError(f"{error.message} (`manage.py agentweb_keys create` makes a key.)") from None
        for line in scopes_in_use.warnings(given["scope"]):
            self.stderr.write(self.style.WARNING(line))
        if given["quiet"]:
            self.stdout.write(token)
        elif given["json"]:
            self.stdout.write(json.dumps({"session": session.pk, "grant": session.grant_id, "token": token}))
        else:
            self.stdout.write(
                f"Session {session.pk} at {site}, until {session.expires_at:%Y-%m-%d %H:%M} UTC"
            )
            self.stdout.write(f"Authorization: Bearer {token}")
            self.stdout.write(
                "The token is shown here only. Who has it may do what it allows: keep it secret."
            )


def _option(field: str) -> str:
    name = {"scopes": "scope"}.get(field.partition(".")[0], field.partition(".")[0])
    return f"--{name.replace('_', '-')}"
