"""``{% load agentweb_bridge %}{% agentweb_bridge %}``: the script that lets agents see and use a page that is open."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings
from django.middleware.csrf import get_token
from django.template.context import Context
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agentweb.aip.addresses import below_mount
from agentweb.catalog.page_paths import canonical
from agentweb.catalog.pages import page_at
from agentweb.people.logins import person_of

register = template.Library()


@register.simple_tag(takes_context=True)
def agentweb_bridge(context: Context) -> SafeString:
    """A ``<script defer>``, to stand before the page's own. It connects for a logged-in person on a page that is
    published to agents; everywhere else ``agentweb.publish`` and ``agentweb.offer`` are there and do nothing.

    It has the CSP nonce of the request where the site has one (``csp_nonce``, by Django's context processor).
    """
    attributes = {"src": static("agentweb/bridge.js"), **_connection(context.get("request"))}
    nonce = context.get("csp_nonce")
    if nonce is not None:
        attributes["nonce"] = str(nonce)
    return format_html("<script{} defer></script>", format_html_join("", ' {}="{}"', attributes.items()))


def _connection(request: Any) -> dict[str, str]:
    person = None if request is None else person_of(request)
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
