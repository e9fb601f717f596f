"""The cart of a person: putting in, changing, paying. Every change is a POST that leads on to a page."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from demo_project.shop import carts, orders, slips
from demo_project.shop.forms import LineForm, OrderForm
from demo_project.shop.models import MAX_LINE, Currency
from demo_project.shop.ownership import Owner
from demo_project.shop.pricing import price_text
from demo_project.shop.views.saying import one_change

_PRICED_IN: Final[dict[str, str]] = {Currency.USD: "US dollars", Currency.JPY: "Japanese yen"}
BAD_QUANTITY: Final = f"Choose a whole number from 1 to {MAX_LINE}."


@require_safe
@never_cache
@login_required
def cart(request: HttpRequest) -> HttpResponse:
    """What the person, and an agent at their side, put into the cart; one for each currency."""
    shown = []
    for each in carts.open_carts(Owner.at_the_pages(request.user.pk)):
        lines = carts.lines_of(each)
        total = sum(line.quantity * line.product.price for line in lines)
        shown.append(
            {
                "cart": each,
                "priced_in": _PRICED_IN[each.currency],
                "lines": [
                    {
                        "product": line.product,
                        "quantity": line.quantity,
                        "together": price_text(line.quantity * line.product.price, each.currency),
                        "is_short": line.quantity > line.product.stock,
                    }
                    for line in lines
                ],
                "total": carts.describe(each)["total"],
                "total_text": price_text(total, each.currency),
            }
        )
    return render(request, "shop/cart.html", {"carts": shown, "most": MAX_LINE})


@require_POST
def add(request: HttpRequest) -> HttpResponse:
    """Put some of a product into the cart."""
    form = LineForm(request.POST)
    if not request.user.is_authenticated:
        slug = form["product"].data if form.is_valid() else ""
        return redirect_to_login(reverse("product", args=[slug]) if slug else reverse("front"))
    if not form.is_valid() or not form.cleaned_data["quantity"]:
        messages.error(request, BAD_QUANTITY)
        return redirect("product", slug) if (slug := _slug_of(form)) else redirect("front")
    slug, quantity = form.cleaned_data["product"], form.cleaned_data["quantity"]
    with one_change(request):
        carts.add(Owner.at_the_pages(request.user.pk), slug, quantity)
        messages.success(request, "It is in your cart.")
        return redirect("cart")
    return redirect("product", slug)


@require_POST
@login_required
def change(request: HttpRequest) -> HttpResponse:
    """Set how many of a product the cart holds; 0 takes it out."""
    form = LineForm(request.POST)
    if not form.is_valid():
        messages.error(request, BAD_QUANTITY)
        return redirect("cart")
    slug, quantity = form.cleaned_data["product"], form.cleaned_data["quantity"]
    with one_change(request):
        carts.change(Owner.at_the_pages(request.user.pk), slug, quantity)
        messages.success(request, "Changed." if quantity else "Taken out.")
    return redirect("cart")


@require_POST
@login_required
def order(request: HttpRequest) -> HttpResponse:
    """Order a cart and pay for it, at no more than the total that stood on the page."""
    form = OrderForm(request.POST)
    if not form.is_valid():
        messages.error(request, "That was not a complete order. Please try again.")
        return redirect("cart")
    given = form.cleaned_data
    with one_change(request):
        placed = orders.place(
            Owner.at_the_pages(request.user.pk), given["cart"], given["price"], given["currency"], slips.pay
        )
        messages.success(request, f"Thank you! Your order {placed.pk} is placed and paid.")
        return redirect("orders")
    return redirect("cart")


def _slug_of(form: LineForm) -> str:
    slug: str = form.cleaned_data.get("product", "")
    return slug
