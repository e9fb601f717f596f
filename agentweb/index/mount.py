"""The paths of the index, as under the site's prefix."""

from __future__ import annotations

from typing import Final

ROOT: Final = "agent-index"
FIND: Final = f"{ROOT}/find"
MANIFESTS: Final = f"{ROOT}/manifests"
