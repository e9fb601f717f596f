"""The pages that search engines find, and from which agents get their Markdown."""

from __future__ import annotations

from typing import Final

from django.contrib.sitemaps import Sitemap
from django.db.models import QuerySet
from django.urls import reverse

from demo_project.shop.models import Product


class ProductSitemap(Sitemap):  # type: ignore[type-arg]  # generic in its hints only
    changefreq = "daily"

    def items(self) -> QuerySet[Product]:
        return Product.objects.order_by("slug")

    def location(self, item: Product) -> str:
        return reverse("product", args=[item.slug])


SITEMAPS: Final = {"products": ProductSitemap}
