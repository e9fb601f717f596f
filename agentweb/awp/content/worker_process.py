"""What a worker process does. It imports nothing of Django's before that is set up, for it may be a fresh process."""

from __future__ import annotations

import os
import pickle
import signal
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final

_ORPHAN_SECONDS: Final = 2.0


def work(line: Connection, others: list[Connection], parent: int, prefix: str, maker: bytes) -> None:
    """Look at each page that comes along ``line``, and answer what became of it, until the parent is gone.

    ``others`` are lines of the parent's that a forked process has too, ``prefix`` is where the site is mounted.
    """
    # Ctrl-C reaches the whole group of processes; the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for each in others:
        each.close()
    with suppress(EOFError, OSError):
        look: Any = _set_up(prefix, maker).make
        while True:
            while not line.poll(_ORPHAN_SECONDS):
                if os.getppid() != parent:
                    return
            line.send(look(line.recv()))


def _set_up(prefix: str, maker: bytes) -> Any:
    import django  # noqa: PLC0415 - see the module
    from django.apps import apps  # noqa: PLC0415
    from django.urls import set_script_prefix  # noqa: PLC0415

    if not apps.ready:
        django.setup()
    set_script_prefix(prefix)
    return pickle.loads(maker)  # noqa: S301 - from the process that started this one
