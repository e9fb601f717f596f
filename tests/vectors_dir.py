"""Where the published test vectors are; every suite has its own README with source and licence."""

from pathlib import Path

VECTORS = Path(__file__).parent / "vectors"
