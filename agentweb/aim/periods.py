"""How often background work should be looked after, unless a site says otherwise."""

from __future__ import annotations

from typing import Final

SWEEP_SECONDS: Final = 5.0
RETENTION_SECONDS: Final = 300.0

LATE_AFTER_PERIODS: Final = 3
"""Of a worker's own period: whoever was not heard for longer is missed."""

LATE_AFTER_SECONDS: Final = 60.0
"""How old an event may get before whoever reads the log has seen it, where it is looked at so often."""
