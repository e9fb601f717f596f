"""Which of Django's commands this process runs, for what may start with a dangerous declaration.

A dangerous declaration is never published, whatever runs. But a site without it is not what its author meant either,
so nothing that serves or calls actions starts with one: servers, shells, tests, tasks. The commands below do neither.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

LOOKING: Final = frozenset({"agentweb_actions", "agentweb_doctor", "check", "help", "version"})
"""Commands that show what is wrong."""
MIGRATING: Final = frozenset({"makemigrations", "migrate", "showmigrations", "sqlmigrate"})
"""Commands that look at models and tables only. Dangerous settings stop them: they may change what tables hold."""

_ENTRANCES: Final = frozenset({"django-admin", "django-admin.py", "manage.py"})
_WITH_VALUE: Final = frozenset({"--pythonpath", "--settings"})


def command(arguments: Sequence[str] | None = None) -> str | None:
    """The command of ``manage.py``, ``django-admin`` or ``python -m django``; None for every other program."""
    program, *rest = sys.argv if arguments is None else arguments
    folder, name = os.path.split(program)
    if name not in _ENTRANCES and not (name == "__main__.py" and os.path.basename(folder) == "django"):
        return None
    is_value = False
    for argument in rest:
        if is_value:
            is_value = False
        elif argument in {"-h", "--help"}:
            return "help"
        elif argument == "--version":
            return "version"
        elif not argument.startswith("-"):
            return argument
        else:
            is_value = argument in _WITH_VALUE
    return "help" if not rest else None
