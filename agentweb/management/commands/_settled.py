"""What a sweep of payments brought to an end, for people.

The name begins with an underscore, so that Django does not take the module for a command.
"""

from __future__ import annotations

from collections.abc import Mapping


def in_words(ended: Mapping[str, int]) -> list[str]:
    """``2 payments cancelled``, ``1 refund done`` of ``Swept.ended``."""
    found = []
    for what, count in ended.items():
        kind, _, state = what.partition("_")
        found.append(f"{count} {kind}{'' if count == 1 else 's'} {state.replace('_', ' ')}")
    return found
