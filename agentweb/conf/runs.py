"""What kind of run this process is."""

from __future__ import annotations

import sys


def is_test() -> bool:
    """Is this process between Django's ``setup_test_environment`` and its end, as under every test runner?

    DEBUG is off there whatever the settings say. The state is where Django itself looks, so no name of a command or a
    database is guessed from. Not imported: a process that tests nothing has no need of ``django.test``.
    """
    state = getattr(sys.modules.get("django.test.utils"), "_TestState", None)
    return hasattr(state, "saved_data")
