"""``manage.py export_manifests``: every public document as a file, or whether the files are still right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentweb import exports, rooms
from agentweb.management.commands._counting import count_own_texts
from agentweb.management.commands._migrated import MigratedCommand
from agentweb.management.commands._progress import progress
from agentweb.management.commands._script_name import add_script_name, mounted


class Command(MigratedCommand):
    help = "Write every public document to files that are laid out like their URLs, or check such files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--out", required=True, metavar="DIR", help="The folder; it is made when it is missing."
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="Write nothing; exit with 1 and a diff when the files are not what the site serves.",
        )
        add_script_name(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["out"].strip():
            raise CommandError("--out names no folder; write --out . for this one.")
        folder = Path(options["out"])
        try:
            with mounted(options["script_name"]):
                self._run(folder, is_check=options["check"])
        except exports.ExportError as error:
            raise CommandError(str(error)) from None

    def _run(self, folder: Path, *, is_check: bool) -> None:
        if folder.exists() and not folder.is_dir():
            raise CommandError(f"{folder} is not a folder.")
        place = exports.here()
        count_own_texts()
        found = exports.contents(place)
        exported = dict(progress(found, len(rooms.documents()), to=sys.stderr))
        if is_check:
            self._check(folder, exported)
            return
        done = exports.write(folder, exported)
        for verb, names in (
            ("written", done.written),
            ("unchanged", done.unchanged),
            ("removed", done.removed),
        ):
            for name in names:
                self.stdout.write(f"{verb}  {folder / name}")
        for name in done.kept:
            self.stderr.write(
                self.style.WARNING(
                    f"kept  {folder / name}  (no longer served, and edited since it was exported)"
                )
            )

    def _check(self, folder: Path, exported: dict[str, bytes]) -> None:
        drift = exports.compare(folder, exported)
        if not drift:
            is_one = len(exported) == 1
            self.stdout.write(
                f"The one document in {folder} is what the site serves."
                if is_one
                else f"All {len(exported)} documents in {folder} are what the site serves."
            )
            return
        for diff in drift.diffs.values():
            self.stdout.write(diff, ending="")
        for name in drift.missing:
            self.stdout.write(f"missing  {folder / name}")
        for name in drift.extra:
            self.stdout.write(f"extra  {folder / name}")
        raise CommandError(
            f"{folder} is not what the site serves: {len(drift.diffs)} different, {len(drift.missing)} missing, "
            f"{len(drift.extra)} extra. Run export_manifests without --check."
        )
