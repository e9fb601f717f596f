"""The pages of issuing: a guided form that is good for one use, and the page that shows its fruit once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from django import forms
from django.contrib.admin.helpers import AdminErrorList, AdminForm
from django.db import transaction
from django.forms.widgets import Media
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from agentweb.access import nonces
from agentweb.access.admin.base import render
from agentweb.access.admin.terms import ScopesInUse, TermsForm
from agentweb.access.database import first_write
from agentweb.access.revocations import in_turn
from agentweb.access.rows import database
from agentweb.wire.clock import now
from agentweb.wire.errors import AgentError, AuthenticationError, InputError
from agentweb.wire.scopes import covers

_T = TypeVar("_T")

ISSUE: Final = "agentweb.issue_grant"
REVOKE: Final = "agentweb.revoke_grant"
"""The permissions to give authority, by grants and sessions, and to take any back."""

_INTENT_SECONDS: Final = 86_400


def issue_once(request: HttpRequest, form: TermsForm, issue: Callable[[], _T]) -> _T | None:
    """Run ``issue`` for a valid form; None when it turns out that the form has errors after all.

    The form's ``intent`` is used up in the same transaction: sending the form twice, by a reload or a double click,
    issues once, and after a failure it may be sent again.
    """

    def work() -> _T:
        with transaction.atomic(using=database()):
            with first_write():
                nonces.burn(
                    f"admin:{request.user.pk}"[:64], form.cleaned_data["intent"], now() + _INTENT_SECONDS
                )
            return issue()

    try:
        return in_turn(work)
    except InputError as error:
        form.add_problems(error.problems or [])
    except AuthenticationError:
        form.add_error(
            None,
            gettext(
                "This form was sent before, and what it asked for was done. Look at the list, or begin anew."
            ),
        )
    except AgentError as error:
        form.add_error(None, gettext("%s The page of the site's keys says more.") % error.message)
    return None


def guided_form(
    request: HttpRequest, model_admin: Any, form: forms.Form, layout: Any, *, title: Any, submit: Any
) -> HttpResponse:
    """The page of a form that is no model's; ``layout`` is fieldsets."""
    admin_form = AdminForm(form, layout, {}, (), model_admin)  # type: ignore[arg-type]
    return render(
        request,
        model_admin,
        "admin/agentweb/guided_form.html",
        title=title,
        submit=submit,
        adminform=admin_form,
        form=form,
        errors=AdminErrorList(form, []),  # type: ignore[arg-type]
        media=model_admin.media + admin_form.media,
    )


def shown_once(request: HttpRequest, model_admin: Any, *, template: str, **context: Any) -> HttpResponse:
    """A page with a text that is shown nowhere else; neither a cache nor the browser's history keeps it."""
    response = render(
        request, model_admin, template, media=model_admin.media + Media(js=["agentweb/admin.js"]), **context
    )
    response["Cache-Control"] = "no-store, private"
    response["Referrer-Policy"] = "no-referrer"
    return response


def unused_scopes(patterns: Sequence[str], in_use: ScopesInUse) -> list[str]:
    """Patterns that no action of the site asks for: mostly misspelt."""
    return [pattern for pattern in patterns if not any(covers(pattern, scope) for scope in in_use)]
