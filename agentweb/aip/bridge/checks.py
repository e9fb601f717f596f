"""System check W074: where a page has browser actions, a browser can be known by its login."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning

from agentweb.catalog.registry import registry
from agentweb.people.checks import logs_in


def check_logins(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W074, for the first page that it concerns."""
    pages = [page for page in registry.pages() if page.browser_actions]
    if not pages or any(map(logs_in, settings.MIDDLEWARE)):
        return []
    return [
        Warning(
            f"The page {pages[0].path} has browser actions, and no middleware knows who is logged in: no browser can "
            "be asked.",
            hint="Add SessionMiddleware and AuthenticationMiddleware of django.contrib to MIDDLEWARE.",
            obj=pages[0].where,
            id="agentweb.W074",
        )
    ]
