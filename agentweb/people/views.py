"""The pages of a person who decides about calls of agents. They work without JavaScript, in no frame and no cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    UnreadablePostError,
)
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from agentweb.access import approvals
from agentweb.people.logins import person_of
from agentweb.people.showing import show

MAX_LISTED: Final = 100

HEADERS: Final = {
    "Cache-Control": "no-store",
    # Or a page of somebody else's could have its visitors click "Approve" without their knowing.
    "X-Frame-Options": "DENY",
    # Not "no-referrer": Django's CSRF check needs to know that a form came from this site.
    "Referrer-Policy": "same-origin",
}


def with_a_form_that_can_be_read(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Answer 400 (413 for too much) to a body that is no form.

    Django's own page for these looks for the CSRF token in the form once more, and so fails as well. Its middleware
    would meet them before anybody else; therefore it leaves the view alone, and the view's own check stands inside.
    """

    @wraps(view)
    def reading(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            _ = request.POST
        except RequestDataTooBig:
            return HttpResponse(
                "The form is too large.", status=413, content_type="text/plain", headers=HEADERS
            )
        except (BadRequest, MultiPartParserError, SuspiciousOperation, UnreadablePostError):
            return HttpResponse(
                "The form cannot be read.", status=400, content_type="text/plain", headers=HEADERS
            )
        return view(request, *args, **kwargs)

    return csrf_exempt(reading)


# The check of CSRF holds also on a site without the middleware, and comes after the form was found to be one.
@method_decorator([with_a_form_that_can_be_read, csrf_protect], name="dispatch")
class PersonView(View):
    """A page for a logged-in person, who is ``self.person``; everyone else is sent to LOGIN_URL."""

    person: Any

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.person = person_of(request)
        response: HttpResponseBase
        if self.person is None:
            response = redirect_to_login(request.get_full_path())
        else:
            response = super().dispatch(request, *args, **kwargs)
        for name, value in HEADERS.items():
            response[name] = value
        return response


def see_other(address: str) -> HttpResponse:
    """Look there, with GET (RFC 9110 15.4.4)."""
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response


class ApprovalsView(PersonView):
    """What waits for this person."""

    def get(self, request: HttpRequest) -> HttpResponse:
        waiting = list(approvals.waiting_for(self.person)[:MAX_LISTED])
        return render(request, "agentweb/people/approvals.html", {"approvals": show(waiting)})


class ApprovalView(PersonView):
    """One call, and the decision about it. To those who may not decide it does not exist."""

    def get(self, request: HttpRequest, approval_id: str, *, status: int = 200) -> HttpResponse:
        approval = approvals.decidable_by(self.person, approval_id)
        if approval is None:
            raise Http404
        context = {
            "approval": show([approval])[0],
            "is_own": approval.user_id == self.person.pk,
            "is_undecided": status != 200,
        }
        return render(request, "agentweb/people/approval.html", context, status=status)

    def post(self, request: HttpRequest, approval_id: str) -> HttpResponse:
        decide = {"approve": approvals.approve, "deny": approvals.deny}.get(request.POST.get("decision", ""))
        if decide is None:
            return self.get(request, approval_id, status=400)
        if decide is approvals.approve and not self._is_approvable(approval_id):
            return see_other(request.get_full_path())
        try:
            # Too late is no error here: the page that comes next says what happened instead.
            decide(approval_id, by=self.person)
        except PermissionDenied:
            raise Http404 from None
        return see_other(request.get_full_path())

    def _is_approvable(self, approval_id: str) -> bool:
        """Whether the page has this button; it is there for what is shown whole."""
        approval = approvals.decidable_by(self.person, approval_id)
        if approval is None:
            raise Http404
        return show([approval])[0].is_approvable
