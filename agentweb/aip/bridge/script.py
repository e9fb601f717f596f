"""What ``bridge.js`` is told by the page that loads it."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.urls import reverse

from agentweb.catalog.page_paths import canonical
from agentweb.catalog.pages import page_at
from agentweb.http.page_urls import below_mount
from agentweb.people.logins import person_of


def connection(request: HttpRequest) -> dict[str, str]:
    """The attributes by which the script connects, for a logged-in person on a page for agents; else none."""
    person = person_of(request)
    path = None if person is None else below_mount(request.path_info)
    found = None if path is None else page_at(path)
    if path is None or found is None or not found[0].is_visible_to(person, found[1]):
        return {}
    return {
        "data-url": reverse("agentweb:bridge"),
        "data-page": canonical(path),
        "data-csrf-header": settings.CSRF_HEADER_NAME.removeprefix("HTTP_").replace("_", "-"),
        "data-csrf-token": get_token(request),
    }
