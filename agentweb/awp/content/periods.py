"""How often the content is looked at by itself, and how long runs are remembered."""

from __future__ import annotations

from typing import Final

CONTENT_SECONDS: Final = 3_600.0
"""From run to run, of Celery's schedule."""
RUN_DAYS: Final = 30
"""For how long it can be read what a run found."""
