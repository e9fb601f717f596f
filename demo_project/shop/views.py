"""The page for people: what the shop sells."""

from __future__ import annotations

from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from demo_project.shop.models import Category, Product
from demo_project.shop.search import search

MAX_QUERY = 100


@require_safe
def front(request: HttpRequest) -> HttpResponse:
    """All products by category, or with ``?q=`` the ones that match."""
    query = request.GET.get("q", "").strip()[:MAX_QUERY]
    shown = Product.objects.order_by("name")
    if query:
        shown = shown.filter(pk__in=[product.pk for product in search(query)])
    categories = Category.objects.prefetch_related(Prefetch("products", queryset=shown, to_attr="shown"))
    filled = [category for category in categories if category.shown]
    found = sum(len(category.shown) for category in filled)
    return render(request, "shop/front.html", {"categories": filled, "query": query, "found": found})
