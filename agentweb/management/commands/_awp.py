"""What the commands of AWP share: a site that has the room off is told so, and not measured as if it failed.

The name begins with an underscore, so that Django does not take the module for a command.
"""

from __future__ import annotations

from django.core.management.base import CommandError

from agentweb import rooms


def require_awp(returncode: int = 1) -> None:
    """Return where this site serves AWP; else CommandError."""
    if "awp" not in rooms.switched_on():
        raise CommandError(
            "AWP is off on this site: AGENTWEB['ROOMS'] does not name 'awp'. Name it there, or leave ROOMS out.",
            returncode=returncode,
        )
