"""Long lists in pages: ``?page=2``."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest


def page_of(request: HttpRequest, rows: QuerySet[Any], size: int) -> Page[Any]:
    """The page that was asked for; the nearest one when there is none of that number."""
    return Paginator(rows, size).get_page(request.GET.get("page"))
