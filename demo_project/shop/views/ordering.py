"""A person's orders, whoever placed them: the person, or an agent that acts for them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from agentweb.models import Receipt
from demo_project.shop import orders
from demo_project.shop.ownership import Owner
from demo_project.shop.views.paging import page_of
from demo_project.shop.views.saying import one_change

ORDERS = 10


@require_safe
@never_cache
@login_required
def listed(request: HttpRequest) -> HttpResponse:
    """Newest first, each with what the staff said to a request about it."""
    owner = Owner.at_the_pages(request.user.pk)
    page = page_of(request, orders.visible(owner).prefetch_related("requests"), ORDERS)
    signed = set(
        Receipt.objects.filter(pk__in=[order.receipt for order in page]).values_list("pk", flat=True)
    )
    for order in page:
        order.has_signed_receipt = order.receipt in signed
        order.is_by_agent = order.subject != owner.subject
    return render(request, "shop/orders.html", {"orders": page})


@require_POST
@login_required
def cancel(request: HttpRequest, order_id: str) -> HttpResponse:
    """Cancel an order that is still in the shop; again is the same as once."""
    with one_change(request):
        orders.cancel(Owner.at_the_pages(request.user.pk), order_id)
        messages.success(request, f"Order {order_id} is cancelled. You will get your money back.")
    return redirect("orders")


@require_safe
@never_cache
@login_required
def receipt(request: HttpRequest, order_id: str) -> HttpResponse:
    """The signed receipt of an order that an agent paid for, as the site signed it."""
    found = orders.visible(Owner.at_the_pages(request.user.pk)).filter(pk=order_id).first()
    if found is None:
        raise Http404
    document = Receipt.objects.filter(pk=found.receipt).values_list("document", flat=True).first()
    if not document:
        raise Http404
    return HttpResponse(
        document,
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{found.receipt}.json"'},
    )
