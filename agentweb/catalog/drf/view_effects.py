"""The effect of an endpoint by its HTTP method, and names that say more than the method does.

That something is sent or paid is never guessed: an agent may do it without asking, or be kept from it, by a word in
a name. So the author is asked.
"""

from __future__ import annotations

from typing import Final

from agentweb.catalog.drf.view_endpoints import Endpoint
from agentweb.catalog.effects import Effect

_BY_METHOD: Final = {"get": Effect.READ, "delete": Effect.DELETE}
_SOUNDS: Final = {
    **dict.fromkeys(
        ("buy", "charge", "checkout", "donate", "pay", "payment", "purchase", "transfer"), Effect.SPEND
    ),
    **dict.fromkeys(
        (
            "announce",
            "broadcast",
            "email",
            "invite",
            "mail",
            "message",
            "notify",
            "publish",
            "send",
            "share",
            "sms",
        ),
        Effect.SEND,
    ),
}


def effect_by_method(endpoint: Endpoint) -> Effect:
    """GET is a read, DELETE a delete, everything else a write."""
    return _BY_METHOD.get(endpoint.method, Effect.WRITE)


def sounds_like(endpoint: Endpoint, name: str) -> Effect | None:
    """What a POST of this name may do beyond writing: ``orders_pay`` may spend, ``messages_create`` may send."""
    if endpoint.method != "post":
        return None
    words = (word.removesuffix("s") for word in name.lower().split("_"))
    return next((_SOUNDS[word] for word in words if word in _SOUNDS), None)
