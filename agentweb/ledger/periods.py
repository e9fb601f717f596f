"""How often payments should be looked after, unless a site says otherwise."""

from __future__ import annotations

from typing import Final

PAYMENTS_SECONDS: Final = 30.0
