"""``python -m agentweb.client``; see ``command_line``."""

from __future__ import annotations

import sys

from agentweb.client.command_line import main

if __name__ == "__main__":
    sys.exit(main())
