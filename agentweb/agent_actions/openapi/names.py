"""What an operation is called as an action, and words that say that it may matter more than its method tells."""

from __future__ import annotations

import re
from typing import Final

_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER: Final = re.compile(r"[^a-z0-9]+")
_RISKY: Final = {
    "spend": frozenset(
        str.split("pay payment payments checkout charge charges purchase purchases buy order orders subscribe donate "
                  "transfer transfers payout payouts withdraw book booking bookings")
    ),
    "send": frozenset(
        str.split("message messages invite invites invitation invitations send email emails mail sms notify "
                  "notification notifications share publish post posts comment comments tweet reply")
    ),
}  # fmt: skip
MAX_NAME: Final = 100


def action_name(text: str) -> str:
    """``listPets`` as ``list_pets``; empty when nothing of it can be in a name."""
    name = _OTHER.sub("_", _CASE.sub("_", text).lower()).strip("_")
    return f"op_{name}" if name[:1].isdigit() else name


def path_name(method: str, path: str) -> str:
    """``GET /pets/{id}`` as ``get_pets_id``."""
    return action_name(f"{method} {path}")


def risky_words(*texts: str) -> dict[str, list[str]]:
    """The words of the texts that speak of an effect that is never guessed: ``{"spend": ["checkout"]}``."""
    words = {word for text in texts for word in action_name(text).split("_")}
    return {effect: sorted(words & risky) for effect, risky in _RISKY.items() if words & risky}
