"""The processes of the suite ``retention``: ``python -m benchmarks.retaining delete`` and ``write``."""

from __future__ import annotations

from typing import Final

DATABASE: Final = "AGENTWEB_BENCHMARK_DATABASE"
"""Environment: the database of the run, as JSON of Django's settings."""
