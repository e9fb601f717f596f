"""``{% load agentweb %}``: the tag ``{% agent_links %}``, for the ``<head>`` of pages that agents may read."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

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
