"""Looking around: the front page with its search, and the page of a product."""

from __future__ import annotations

from django.db.models import Avg, Count, Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from demo_project.shop import carts
from demo_project.shop.models import MAX_LINE, Category, Product
from demo_project.shop.ownership import Owner
from demo_project.shop.search import search
from demo_project.shop.views.paging import page_of

MAX_QUERY = 100
REVIEWS = 10


@require_safe
def front(request: HttpRequest) -> HttpResponse:
    """All products by category, or with ``?q=`` the ones that match, best first."""
    query = request.GET.get("q", "").strip()[:MAX_QUERY]
    if query:
        return render(request, "shop/found.html", {"query": query, "products": search(query)})
    shelves = Prefetch("products", queryset=Product.objects.order_by("name"), to_attr="shown")
    filled = [category for category in Category.objects.prefetch_related(shelves) if category.shown]
    return render(request, "shop/front.html", {"categories": filled})


@require_safe
def product(request: HttpRequest, slug: str) -> HttpResponse:
    """One product, what people think of it, and how to get it."""
    found = get_object_or_404(Product.objects.select_related("category"), pk=slug)
    user = request.user
    in_cart = carts.held(Owner.at_the_pages(user.pk), slug) if user.is_authenticated else 0
    context = {
        "product": found,
        "in_cart": in_cart,
        "most": max(0, min(MAX_LINE, found.stock) - in_cart),
        "verdict": found.reviews.aggregate(stars=Avg("stars"), count=Count("pk")),
        "reviews": page_of(request, found.reviews.select_related("author"), REVIEWS),
    }
    return render(request, "shop/product.html", context)
