"""``{% load agentweb %}``: tags for the ``<head>`` of pages that agents may read, and that they may use while open."""

from __future__ import annotations

from typing import Any

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agentweb.aip.bridge.script import connection
from agentweb.aip.discovery import alternates, linked_page

register = template.Library()


@register.simple_tag(takes_context=True)
def agent_links(context: dict[str, Any]) -> SafeString:
    """``<link rel="alternate">`` to the manifest of the page that is rendered, in each form; nothing elsewhere.

    It needs ``request`` in the context.
    """
    request = context.get("request")
    page = None if request is None else linked_page(request.path_info)
    if page is None:
        return SafeString("")
    return format_html_join(
        "\n",
        '<link rel="alternate" type="{1}" href="{0}">',
        alternates(page),
    )


@register.simple_tag(takes_context=True)
def agent_bridge(context: dict[str, Any]) -> SafeString:
    """The ``<script defer>`` that lets agents see and use the page while it is open; to stand before the page's own.

    It connects for a logged-in person on a page for agents. Everywhere else ``agentweb.publish`` and
    ``agentweb.offer`` are there and do nothing. It needs ``request`` in the context, and has the CSP nonce of the site
    (``csp_nonce``) where the context has one.
    """
    request = context.get("request")
    attributes = {"src": static("agentweb/bridge.js")}
    if request is not None:
        attributes |= connection(request)
    nonce = context.get("csp_nonce")
    if nonce is not None:
        attributes["nonce"] = str(nonce)
    return format_html("<script{} defer></script>", format_html_join("", ' {}="{}"', attributes.items()))
