"""What the commands share that look at the site's own documents: the texts of which these are made are counted first.

The name begins with an underscore, so that Django does not take the module for a command.
"""

from __future__ import annotations

from contextlib import suppress

from django.db import DatabaseError

from agentweb import rooms
from agentweb.awp.publishing import counting


def count_own_texts() -> None:
    """Have the documents of AWP be what the tokenizer fits. A database that keeps no counts, or an origin that is none,
    is for the command itself to tell of; the documents are then fitted by bounds."""
    if "awp" in rooms.switched_on():
        with suppress(DatabaseError, ValueError):
            counting.count_texts()
