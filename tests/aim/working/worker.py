"""``python -m tests.aim.working.worker ...``: ``manage.py agentweb_worker`` of a site with a receiver."""

from __future__ import annotations

import sys

import django
from django.core.management import call_command

if __name__ == "__main__":
    django.setup()
    from tests.aim.working import recording

    recording.connect()
    recording.wake_up_through_redis()
    call_command("agentweb_worker", *sys.argv[1:])
