"""The pages on which a person connects a program: by its code, or by a token that they make themselves."""

from __future__ import annotations

from typing import Any, Final

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from agentweb.access import nonces, pairing, revocations, sessions
from agentweb.access.database import first_write
from agentweb.access.models import Pairing
from agentweb.access.pairing import Wanted, wanted_by
from agentweb.access.rows import database
from agentweb.http.addresses import address_of
from agentweb.http.target import origin_of, site_of
from agentweb.people.logins import mark_of
from agentweb.people.offers import offers_for
from agentweb.people.terms import TermsForm, TokenForm
from agentweb.people.views import PersonView, see_other
from agentweb.wire.clock import now
from agentweb.wire.encoding import new_nonce
from agentweb.wire.errors import AgentError, AuthenticationError, Code, InputError
from agentweb.wire.visible import visible

_INTENT_SECONDS: Final = 86_400


class ConnectView(PersonView):
    """``?code=``: a program that waits, and the decision about it. Without one, a field for the code."""

    def get(self, request: HttpRequest) -> HttpResponse:
        code = request.GET.get("code", "")
        return self._consent(request, code) if code.strip() else self._ask(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        code, decision = request.POST.get("code", ""), request.POST.get("decision", "")
        try:
            found = self._find(request, code)
        except AgentError as refusal:
            return self._refuse(request, refusal)
        if found is None:
            return self._too_late(request, code)
        if decision == "deny":
            if not pairing.deny(found, by=self.person):
                return self._too_late(request, code)
            return see_other(_after(pairing.State.DENIED, found.pk))
        form = TermsForm(
            request.POST, offers=offers_for(self.person, wanted_by(found)), wanted=wanted_by(found)
        )
        if decision != "approve":
            return self._show(request, found, code, form, status=400)
        if form.is_valid():
            try:
                given = pairing.approve(
                    found,
                    by=self.person,
                    site=site_of(origin_of(request)),
                    login=mark_of(request),
                    **form.terms,
                )
            except InputError as error:
                form.add_problems(error.problems or [])
            except AgentError as error:
                form.add_error(None, error.message)
            else:
                if given is None:
                    return self._too_late(request, code)
                return see_other(_after(pairing.State.APPROVED, given))
        return self._show(request, found, code, form, status=422)

    def _consent(self, request: HttpRequest, code: str) -> HttpResponse:
        try:
            found = self._find(request, code)
        except AgentError as refusal:
            return self._refuse(request, refusal)
        if found is None:
            return self._ask(request, wrong=True, status=404)
        wanted = wanted_by(found)
        form = TermsForm(None, offers=offers_for(self.person, wanted), wanted=wanted)
        return self._show(request, found, code, form)

    def _find(self, request: HttpRequest, code: str) -> Pairing | None:
        return pairing.find(code, by=self.person, address=address_of(request))

    def _show(
        self, request: HttpRequest, found: Pairing, code: str, form: TermsForm, *, status: int = 200
    ) -> HttpResponse:
        context = {
            "agent_name": visible(found.client_name),
            "agent_key": found.subject,
            "reason": visible(found.reason),
            "person": visible(self.person.get_username()),
            "code": pairing.spelt(code),
            "expires_at": found.expires_at,
            "form": form,
            "is_undecided": status == 400,
        }
        return render(request, "agentweb/people/consent.html", context, status=status)

    def _ask(self, request: HttpRequest, *, wrong: bool = False, status: int = 200) -> HttpResponse:
        # The same page for a wrong code, one that was used and one that is over.
        return render(request, "agentweb/people/connect.html", {"is_wrong": wrong}, status=status)

    def _too_late(self, request: HttpRequest, code: str) -> HttpResponse:
        before = pairing.decided_before(code, by=self.person)
        if before is not None:
            return see_other(_after(before.state, before.grant_id if before.subject else before.pk))
        return self._ask(request, wrong=True, status=404)

    def _refuse(self, request: HttpRequest, refusal: AgentError) -> HttpResponse:
        if refusal.code != Code.RATE_LIMITED:
            raise refusal
        context = {"wait": refusal.retry_after}
        response = render(request, "agentweb/people/connect.html", context, status=429)
        response["Retry-After"] = str(refusal.retry_after)
        return response


def _after(state: str, ident: str) -> str:
    said = f"connected={ident}" if state == pairing.State.APPROVED else "denied=1"
    return f"{reverse('agentweb:agents')}?{said}"


class TokenView(PersonView):
    """A token that the person makes and gives to a program by hand. It is on the page that follows, once."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._show(request, TokenForm(None, offers=self._offers()))

    def post(self, request: HttpRequest) -> HttpResponse:
        form = TokenForm(request.POST, offers=self._offers())
        if form.is_valid():
            made = self._make(request, form)
            if made is not None:
                context = {"agent_name": visible(made[0].client_name), "session": made[0], "token": made[1]}
                return render(request, "agentweb/people/token_made.html", context)
        return self._show(request, form, status=422)

    def _make(self, request: HttpRequest, form: TokenForm) -> tuple[Any, str] | None:
        """Once for each form that was shown, however often it is sent."""
        mark = mark_of(request)

        def work() -> tuple[Any, str]:
            with transaction.atomic(using=database()):
                with first_write():
                    nonces.burn(
                        f"person:{self.person.pk}"[:64], form.cleaned_data["intent"], now() + _INTENT_SECONDS
                    )
                return sessions.create(
                    user=self.person,
                    site=site_of(origin_of(request)),
                    client_name=form.cleaned_data["client_name"],
                    login=mark,
                    **form.terms,
                )

        try:
            return revocations.in_turn(work)
        except InputError as error:
            form.add_problems(error.problems or [])
        except AuthenticationError:
            form.add_error(None, _("This form was sent before, and the token was shown then. Begin anew."))
        except AgentError as error:
            form.add_error(None, error.message)
        return None

    def _offers(self) -> Any:
        return offers_for(self.person, Wanted())

    def _show(self, request: HttpRequest, form: TokenForm, *, status: int = 200) -> HttpResponse:
        context = {"form": form, "intent": new_nonce()}
        return render(request, "agentweb/people/token.html", context, status=status)
