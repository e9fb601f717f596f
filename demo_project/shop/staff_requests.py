"""Requests that the staff decide: paying the money of a cancelled order back, and sending a large order off.

Whoever decides, on the control panel or by an agent, does it here; a conditional update lets one decision win.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

from django.db.models import QuerySet
from django.utils import timezone

from agentweb import AgentError
from demo_project.shop import shapes
from demo_project.shop.models import Currency, Order, StaffRequest
from demo_project.shop.shapes import RequestContent, RequestKind, RequestStatus

PERMISSION: Final = "shop.decide_request"
LARGE: Final[dict[str, int]] = {Currency.USD: 25_000, Currency.JPY: 40_000}
"""From this total on, in minor units, a member of the staff looks at an order before it is sent off."""

_IDENT: Final = re.compile(r"req-([1-9][0-9]{0,17})", re.ASCII)


def may_decide(user: Any) -> bool:
    """Whether the control panel is for this user, or for an agent that acts for them."""
    return bool(user.has_perm(PERMISSION))


def ask_if_large(order: Order) -> None:
    """Have the staff look at a new order that is unusually large."""
    if order.total >= LARGE[order.currency]:
        _ask(order, StaffRequest.Kind.LARGE_PURCHASE)


def ask_refund(order: Order) -> None:
    """Have the staff pay a cancelled order back; nobody needs to look at its size any more."""
    order.requests.filter(status=StaffRequest.Status.PENDING).update(status=StaffRequest.Status.WITHDRAWN)
    _ask(order, StaffRequest.Kind.REFUND)


def pending() -> QuerySet[StaffRequest]:
    """What waits for a decision, oldest first, each with its order and customer."""
    return _all().filter(status=StaffRequest.Status.PENDING)


def decided() -> QuerySet[StaffRequest]:
    """What was decided, newest decision first."""
    return _all().exclude(decided_at=None).order_by("-decided_at", "-id")


def approve(ident: str, *, by: Any) -> StaffRequest:
    """Approve one pending request. Raises request_not_found and request_decided."""
    return _decide(ident, StaffRequest.Status.APPROVED, by)


def decline(ident: str, *, by: Any) -> StaffRequest:
    """Decline one pending request. Raises request_not_found and request_decided."""
    return _decide(ident, StaffRequest.Status.DECLINED, by)


def describe(request: StaffRequest) -> RequestContent:
    """The request as agents read it; ``amount`` is in minor units."""
    return {
        "id": request.ident,
        "amount": request.amount,
        "status": cast(RequestStatus, request.status),
        "currency": cast(shapes.Currency, request.order.currency),
        "kind": cast(RequestKind, request.kind),
        "order": request.order_id,
        "customer": request.order.user.get_username() if request.order.user else None,
    }


def _all() -> QuerySet[StaffRequest]:
    return StaffRequest.objects.select_related("order__user", "decided_by")


def _ask(order: Order, kind: str) -> None:
    StaffRequest.objects.create(order=order, kind=kind, amount=order.total, asked_at=timezone.now())


def _decide(ident: str, status: str, by: Any) -> StaffRequest:
    number = _IDENT.fullmatch(ident)
    # No row has the key 0.
    pk = int(number[1]) if number else 0
    is_decided_now = StaffRequest.objects.filter(pk=pk, status=StaffRequest.Status.PENDING).update(
        status=status, decided_by=by, decided_at=timezone.now()
    )
    request = _all().filter(pk=pk).first()
    if request is None:
        raise AgentError(
            "request_not_found",
            "There is no request with this id. Give the id alone, as the control panel shows it, such as req-3.",
            status=404,
            field="request_id",
        )
    if not is_decided_now:
        raise AgentError(
            "request_decided",
            f"{request.ident} has been {request.status} already. Nothing was changed.",
            field="request_id",
            request_status=request.status,
        )
    return request
