"""Where the room's own URLs are, wherever the site included them."""

from __future__ import annotations

from typing import Final

from django.urls import NoReverseMatch, get_script_prefix, reverse

MANIFEST: Final = ".well-known/agent-actions.json"
OWN_NAME: Final = "agent-actions"
RECEIPTS: Final = f"{OWN_NAME}/receipts"


def mount_prefix() -> str:
    """What stands before our paths: the script prefix, and the path under which the site included us.

    No slash at its end; empty for a site at the root of its host.
    """
    try:
        return reverse("agentweb:receipts").removesuffix(f"/{RECEIPTS}")
    except NoReverseMatch:
        # Only the well-known URLs are included.
        return get_script_prefix().rstrip("/")
