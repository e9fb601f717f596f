"""The background worker of a run, ``agentweb_worker`` with a receiver: ``python -m tests.e2e.crash.worker JOURNAL``.

The receiver writes down every message that it is told of. A message may be told twice, and never not at all.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.e2e.crash import planted
from tests.e2e.crash.journal import Journal


def main(path: str) -> None:
    import django

    django.setup()
    planted.plant()
    from django.core.management import call_command

    from agentweb.signals import message_accepted

    journal = Journal(Path(path))

    def write_down(**told: Any) -> None:
        journal.write({"from": told["sender"].partition("@")[0], "id": told["message_id"]})

    message_accepted.connect(write_down)
    call_command("agentweb_worker", "--every", "1")


if __name__ == "__main__":
    main(sys.argv[1])
