"""The control panel, where the staff decide about requests."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from demo_project.shop import staff_requests
from demo_project.shop.forms import DecisionForm
from demo_project.shop.views.paging import page_of
from demo_project.shop.views.saying import one_change

REQUESTS = 20
DECIDED = 10


@require_safe
@never_cache
@login_required
@permission_required(staff_requests.PERMISSION, raise_exception=True)
def panel(request: HttpRequest) -> HttpResponse:
    """What waits, oldest first, and what was decided lately."""
    context = {
        "requests": page_of(request, staff_requests.pending(), REQUESTS),
        "decided": staff_requests.decided()[:DECIDED],
    }
    return render(request, "shop/control_panel.html", context)


@require_POST
@login_required
@permission_required(staff_requests.PERMISSION, raise_exception=True)
def decide(request: HttpRequest) -> HttpResponse:
    """Approve or decline one request."""
    form = DecisionForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose one of the two buttons.")
        return redirect("control-panel")
    ident, decision = form.cleaned_data["request"], form.cleaned_data["decision"]
    with one_change(request):
        work = staff_requests.approve if decision == "approve" else staff_requests.decline
        done = work(ident, by=request.user)
        messages.success(request, f"{done.ident} is {done.status}.")
    return redirect("control-panel")
