"""What every page of the shop shows in its head."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from demo_project.shop import carts, staff_requests
from demo_project.shop.ownership import Owner


def head(request: HttpRequest) -> dict[str, Any]:
    """``here`` is the name of the page; ``in_cart_count`` how many things are in the person's carts; ``decides``
    whether the control panel is theirs. The last two cost queries, and only on a page that shows them."""
    return {
        "here": request.resolver_match.url_name if request.resolver_match else None,
        "in_cart_count": SimpleLazyObject(lambda: _count(request)),
        "decides": SimpleLazyObject(lambda: _decides(request)),
    }


def _count(request: HttpRequest) -> int:
    user = getattr(request, "user", None)
    return carts.count(Owner.at_the_pages(user.pk)) if user is not None and user.is_authenticated else 0


def _decides(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)
    return user is not None and user.is_staff and staff_requests.may_decide(user)
