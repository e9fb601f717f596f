"""The page on which a person enrols a key of their own: they sign what the site gives them, and send that."""

from __future__ import annotations

import shlex
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from agentweb.access import principals
from agentweb.http.target import origin_of, site_of
from agentweb.people.views import PersonView, see_other
from agentweb.wire import strict_json
from agentweb.wire.errors import AgentError, InputError

_MAX_PROOF: Final = 2_000
_PROGRAM: Final = (
    "import json, sys; from agentweb.client import KeyStore; from agentweb.wire.enrolment import sign_enrolment; "
    "print(json.dumps(sign_enrolment(KeyStore(sys.argv[1]).key, site=sys.argv[2], challenge=sys.argv[3])))"
)


class KeyForm(forms.Form):
    """``proof`` is the document that the person's program signed; ``document`` holds it when the form is valid."""

    label = forms.CharField(max_length=principals.MAX_LABEL)
    proof = forms.CharField(max_length=_MAX_PROOF)

    document: dict[str, Any]

    def clean_proof(self) -> str:
        text = str(self.cleaned_data["proof"])
        try:
            found = strict_json.loads(text.encode(), max_bytes=4 * _MAX_PROOF)
        except AgentError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("key"), str):
            raise forms.ValidationError(_("Paste the whole line that the command printed."))
        self.document = found
        return text


class KeyView(PersonView):
    """A text to sign, and a form for the signed document."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._show(request, KeyForm(None))

    def post(self, request: HttpRequest) -> HttpResponse:
        form = KeyForm(request.POST)
        if form.is_valid():
            try:
                principals.enrol(
                    self.person,
                    form.document["key"],
                    form.cleaned_data["label"],
                    proof=form.document,
                    site=site_of(origin_of(request)),
                )
            except InputError as error:
                for entry in error.problems or []:
                    form.add_error("label" if entry["field"] == "label" else "proof", entry["message"])
            else:
                return see_other(reverse("agentweb:agents"))
        return self._show(request, form, status=422)

    def _show(self, request: HttpRequest, form: KeyForm, *, status: int = 200) -> HttpResponse:
        site, challenge = site_of(origin_of(request)), principals.challenge(self.person)
        words = ["python", "-c", _PROGRAM, "my-keys.json", site, challenge]
        context = {"form": form, "command": shlex.join(words), "minutes": principals.CHALLENGE_SECONDS // 60}
        return render(request, "agentweb/people/key.html", context, status=status)
