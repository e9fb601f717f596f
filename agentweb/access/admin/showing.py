"""How rows are shown to staff: strangers' texts harmless, keys short, times and amounts in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.contrib.admin import AdminSite
from django.contrib.admin.utils import quote
from django.db.models import Model
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.timezone import is_aware, localtime

from agentweb.wire.money import CURRENCIES, format_amount
from agentweb.wire.visible import visible

_KIND: Final = re.compile(r"[a-z0-9]+[:_]")
_SHORT: Final = 8
NOTHING: Final = SafeString("–")
"""Where a text is empty: a page of a row would write None for None, whatever a list writes."""


def said(text: object) -> SafeString:
    """A text of whatever origin: escaped, odd characters by their code points, its direction its own."""
    return format_html("<bdi>{}</bdi>", visible(str(text)))


def code(text: object) -> SafeString:
    """The same for ids and keys, in full."""
    return format_html('<code class="agentweb-code">{}</code>', visible(str(text)))


def short(ident: str) -> SafeString:
    """An id or a key as its kind and its beginning; the whole in the tooltip. What is shown can be searched for."""
    whole = visible(ident)
    kind = _KIND.match(whole)
    end = (kind.end() if kind else 0) + _SHORT
    if len(whole) <= end:
        return code(whole)
    return format_html('<code class="agentweb-short" title="{}">{}…</code>', whole, whole[:end])


def short_text(text: str) -> SafeString:
    """A code of a list that stays in one line, however long it is."""
    return format_html('<code class="agentweb-short" title="{0}">{0}</code>', visible(text))


def document(value: Any) -> SafeString:
    """A JSON document, laid out."""
    laid_out = json.dumps(value, indent=2, ensure_ascii=False)
    return format_html('<pre class="agentweb-document">{}</pre>', visible(laid_out, lines=True))


def lines(texts: Iterable[object]) -> SafeString:
    """One under the other; each is escaped unless it is safe already."""
    return format_html_join("", "<div>{}</div>", ((text,) for text in texts))


def pair(first: object, second: object) -> SafeString:
    """Two things in one line."""
    return format_html("{} {}", first, second)


def times(stamps: Iterable[tuple[object, datetime | None]]) -> SafeString:
    """Labelled times in the site's time zone and the person's language; those that have not come are left out."""
    return lines(
        pair(date_format(localtime(at) if is_aware(at) else at, "DATETIME_FORMAT"), f"({label})")
        for label, at in stamps
        if at is not None
    )


def amount(minor: int, currency: str) -> str:
    """``12.50 USD``; a currency that is none of ours (an older row's) as plain minor units."""
    if currency not in CURRENCIES or minor < 0:
        return visible(f"{minor} {currency}".strip())
    return f"{format_amount(minor, currency)} {currency}"


def badge(state: str, label: object) -> SafeString:
    """A coloured word; ``state`` is one of the classes of the style sheet: good, bad, over, waiting."""
    return format_html('<span class="agentweb-state agentweb-{}">{}</span>', state, label)


def effect(name: str) -> SafeString:
    """What an action does to the world, as a mark."""
    return format_html('<span class="agentweb-effect agentweb-{}">{}</span>', name, name)


def person(user: Any) -> SafeString:
    """A person by the name that the user model gives, or a dash."""
    return said(user) if user is not None else SafeString("–")


def link(site: AdminSite, model: type[Model] | str, pk: object, text: SafeString) -> SafeString:
    """The text as a link to a row's page in this admin; the bare text when that model is not in it."""
    name = model if isinstance(model, str) else model._meta.model_name
    label = "agentweb" if isinstance(model, str) else model._meta.app_label
    return _linked(site, f"{label}_{name}_change", text, args=[quote(str(pk))])


def list_link(site: AdminSite, model_name: str, text: object, **query: str) -> SafeString:
    """A link to a list of this admin, narrowed by the query; the bare text when it is not in it."""
    return _linked(site, f"agentweb_{model_name}_changelist", said(text), query=query)


def may_view(site: AdminSite, request: HttpRequest, model: type[Model]) -> bool:
    """Is the model in this admin, and may this person look at it there?"""
    registered = site._registry.get(model)
    return registered is not None and registered.has_view_permission(request)


def _linked(
    site: AdminSite, name: str, text: SafeString, *, args: Any = None, query: dict[str, str] | None = None
) -> SafeString:
    try:
        url = reverse(f"admin:{name}", args=args, current_app=site.name)
    except NoReverseMatch:
        return text
    if query:
        url = f"{url}?{urlencode(query)}"
    return format_html('<a href="{}">{}</a>', url, text)
