"""``manage.py demo``: an agent shops for a person, told and checked; ``--serve`` opens the shop instead."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from demo_project.shop.payments import NO_MONEY
from demo_project.staging import CUSTOMERS, STAFF

if TYPE_CHECKING:
    from demo_project.performance import Opened

_MANAGE: Final = Path(__file__).resolve().parents[4] / "manage.py"


class Command(BaseCommand):
    help = (
        "Opens the demo shop and plays an agent that buys something in it, over real HTTP. "
        "Ends with 0 only if every step went as it should."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--serve",
            action="store_true",
            help="Tell no story: keep the site up until it is interrupted. Prints 'ready URL' and "
            "'staff: USER PASSWORD' once it answers, then where to look and how to let an agent in.",
        )
        parser.add_argument(
            "--port", type=_port, default=0, help="Port on 127.0.0.1; any free one by default."
        )
        parser.add_argument(
            "--database", type=Path, help="SQLite file to use; demo_project/demo.sqlite3 by default."
        )
        parser.add_argument("--fresh", action="store_true", help="Start with an empty database.")

    def handle(self, **options: Any) -> None:
        try:
            # Here, so that the shop's other commands run without the client's packages.
            from rich.console import Console  # noqa: PLC0415

            from demo_project import performance  # noqa: PLC0415
            from demo_project.story.narrator import Narrator  # noqa: PLC0415
        except ModuleNotFoundError as missing:
            raise CommandError(
                f"The demo needs the package {missing.name}: pip install 'agentweb-django[client,server]'"
            ) from missing
        if threading.current_thread() is threading.main_thread():
            # Leave by the way of every exit, so that the site is stopped too.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0 if options["serve"] else 143))
        stage = {name: options[name] for name in ("database", "fresh", "port")}
        colour: dict[str, Any] = {"color_system": None} if options["no_color"] else {}
        try:
            if options["serve"]:
                performance.serve(Narrator(Console(stderr=True, **colour)), self._opened, **stage)
            else:
                performance.tell(Narrator(Console(**colour)), **stage)
        except performance.FailedError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            sys.exit(0 if options["serve"] else 130)

    def _opened(self, shop: Opened) -> None:
        # Two lines that programs read, then those for people.
        self.stdout.write(f"ready {shop.origin}")
        self.stdout.write(f"staff: {STAFF} {shop.passwords[STAFF]}")
        self.stdout.write(f"front page: {shop.origin}/")
        self.stdout.write(f"admin, for the staff login: {shop.origin}/admin/")
        self.stdout.write(f"manifest: {shop.origin}/.well-known/agent-actions.json")
        self.stdout.write(f"let an agent in: {_issue_grant(shop)}")
        self.stdout.write(f"control panel, for the staff login: {shop.origin}/control-panel")
        for name in CUSTOMERS:
            self.stdout.write(f"customer: {name} {shop.passwords[name]}")
        self.stdout.write(f"let an agent ask for a grant, which a customer decides: {_request_grant(shop)}")
        self.stdout.write(NO_MONEY)
        self.stdout.flush()


def _issue_grant(shop: Opened) -> str:
    """The command line that gives an agent what it needs to buy for a customer, for a shell in this very folder."""
    python = shlex.join([_from_here(sys.executable)])
    needs = {}
    if shop.database is None:
        needs["AGENTWEB_DEMO_ORIGIN"] = shop.origin
    elif shop.database != Path(settings.BASE_DIR, "demo.sqlite3"):
        needs["AGENTWEB_DEMO_DATABASE"] = _from_here(str(shop.database))
    words = [
        *(f"{name}={shlex.quote(value)}" for name, value in needs.items()),
        f"{python} {shlex.quote(_from_here(str(_MANAGE)))} issue_grant",
        f'--agent-key "$({python} -m agentweb.client key)"',
        *("--scope 'cart:*'", "--scope checkout", "--mandate USD:50.00/200.00", f"--user {CUSTOMERS[0]}"),
        f"--quiet | {python} -m agentweb.client add-grant -",
    ]
    return " ".join(words)


def _request_grant(shop: Opened) -> str:
    """The command line with which an agent asks, and waits until the person has decided in their browser."""
    python = shlex.join([_from_here(sys.executable)])
    wanted = "--scope 'cart:*' --scope checkout --mandate USD:50.00/200.00 --reason 'To shop for you.' --wait"
    return f"{python} -m agentweb.client request-grant {shop.origin} {wanted}"


def _from_here(path: str) -> str:
    """A path as it is written shortest in the current folder."""
    absolute = Path(path).absolute()
    here = Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else path


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) <= 65535:
        raise ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)
