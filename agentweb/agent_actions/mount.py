"""Where the room's own URLs are, wherever the site included them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from django.conf import settings
from django.urls import NoReverseMatch, get_script_prefix, get_urlconf, reverse

MANIFEST: Final = ".well-known/agent-actions.json"
OWN_NAME: Final = "agent-actions"
RECEIPTS: Final = f"{OWN_NAME}/receipts"


def mount_prefix() -> str:
    """What stands before our paths: the script prefix, and the path under which the site included us.

    No slash at its end; empty for a site at the root of its host.
    """
    return _prefix(get_script_prefix(), get_urlconf() or settings.ROOT_URLCONF)


@lru_cache(maxsize=64)
def _prefix(script_prefix: str, urlconf: Any) -> str:
    try:
        return reverse("agentweb:receipts", urlconf=urlconf).removesuffix(f"/{RECEIPTS}")
    except NoReverseMatch:
        # Only the well-known URLs are included.
        return script_prefix.rstrip("/")
