"""``manage.py demo``: an agent shops for a person, told and checked; ``--serve`` opens the shop instead."""

from __future__ import annotations

import signal
import sys
import threading
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError


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
            "'staff: USER PASSWORD' once it answers.",
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
        colour = {"color_system": None} if options["no_color"] else {}
        try:
            if options["serve"]:
                performance.serve(Narrator(Console(stderr=True, **colour)), self._opened, **stage)
            else:
                performance.tell(Narrator(Console(**colour)), **stage)
        except performance.FailedError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            sys.exit(0 if options["serve"] else 130)

    def _opened(self, origin: str, user: str, password: str) -> None:
        self.stdout.write(f"ready {origin}")
        self.stdout.write(f"staff: {user} {password}")
        self.stdout.flush()


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) <= 65535:
        raise ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)
